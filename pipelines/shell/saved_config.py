"""Configurations that were saved beside a run.

They are read without trust: a stranger may have written them.

A configuration names classes by `_target_`, and Hydra would create whatever is named. So only the
names that occur in `conf/` are allowed, after all `${...}` are resolved. A class of this project
is found by the last word of its name: older programs saved the module that it was in then, such as
`models.callbacks.Checkpoints`. Raises `SavedConfigError`, one line.
"""

import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from data.base.errors import Mistake, first_line
from pipelines.shell.configuration import CONF

MOST_BYTES = 1 << 20
DEEPEST = 30  # groups within groups
MOST_LOOK_UPS = 10_000  # for all `${...}` together; a run has about thirty
# up to its end, or to one inside it; `\${` is text
REFERENCE = re.compile(r"(?<!\\)(?:\\\\)*\$\{([^${}]*)")
KEY = re.compile(r"\.*\w+(\.\w+)*")
PACKAGES = (
    "data",
    "models",
    "mcts",
    "pipelines",
    "lambdago",
)  # where the name of a class of ours begins
OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class SavedConfigError(Mistake):
    """A saved configuration can't be used; the message says why."""


def read_saved(path: Path) -> DictConfig:
    """The configuration as it was saved, with its `${...}`; `check_targets` comes next, once these
    have all they refer to.
    """
    if path.stat().st_size > MOST_BYTES:
        raise SavedConfigError(
            f"{path}: damaged, {path.stat().st_size:,} bytes are too many for a configuration"
        )
    try:
        text = path.read_text(encoding="utf-8")
        check_shape(path, text)
        saved = OmegaConf.load(io.StringIO(text))
    except (
        yaml.YAMLError,
        UnicodeDecodeError,
        OmegaConfBaseException,
        OSError,
        RecursionError,
    ) as error:
        raise SavedConfigError(f"{path}: damaged ({first_line(error)})") from None
    if not isinstance(saved, DictConfig):
        raise SavedConfigError(f"{path}: damaged, it holds no configuration")
    rename_targets(saved)
    return saved


def rename_targets(config: Any) -> None:
    """Replace the names that older programs gave to classes of this project by those of today."""
    for key in list(config) if isinstance(config, DictConfig) else range(len(config)):
        if OmegaConf.is_interpolation(config, key) or OmegaConf.is_missing(config, key):
            continue
        value = config[key]
        if isinstance(value, DictConfig | ListConfig):
            rename_targets(value)
        elif key == "_target_" and isinstance(value, str):
            config[key] = current_name(value)


def current_name(name: str) -> str:
    """The name that `conf/` gives to a class of this project, found by its last word; any other
    name as it is.
    """
    first, _, rest = name.partition(".")
    last = rest.rpartition(".")[2]
    if first not in PACKAGES or not last:
        return name
    return next(
        (
            known
            for known in known_targets()
            if known.endswith(f".{last}") and known.partition(".")[0] in PACKAGES
        ),
        name,
    )


def check_shape(path: Path, text: str) -> None:
    """Before anything is made of it: nested no deeper than configurations are, and without
    aliases, which multiply.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, OPENING) - isinstance(event, CLOSING)
        if depth > DEEPEST or isinstance(event, yaml.AliasEvent):
            what = "an alias in it" if depth <= DEEPEST else f"nested deeper than {DEEPEST}"
            raise SavedConfigError(f"{path}: no configuration of a run, {what}")


def check_references(path: Path, config: DictConfig) -> None:
    """Before any `${...}` is resolved: they lead to keys, not in a circle, and are not so many
    that resolving takes forever.

    Two references to a value with two references are four look-ups, and so on: 24 such levels are
    16 million.
    """
    values = dict(leaves(OmegaConf.to_container(config, resolve=False)))
    known: dict[str, int] = {}

    def look_ups(key: str, above: frozenset[str]) -> int:
        if key in above:
            raise SavedConfigError(f"{path}: damaged, {key} refers to itself")
        if key not in known:
            inside = (
                [key] if key in values else [name for name in values if name.startswith(f"{key}.")]
            )
            named = [
                (name, other) for name in inside for other in references(path, name, values[name])
            ]
            known[key] = len(inside) + sum(look_ups(other, above | {key}) for _, other in named)
        return known[key]

    try:
        count = sum(look_ups(key, frozenset()) for key in values)
    except RecursionError:
        count = MOST_LOOK_UPS + 1
    if count > MOST_LOOK_UPS:
        raise SavedConfigError(f"{path}: no configuration of a run, its references multiply")


def leaves(values: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is no group or list, by its whole name."""
    entries = (
        values.items()
        if isinstance(values, dict)
        else enumerate(values)
        if isinstance(values, list)
        else ()
    )
    if not entries and key:
        yield key, values
    for name, value in entries:
        yield from leaves(value, f"{key}.{name}" if key else str(name))


def references(path: Path, key: str, value: Any) -> Iterator[str]:
    """The whole names of the keys that a value refers to."""
    for text in REFERENCE.findall(value) if isinstance(value, str) else ():
        resolver, colon, arguments = text.partition(":")
        if colon and resolver != "oc.select":
            continue  # its references are references of their own
        name = (arguments.partition(",")[0] if colon else text).strip()
        if not KEY.fullmatch(name):
            raise SavedConfigError(
                f"{path}: damaged, {key} refers to {name[:80]!r}, which is no key"
            )
        dots = len(name) - len(name.lstrip("."))
        yield ".".join([*key.split(".")[:-dots], name.lstrip(".")]) if dots else name


def check_targets(config: DictConfig, path: Path) -> None:
    """Raise if anything in it would make what no group of configurations names."""
    check_references(path, config)
    try:
        values = OmegaConf.to_container(config, resolve=True, throw_on_missing=False)
    except (OmegaConfBaseException, RecursionError) as error:
        raise SavedConfigError(f"{path}: damaged ({first_line(error)})") from None
    except Exception as error:  # a resolver was given what it can't compute with
        raise SavedConfigError(
            f"{path}: damaged, a value that can't be computed ({first_line(error)})"
        ) from None
    for name in targets(values):
        if not isinstance(name, str) or name not in known_targets():
            raise SavedConfigError(
                f"{path}: wants {str(name)[:80]!r}, which no group in conf/ names; it was not made"
            )


def targets(values: Any) -> list[Any]:
    if isinstance(values, list):
        return [name for entry in values for name in targets(entry)]
    if not isinstance(values, dict):
        return []
    own = [values["_target_"]] if "_target_" in values else []
    return own + [name for entry in values.values() for name in targets(entry)]


@cache
def known_targets() -> frozenset[str]:
    """The classes and functions that the groups in `conf/` name; those of Hydra itself are not for
    saved configurations.
    """
    groups = [path for path in CONF.glob("*/*.yaml") if path.parent.name != "hydra"]
    texts = [path.read_text(encoding="utf-8") for path in (*groups, *CONF.glob("*.yaml"))]
    return frozenset(
        name
        for text in texts
        for name in re.findall(r"^\s*_target_: *([\w.]+)", text, re.MULTILINE)
    )
