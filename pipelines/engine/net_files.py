"""Which files a thinker's nets are read from.

An option of a net is a file, `none` for no net, or null. The policy and the value net come from

1. `policy=`, `value=`: a file of its own, of which only that answer is used;
2. `net=`: one file for both;
3. where neither is named, the net that ships: `net.json` for both, else `policy.json` and
   `value.json`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from data.base.errors import Mistake
from mcts.search.params import SearchParams
from pipelines.engine.options import ThinkerOptions
from pipelines.shell.environment import ROOT
from pipelines.shell.project import find_weights

if TYPE_CHECKING:
    from models.files.card import Card

PRETRAINED = ROOT / "models" / "pretrained"
SHIPPED = {
    "policy": "policy.json",
    "value": "value.json",
    "rollout": "rollout.safetensors",
    "tree": "tree.safetensors",
}
BOTH = "net"  # the option of a net for moves and values
SHIPPED_BOTH = "net.json"
EVALUATED = ("policy", "value")  # nets that `net=` stands for
NET_OPTIONS = (BOTH, *SHIPPED)
# uniform planes of a net, and the option that sets them
TOLD = {"rank": "own_rank", "year": "year", "source": "source"}


class NoSuchNet(Mistake):
    """The file of a net is missing, is no net of the wanted kind, or would not be used."""


@dataclass(frozen=True)
class NetFiles:
    """The file of each net; None where there is no net."""

    policy: Path | None
    value: Path | None
    rollout: Path | None
    tree: Path | None


def find_nets(options: ThinkerOptions) -> NetFiles:
    """Return the files of the nets; no net is opened.

    Raises `NoSuchNet` for a missing file, for a net of another kind where that can be told
    without opening it, for one that would not be used, and for a search without any values.
    """
    both = getattr(options, BOTH)
    check_used(options)
    if both is not None and (path := path_of(both)):
        check_both(path)
    files = NetFiles(**{kind: net_path(kind, getattr(options, kind), both) for kind in SHIPPED})
    check_valued(options.search, files)
    used = used_nets(options.search, files)
    for kind in SHIPPED:
        path = getattr(files, kind)
        if path is not None and used[kind] and getattr(options, kind) is not None:
            check_kind(path, kind)
    check_told(options, [getattr(files, kind) for kind in EVALUATED if used[kind]])
    return files


def net_path(kind: str, given: str | None, both: str | None = None) -> Path | None:
    """Return the file of a net; `given` is its own option, `both` the option `net`."""
    if given is not None:
        return path_of(given)
    if kind in EVALUATED:
        if both is not None:
            return path_of(both)
        if (shipped := PRETRAINED / SHIPPED_BOTH).exists():
            return shipped
    path = PRETRAINED / SHIPPED[kind]
    return path if path.exists() else None


def path_of(given: str) -> Path | None:
    """Return the file that an option names; None for `none`."""
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


def check_used(options: ThinkerOptions) -> None:
    """Raise `NoSuchNet` if `net` is named beside nets that take both its places."""
    both, others = getattr(options, BOTH), {kind: getattr(options, kind) for kind in EVALUATED}
    if both is not None and None not in others.values():
        beside = " and ".join(f"{kind}={other}" for kind, other in others.items())
        raise NoSuchNet(
            f"{BOTH}={both} would not be used beside {beside}; leave one of the three out"
        )


def check_valued(search: SearchParams, files: NetFiles) -> None:
    """Raise `NoSuchNet` for a search by values alone without a value net.

    Where a search uses neither rollouts nor values on purpose, the policy plays by itself.
    """
    if search.value_net and not search.rollouts and files.value is None:
        raise NoSuchNet(
            "this search has no rollouts and no value net, so nothing tells which moves are good: "
            f"name a net that answers with values ({BOTH}= or value=), or search=policy_only"
        )


def check_kind(path: Path, kind: str) -> None:
    """Raise `NoSuchNet` if the file is known to hold no net of this kind."""
    if kind in EVALUATED:
        if (card := card_of(path)) is not None:
            check_answers(path, card, kind)
        return
    from data.patterns.files import read_patterns

    found = read_patterns(path).kind
    # rollout weights can serve as a tree policy, if not as well as its own
    if kind != "tree" or found != "rollout":
        check_same(path, found, kind)


def card_of(path: Path) -> "Card | None":
    """Return the card of a net; None for a checkpoint, which has to be opened for it.

    Raises `NoSuchNet` for files that can't be nets.
    """
    from models.files.card import find_card, read_card

    if path.suffix in (".json", ".safetensors", ".onnx"):
        return read_card(find_card(path))
    if path.suffix != ".ckpt":
        raise NoSuchNet(
            f"{path}: no net; a .ckpt is wanted, or a .json card, "
            "or a .safetensors or .onnx beside one"
        )
    return None


def check_answers(path: Path, card: "Card", kind: str) -> None:
    """Raise `NoSuchNet` if a net does not give that answer."""
    if kind not in card.answers:
        raise NoSuchNet(f"{path}: a {card.kind} net, where a {kind} net is wanted")


def check_both(path: Path, card: "Card | None" = None) -> None:
    """Raise `NoSuchNet` if a net is known not to answer with moves and values.

    Without `card` it is read, where that needs no opening of the net.
    """
    card = card or card_of(path)
    if card is not None and (missing := [kind for kind in EVALUATED if kind not in card.answers]):
        raise NoSuchNet(
            f"{BOTH}={path}: a {card.kind} net, which answers with no {missing[0]}; "
            f"name it as {card.kind}=, {BOTH}= is for a net that answers with both"
        )


def check_same(path: Path, kind: str, wanted: str) -> None:
    if kind != wanted:
        raise NoSuchNet(f"{path}: a {kind} net, where a {wanted} net is wanted")


def check_told(options: ThinkerOptions, paths: list[Path | None]) -> None:
    """Raise `NoSuchNet` if nets are told something that none of them takes."""
    told = [name for name in TOLD if getattr(options, name) is not None]
    if not told:
        return
    files = list(dict.fromkeys(path for path in paths if path is not None))
    cards = [card_of(path) for path in files]
    if None not in cards:
        check_takes(options, files, [card.planes for card in cards if card])


def check_takes(options: ThinkerOptions, files: list[Path], inputs: list[tuple[str, ...]]) -> None:
    """Raise `NoSuchNet` if an option says what no net has among its inputs."""
    for name, plane in TOLD.items():
        value = getattr(options, name)
        if value is not None and not any(plane in planes for planes in inputs):
            if not files:
                raise NoSuchNet(f"{name}={value}: there is no net that could be told")
            who, takes = " and ".join(map(str, files)), "takes" if len(files) == 1 else "take"
            raise NoSuchNet(
                f"{name}={value}: {who} {takes} no {name} as input; "
                f"nets that were trained with the input {plane} do"
            )
