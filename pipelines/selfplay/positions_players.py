"""Who plays games for value data: files of nets and of rollout policies, opened where they play.

A task of an executor goes to any process of any machine. So it names files with their checksums,
and the engine and the device of a net, which are chosen once, where the work begins. `open` refuses
a file that is another one there, and an engine or a device that is missing there. It opens each
player once in a process.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from data.base import interrupts
from data.base.digests import hash_file
from data.base.errors import Mistake
from data.features.evaluation import Evaluation, Evaluator, Face, Positions
from mcts.rollouts.policy import RolloutPolicy

T = TypeVar("T")

LOCK = threading.Lock()  # workers of a cluster may have several threads
OPENED: dict[Any, Any] = {}  # by file, checksum and how it was opened


class PlayerError(Mistake):
    """The file of a player can't be used; the message says why."""


class Player(Protocol):
    """A file that answers as an evaluator, once it is open."""

    @property
    def path(self) -> Path: ...
    @property
    def sha256(self) -> str: ...
    def open(self) -> Evaluator: ...


@dataclass(frozen=True)
class NetPlayer:
    """A net: a checkpoint, an exported net or its card."""

    path: Path
    sha256: str
    engine: str  # not auto: another process might choose another one, and play other games
    device: str  # not auto
    threads: int = 1

    @staticmethod
    def of(path: Path, engine: str, device: str, threads: int) -> "NetPlayer":
        """Return the net with the engine and the device that `auto` stands for here."""
        from models.answering.open import resolve

        checksum = hash_net(path)
        refuse_patterns(path)
        return NetPlayer(path, checksum, *resolve(path, engine, device), threads)

    def open(self) -> Evaluator:
        def opened() -> Evaluator:
            confirm(self.path, hash_net(self.path), self.sha256)
            from models.answering.open import open_net

            net = open_net(self.path, engine=self.engine, device=self.device, threads=self.threads)
            return Interruptible(net)

        return once(self, opened)


@dataclass(frozen=True)
class RolloutFile:
    """A rollout policy, for boards of one size."""

    path: Path
    sha256: str
    size: int
    temperature: float = 1.0

    @staticmethod
    def of(path: Path, size: int, temperature: float) -> "RolloutFile":
        return RolloutFile(path, hash_one(path), size, temperature)

    def open(self) -> RolloutPolicy:
        def opened() -> RolloutPolicy:
            confirm(self.path, hash_one(self.path), self.sha256)
            return RolloutPolicy.load(self.path, self.size, temperature=self.temperature)

        return once(self, opened)


class Interruptible:
    """An evaluator that looks for Ctrl-C before each answer."""

    def __init__(self, net: Evaluator):
        self.net = net

    @cached_property
    def face(self) -> Face:
        return self.net.face

    def evaluate(self, positions: Positions) -> Evaluation:
        interrupts.check()
        return self.net.evaluate(positions)


def once(key: Any, make: Callable[[], T]) -> T:
    """Return what was made for the key before in this process, else make it."""
    with LOCK:
        if key not in OPENED:
            OPENED[key] = make()
        return OPENED[key]


def refuse_patterns(path: Path) -> None:
    from models.files.card import find_card
    from models.files.open import is_of_patterns

    alone = path.suffix == ".safetensors" and not find_card(path).is_file()
    if alone or (path.suffix == ".ckpt" and is_of_patterns(path)):
        raise PlayerError(
            f"{path}: a policy of patterns, or a net without its card; rl=rollout plays by patterns"
        )


def tell_apart(first: Player | RolloutFile, second: Player | RolloutFile) -> tuple[str, str]:
    """Return the names of two players: of their files, with more where that is the same.

    Two players of one file name have the names of their folders too, and where these are the same
    as well, the beginnings of their checksums.
    """
    ways: list[Callable[[Player | RolloutFile], str]] = [
        lambda player: player.path.name,
        lambda player: f"{player.path.parent.name}/{player.path.name}",
        lambda player: f"{player.path.name} {player.sha256[:8]}",
    ]
    names = [(name(first), name(second)) for name in ways]
    if first == second:
        return names[0]
    return next((pair for pair in names if pair[0] != pair[1]), names[-1])


def hash_net(path: Path) -> str:
    """A checksum of a net: of its card, which has those of its files, else of the file itself."""
    from models.files.card import find_card

    card = find_card(path if path.suffix else path.with_name(path.name + ".json"))
    return hash_one(card if path.suffix != ".ckpt" and card.is_file() else path)


def hash_one(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hash_file(file).hex()
    except FileNotFoundError:
        raise PlayerError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise PlayerError(f"{path}: a folder; name a file in it") from None


def confirm(path: Path, found: str, wanted: str) -> None:
    if found != wanted:
        raise PlayerError(
            f"{path}: another file than when the work began (SHA-256 {found[:12]}, not "
            f"{wanted[:12]}); put the old one back, or say overwrite=true"
        )
