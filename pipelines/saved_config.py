"""Configurations that were saved beside a run, read without trusting them: whoever sends a run's folder may have written them.

A configuration names classes by `_target_`, and Hydra would make whatever is named. So only names that the groups in `conf/` have
are allowed, after all `${...}` are resolved. Raises `SavedConfigError`, one line.
"""

import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from data.errors import first_line
from pipelines.wiring import CONF

MOST_BYTES = 1 << 20
DEEPEST = 30  # groups within groups
OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class SavedConfigError(ValueError):
    """A saved configuration can't be used; the message says why."""


def read_saved(path: Path) -> DictConfig:
    """The configuration as it was saved, with its `${...}`; `check_targets` comes next, once these have all they refer to."""
    if path.stat().st_size > MOST_BYTES:
        raise SavedConfigError(f"{path}: damaged, {path.stat().st_size:,} bytes are too many for a configuration")
    try:
        text = path.read_text(encoding="utf-8")
        check_shape(path, text)
        saved = OmegaConf.load(io.StringIO(text))
    except (yaml.YAMLError, UnicodeDecodeError, OmegaConfBaseException, OSError, RecursionError) as error:
        raise SavedConfigError(f"{path}: damaged ({first_line(error)})") from None
    if not isinstance(saved, DictConfig):
        raise SavedConfigError(f"{path}: damaged, it holds no configuration")
    return saved


def check_shape(path: Path, text: str) -> None:
    """Before anything is made of it: nested no deeper than configurations are, and without aliases, which multiply."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, OPENING) - isinstance(event, CLOSING)
        if depth > DEEPEST or isinstance(event, yaml.AliasEvent):
            what = "an alias in it" if depth <= DEEPEST else f"nested deeper than {DEEPEST}"
            raise SavedConfigError(f"{path}: no configuration of a run, {what}")


def check_targets(config: DictConfig, path: Path) -> None:
    """Raise if anything in it would make what no group of configurations names."""
    try:
        values = OmegaConf.to_container(config, resolve=True, throw_on_missing=False)
    except (OmegaConfBaseException, RecursionError) as error:
        raise SavedConfigError(f"{path}: damaged ({first_line(error)})") from None
    except Exception as error:  # a resolver was given what it can't compute with
        raise SavedConfigError(f"{path}: damaged, a value that can't be computed ({first_line(error)})") from None
    for name in targets(values):
        if not isinstance(name, str) or name not in known_targets():
            raise SavedConfigError(f"{path}: wants {str(name)[:80]!r}, which no group in conf/ names; it was not made")


def targets(values: Any) -> list[Any]:
    if isinstance(values, list):
        return [name for entry in values for name in targets(entry)]
    if not isinstance(values, dict):
        return []
    own = [values["_target_"]] if "_target_" in values else []
    return own + [name for entry in values.values() for name in targets(entry)]


@cache
def known_targets() -> frozenset[str]:
    """The classes and functions that the groups in `conf/` name; those of Hydra itself are not for saved configurations."""
    groups = [path for path in CONF.glob("*/*.yaml") if path.parent.name != "hydra"]
    texts = [path.read_text(encoding="utf-8") for path in (*groups, *CONF.glob("*.yaml"))]
    return frozenset(name for text in texts for name in re.findall(r"^\s*_target_: *([\w.]+)", text, re.MULTILINE))
