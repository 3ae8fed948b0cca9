"""Short names of the networks: `net_class("PolicyNet")`, whatever module defines the class.

Cards, checkpoints and configurations name the class of a net by `_target_`. Files of older
programs hold the path that the class had then, such as `models.policy_net.PolicyNet`. Only the
last word counts, so a class can move and old files still open. A new net is entered in `NETS`.
"""

import importlib
from typing import Any

from data.base.errors import Mistake

NETS = {
    "PolicyNet": "policy_net",
    "ResidualPolicyNet": "policy_net",
    "ValueNet": "value_net",
    "ResidualValueNet": "value_net",
    "DualNet": "dual_net",
    "ZeroNet": "zero_net",
    "SmallZeroNet": "zero_net",
    "PatternNet": "pattern_net",
}  # short name: module in this folder
PACKAGES = ("models", "lambdago")  # where a `_target_` with dots may begin


def net_name(target: Any) -> str:
    """Return the short name in a `_target_`. Raises `Mistake` if no net has it."""
    first, dot, _ = str(target).partition(".")
    name = str(target).rpartition(".")[2]
    if name not in NETS or (dot and first not in PACKAGES):
        raise Mistake(f"{target} is no network of this project")
    return name


def net_class(target: Any) -> type:
    """Return the class of a `_target_`. Raises `Mistake` if no net has that name."""
    name = net_name(target)
    return getattr(importlib.import_module(f"{__package__}.{NETS[name]}"), name)
