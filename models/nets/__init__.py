"""The networks as plain `nn.Module`s: `models.nets.PolicyNet` finds its module by `names.py`."""

from typing import Any

from models.nets.names import NETS, net_class

__all__ = list(NETS)


def __getattr__(name: str) -> Any:
    if name in NETS:
        return net_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
