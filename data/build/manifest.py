"""What a build is made from, as plain values: options, sources with their hashes, and the code.

A manifest decides whether finished parts may be used again. The code counts by a hash of its files:
parts made by two versions must never be mixed, and a version number that somebody forgot to raise
would mix them without a word. An edited comment costs no more than beginning a half-done build
again.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from data.build.options import BuildError, BuildOptions
from data.dataset.file import read_attributes
from data.dataset.layout import SCHEMA
from data.features.feature_set import ALPHAGO48
from data.sources import find
from data.sources.find import Source

Manifest = dict[str, Any]

PACKAGE = Path(__file__).resolve().parents[1]  # `data`, whatever a wheel calls it
NO_PART_OF_A_BUILD = ("loading", "patterns")  # folders
# These options decide whether a build goes on, not what it makes.
NOT_IN_MANIFEST = ("damaged", "max_reject_rate")
NOT_IN_RESULT = (*NOT_IN_MANIFEST, "parts")
# These say how many games the file is to have. Parts of games do not depend on it.
NOT_IN_PARTS = {"selfplay": ("games",)}


def make_manifest(options: BuildOptions, sources: list[Source]) -> Manifest:
    """All that the parts of a build from archives depend on."""
    hashes = [(source.label, find.hash_source(source)) for source in sources]
    return compose(without(describe(options), NOT_IN_MANIFEST), hashes, hash_code())


def compose(config: dict[str, Any], sources: list[tuple[str, str]], code: str) -> Manifest:
    """A manifest; `sources` are labels with the hashes of what they name."""
    listed = [{"label": label, "sha256": digest} for label, digest in sources]
    return {"schema": SCHEMA, "config": config, "sources": listed, "code": code}


def describe(options: BuildOptions) -> dict[str, Any]:
    """The configuration that the dataset stores, as plain values."""
    config = {
        "features": options.features.name,
        "games": asdict(options.games),
        "limits": asdict(options.limits),
        "damaged": options.damaged,
        "layout": options.layout,
        "augment": options.augment,
        "compression": options.level,
        "parts": asdict(options.parts),
        "max_reject_rate": options.max_reject_rate,
    }
    return dict(json.loads(json.dumps(config)))


def without(config: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in names}


def for_parts(manifest: Manifest) -> Manifest:
    """The manifest without what no part of games depends on."""
    config = dict(manifest.get("config", {}))  # that of a damaged file may be missing
    for group in config.keys() & NOT_IN_PARTS.keys():
        config[group] = without(config[group], NOT_IN_PARTS[group])
    return {**manifest, "config": config}


def for_result(manifest: Manifest) -> Manifest:
    """The manifest without what does not show in the finished file."""
    config = without(manifest["config"], NOT_IN_RESULT)
    return {"config": config, "sources": manifest["sources"]}


@cache
def hash_code() -> str:
    """A hash of every module that a build from archives may use."""
    return hash_files(code_files(), PACKAGE)


def hash_files(paths: Iterable[Path], folder: Path) -> str:
    """A hash of files in a folder: their names there, and their contents."""
    digest = hashlib.sha256()
    for path in paths:
        name = path.relative_to(folder).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def code_files() -> list[Path]:
    """All files of the package `data`, but for the folders that no build uses."""
    return sorted(
        path
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in NO_PART_OF_A_BUILD
    )


def stamp_of(manifest: Manifest) -> str:
    """Ten characters that tell one manifest from another, for names of files."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:10]


def compare_with_finished(output: Path, manifest: Manifest) -> dict[str, Any]:
    """Return the configuration of the finished file.

    Raises `BuildError` if a build by this manifest would make another one.
    """
    held = read_attributes(output)
    config = json.loads(held["config"])
    # files of before there was a choice
    config.setdefault("features", ALPHAGO48.name)
    if isinstance(config.get("games"), dict):
        config["games"].setdefault("passes", False)
    found = for_result({"config": config, "sources": json.loads(held["sources"])})
    refuse_difference(output, found, for_result(manifest))
    return dict(config)


def refuse_difference(where: Path, found: Any, wanted: Any) -> None:
    """Raise `BuildError` with what differs."""
    lines = list(differences(found, wanted))
    if lines:
        listed = "; ".join(lines[:8]) + ("; ..." if len(lines) > 8 else "")
        raise BuildError(
            f"{where} was made from something else ({listed}): "
            "name another output, or say overwrite=true"
        )


def differences(found: Any, wanted: Any, name: str = "") -> Iterator[str]:
    """What differs, each as `config.games.illegal: there "keep", here "drop"`."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted({*found, *wanted}):
            below = f"{name}.{key}" if name else key
            yield from differences(found.get(key), wanted.get(key), below)
    elif name == "sources":
        yield from source_differences(found, wanted)
    elif found != wanted:
        yield f"{name}: there {json.dumps(found)}, here {json.dumps(wanted)}"


def source_differences(found: Any, wanted: Any) -> Iterator[str]:
    there, here = (
        {source["label"]: source["sha256"] for source in sources or ()}
        for sources in (found, wanted)
    )
    for label in sorted({*there, *here}):
        if label not in here:
            yield f"source {label}: there, not here"
        elif label not in there:
            yield f"source {label}: here, not there"
        elif there[label] != here[label]:
            yield f"source {label}: its contents have changed"
