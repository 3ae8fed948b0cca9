"""The folder of configurations, the functions that they may call, and a configuration as values.

`${times:...}` and the like in `conf/` are the resolvers that this module registers.
"""

from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

CONF = Path(__file__).resolve().parents[2] / "conf"


def short(direction: Any) -> str:
    """`minimize` as `min`, `maximize` as `max`."""
    return str(direction)[:3]


def times(a: Any, b: Any) -> Any:
    """The product; null if the first factor is null."""
    return None if a is None else a * b


def first(*values: Any) -> Any:
    """The first value that is neither null, empty nor 0."""
    return next((value for value in values if value), None)


for resolver in (short, times, first):
    OmegaConf.register_new_resolver(resolver.__name__, resolver, replace=True)


def plain(cfg: Any) -> Any:
    """Return a configuration as dicts, lists and values, with every reference resolved."""
    return OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
