"""`<output>.parts/`: what a build has finished so far, and what it was made from.

    lock             held by the build that is at work
    manifest.json    all that the result depends on: options, sources with their hashes, the code
    games-<stamp>-00012.h5, positions-<stamp>-00034.h5, whole-<stamp>.h5, report-<stamp>.json

The stamp is a hash of the manifest, so that nothing made from something else is ever taken for a
part, not even what a worker that outlived its build brings late.
"""

import ast
import contextlib
import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from data.base import atomic, digests, locks
from data.base.errors import Mistake
from data.build.report import read_report

Manifest = dict[str, Any]
PACKAGE = __name__.rpartition(".build.")[0]  # `data`, in an installation `lambdago.data`
# nothing else is removed
OURS = re.compile(r"(games|positions|whole|report)-[0-9a-f]{10}[-.].*|\.tmp-.*|manifest\.json|lock")


class BuildError(Mistake):
    """The build can't go on; one clear line."""


def work_folder(output: Path) -> Path:
    return output.with_name(output.name + ".parts")


def report_path(output: Path) -> Path:
    return output.with_name(output.name + ".report.json")


class WorkFolder:
    """For one build at a time, in a `with` block; `prepare` comes first."""

    def __init__(self, output: Path):
        self.output = output
        self.path = work_folder(output)
        self.stamp = ""
        self.resumed = False

    def __enter__(self) -> "WorkFolder":
        while True:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                self.lock = (self.path / "lock").open("w")
            except OSError as error:
                if (
                    isinstance(error, FileNotFoundError)
                    and self.path.parent.is_dir()
                    and error.filename != str(self.path)
                ):
                    continue  # a build that just ended took the folder away
                why = error.strerror or type(error).__name__
                raise BuildError(
                    f"output={self.output}: nothing can be written in {self.output.parent} ({why})"
                ) from None
            if not locks.take(self.lock):
                self.lock.close()
                raise BuildError(
                    f"{self.path}: another build is writing there; wait for it, or name another output"
                )
            if locks.is_at(self.lock, self.path / "lock"):
                return self
            self.lock.close()  # a build that just ended took it away

    def __exit__(self, *_: object) -> None:
        # nothing worth keeping: leave no trace
        if self.path.exists() and not any(self.path.glob("*.h5")):
            self.remove()
        self.lock.close()

    def prepare(self, manifest: Manifest, overwrite: bool) -> None:
        """Go on from what is there if it was made from the same; else refuse, or with `overwrite`
        clear it away.
        """
        found = self.manifest()
        if found not in (None, manifest) and not overwrite:
            refuse_difference(self.path, found, manifest)
        self.stamp = stamp_of(manifest)
        for entry in self.entries():
            if entry.name != "lock" and (
                self.stamp not in entry.name or entry.name.startswith(atomic.PREFIX)
            ):
                entry.unlink(missing_ok=True)
        self.resumed = any(self.path.glob("*.h5"))
        atomic.write_text(self.path / "manifest.json", json.dumps(manifest, indent=1) + "\n")

    def manifest(self) -> Manifest | None:
        try:
            return dict(json.loads((self.path / "manifest.json").read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError):
            # none, or a damaged one: what lies there is of no known origin
            return None

    def games(self, part: int) -> Path:
        return self.path / f"games-{self.stamp}-{part:05d}.h5"

    def positions(self, part: int) -> Path:
        return self.path / f"positions-{self.stamp}-{part:05d}.h5"

    @property
    def whole(self) -> Path:
        return self.path / f"whole-{self.stamp}.h5"

    @property
    def report(self) -> Path:
        return self.path / f"report-{self.stamp}.json"

    def publish(self) -> None:
        """Give the finished file and its report their names, and clear everything else away."""
        for made, final in ((self.whole, self.output), (self.report, report_path(self.output))):
            if made.exists():
                made.replace(final)
        atomic.sync_folder(self.output.parent)
        self.remove()

    def remove(self) -> None:
        for entry in self.entries():
            entry.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # somebody keeps something else there
            self.path.rmdir()

    def entries(self) -> list[Path]:
        return [entry for entry in self.path.iterdir() if OURS.fullmatch(entry.name)]

    def finish(self, manifest: Manifest) -> None:
        """The output is there, and perhaps its build was stopped in `publish`.

        What other builds left is left alone.
        """
        if self.manifest() == manifest:
            self.stamp = stamp_of(manifest)
            if self.whole.exists() and digests.find_change(self.whole):
                self.whole.unlink()
            if read_report(self.report) is None:
                self.report.unlink(missing_ok=True)
            self.publish()


# --- manifests


def stamp_of(manifest: Manifest) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:10]


@cache
def hash_code(module: str = f"{PACKAGE}.build.builder") -> str:
    """Of every module that a build can reach, what cuts the work included: parts made by other
    code are not to be mixed.
    """
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += imports_of(path_of(name))
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(name.encode() + b"\0" + path_of(name).read_bytes())
    return digest.hexdigest()[:16]


def path_of(module: str) -> Path:
    """The file of a module of the package `data`."""
    names = module.removeprefix(f"{PACKAGE}.").split(".")
    return Path(__file__).parents[1].joinpath(*names).with_suffix(".py")


def imports_of(path: Path) -> Iterator[str]:
    """Names of the modules of the package `data` that a file imports."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if path_of(name).is_file() else str(node.module) for name in names)


def refuse_difference(where: Path, found: Any, wanted: Any) -> None:
    lines = list(differences(found, wanted))
    if lines:
        raise BuildError(
            f"{where} was made from something else ({'; '.join(lines[:8])}{'; ...' if len(lines) > 8 else ''}): "
            "name another output, or say overwrite=true"
        )


def differences(found: Any, wanted: Any, name: str = "") -> Iterator[str]:
    """What differs, each as `config.games.illegal: there "keep", here "drop"`."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted({*found, *wanted}):
            yield from differences(
                found.get(key), wanted.get(key), f"{name}.{key}" if name else key
            )
    elif name == "sources":
        there, here = (
            {source["label"]: source["sha256"] for source in side or ()} for side in (found, wanted)
        )
        for label in sorted({*there, *here}):
            if label not in here:
                yield f"source {label}: there, not here"
            elif label not in there:
                yield f"source {label}: here, not there"
            elif there[label] != here[label]:
                yield f"source {label}: its contents have changed"
    elif found != wanted:
        yield f"{name}: there {json.dumps(found)}, here {json.dumps(wanted)}"
