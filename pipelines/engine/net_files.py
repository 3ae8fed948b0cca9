"""Which files a thinker's nets are read from.

An option of a net is a file, `none` for no net, or null for the net that ships.
"""

from dataclasses import dataclass
from pathlib import Path

from data.base.errors import Mistake
from mcts.search.params import SearchParams
from pipelines.engine.options import ThinkerOptions
from pipelines.shell.environment import ROOT
from pipelines.shell.project import find_weights

PRETRAINED = ROOT / "models" / "pretrained"
SHIPPED = {
    "policy": "policy.json",
    "value": "value.json",
    "rollout": "rollout.safetensors",
    "tree": "tree.safetensors",
}


class NoSuchNet(Mistake):
    """The file of a net is missing, or is no net of the wanted kind."""


@dataclass(frozen=True)
class NetFiles:
    """The file of each net; None where there is no net."""

    policy: Path | None
    value: Path | None
    rollout: Path | None
    tree: Path | None


def find_nets(options: ThinkerOptions) -> NetFiles:
    """Return the files of the nets; no net is opened.

    Raises `NoSuchNet` for a missing file, and for a net of another kind where that can be told
    without opening it.
    """
    files = NetFiles(**{kind: net_path(kind, getattr(options, kind)) for kind in SHIPPED})
    used = used_nets(options.search, files)
    for kind in SHIPPED:
        path = getattr(files, kind)
        if path is not None and used[kind] and getattr(options, kind) is not None:
            check_kind(path, kind)
    return files


def net_path(kind: str, given: str | None) -> Path | None:
    if given is None:
        path = PRETRAINED / SHIPPED[kind]
        return path if path.exists() else None
    if given.lower() == "none":
        return None
    path = find_weights(given).absolute()
    if not path.exists():
        raise NoSuchNet(f"{path}: there is no such file")
    return path


def used_nets(search: SearchParams, files: NetFiles) -> dict[str, bool]:
    """Return for each kind of net whether such a search, or the player around it, uses it."""
    by_nets = bool((files.policy and search.policy_net) or (files.value and search.value_net))
    return {
        "policy": search.policy_net,
        "value": search.value_net,
        # players without rollouts in the search find dead stones with them
        "rollout": search.rollouts or by_nets,
        "tree": search.tree_policy,
    }


def check_kind(path: Path, kind: str) -> None:
    """Raise `NoSuchNet` if the file is known to hold no net of this kind."""
    if kind in ("policy", "value"):
        from models.files.card import find_card, read_card

        if path.suffix in (".json", ".safetensors", ".onnx"):
            check_same(path, read_card(find_card(path)).kind, kind)
        elif path.suffix != ".ckpt":
            raise NoSuchNet(
                f"{path}: no net; a .ckpt is wanted, or a .json card, "
                "or a .safetensors or .onnx beside one"
            )
        return
    from data.patterns.files import read_patterns

    found = read_patterns(path).kind
    # rollout weights can serve as a tree policy, if not as well as its own
    if kind != "tree" or found != "rollout":
        check_same(path, found, kind)


def check_same(path: Path, kind: str, wanted: str) -> None:
    if kind != wanted:
        raise NoSuchNet(f"{path}: a {kind} net, where a {wanted} net is wanted")
