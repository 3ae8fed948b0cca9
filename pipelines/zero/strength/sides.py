"""The sides of a match: a net with its search, pure Monte Carlo tree search, another program.

A side is plain values, so that a task can carry it to another process. `side.start(...)` returns
an engine there, for one game, which is the same game for the same seed. Nets are opened once a
process.
"""

import hashlib
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mcts.play.manners import Manners
from mcts.play.player import Player
from mcts.search.params import SearchParams
from mcts.search.search import Search
from pipelines.matches.games import Asked, GameRules
from pipelines.matches.gtp_client import GtpEngine
from pipelines.zero.strength.own_engine import OwnEngine

if TYPE_CHECKING:
    from models.answering.inference import Net

AT_ONCE = 8  # leaves of a descent: a larger batch makes a net on a CPU hardly faster
# Nodes of a tree for each simulation: those of earlier moves are kept. A full tree does not grow.
NODES_A_SIMULATION = 4
MOST_NODES = 50_000  # 90 MB on 9x9
PATIENCE = 600.0  # seconds: a net that is slow beside other work is not given up
# The level of GNU Go without --level.
GNUGO_LEVEL = 10
# The referee counts every stone that stands. Without these options GNU Go passes while dead stones
# of its opponent stand, and they would count.
GNUGO_RULES = {
    ("--chinese-rules", "--japanese-rules"): "--chinese-rules",
    ("--positional-superko", "--situational-superko", "--simple-ko"): "--positional-superko",
    ("--capture-all-dead",): "--capture-all-dead",
    ("--play-out-aftermath",): "--play-out-aftermath",
    ("--never-resign", "--resign-allowed"): "--never-resign",
}

# Pure Monte Carlo tree search, conf/search/uct.yaml: uniform rollouts, uniform priors, no net. With
# 2,000 playouts on 9x9 a leaf that grows at its first visit (n_thr=1) won 4 of 12 games against it.
PURE = SearchParams(lam=1.0, policy_net=False, value_net=False, tree_policy=False)


class Engine(Asked, Protocol):
    def close(self) -> None: ...


class Side(Protocol):
    """Who plays; a frozen dataclass."""

    def start(self, name: str, rules: GameRules, seed: int) -> Engine:
        """Return an engine that is ready for a game. Raises `EngineError` or `Mistake`."""
        ...


@dataclass(frozen=True)
class NetSide:
    """A net with a search, as `play_gtp.py search=zero` plays, without noise."""

    card: Path
    mark: str  # of the card's contents
    simulations: int
    search: SearchParams
    engine: str = "auto"
    device: str = "auto"

    def start(self, name: str, rules: GameRules, seed: int) -> OwnEngine:
        params = repeatable(replace(self.search, noise=0.0), self.simulations, seed)

        def think(size: int) -> Search:
            return Search(params, net=open_once(self.card, self.mark, self.engine, self.device))

        return own_engine(name, think, self.simulations, rules, seed)


@dataclass(frozen=True)
class PlayoutsSide:
    """Pure Monte Carlo tree search."""

    playouts: int

    def start(self, name: str, rules: GameRules, seed: int) -> OwnEngine:
        params = repeatable(PURE, self.playouts, seed)
        return own_engine(name, lambda size: Search(params), self.playouts, rules, seed)


@dataclass(frozen=True)
class ProgramSide:
    """A program that speaks GTP, such as GNU Go."""

    command: str

    def start(self, name: str, rules: GameRules, seed: int) -> GtpEngine:
        command = shlex.split(self.command)
        if is_gnugo(command) and "--seed" not in command:
            command += ["--seed", str(1 + seed % 10**6)]  # 0 would be the time of day
        return GtpEngine(command, name)


def program_side(command: str) -> ProgramSide:
    """Return the side of a program. GNU Go gets the rules that the command says nothing of."""
    words = shlex.split(command)
    if not is_gnugo(words):
        return ProgramSide(command)
    missing = [option for said, option in GNUGO_RULES.items() if not {*said} & {*words}]
    return ProgramSide(shlex.join([*words, *missing]))


def net_side(
    card: Path, simulations: int, search: SearchParams, *, engine: str, device: str
) -> NetSide:
    """Return the side of a net as its card is now."""
    mark = hashlib.sha256(card.read_bytes()).hexdigest()[:16]
    return NetSide(card, mark, simulations, search, engine, device)


def repeatable(params: SearchParams, simulations: int, seed: int) -> SearchParams:
    """Return the parameters for one thread and one game."""
    return replace(
        params,
        deterministic=True,
        threads=1,
        leaves=AT_ONCE,
        batch=AT_ONCE,
        queue=AT_ONCE,
        nodes=min(MOST_NODES, NODES_A_SIMULATION * simulations + 1000),
        patience=PATIENCE,
        seed=seed,
    )


def own_engine(
    name: str, thinker: Callable[[int], Search], simulations: int, rules: GameRules, seed: int
) -> OwnEngine:
    """Return a player that plays games out: it never resigns, and takes dead stones off."""
    manners = Manners(seconds=None, simulations=simulations, resign=None, agreed=False)
    player = Player(thinker, manners, size=rules.size, komi=rules.komi, seed=seed)
    player.set_rules(rules.ko, agreed=False)
    return OwnEngine(name, player)


@lru_cache(maxsize=4)
def open_once(card: Path, mark: str, engine: str, device: str) -> "Net":
    """Return the net of a card, opened once a process; `mark` tells a card that was replaced."""
    from models.answering.open import open_net

    return open_net(card, engine=engine, device=device, threads=1)


def is_gnugo(command: list[str]) -> bool:
    """Whether it is GNU Go that a command starts, also behind another program, such as nice."""
    names = [Path(word).name for word in command]
    return "gnugo" in names or (bool(names) and names[0].startswith("gnugo"))


def level_of(command: str) -> int:
    """Return the level of a command of GNU Go."""
    found = re.search(r"--level[ =](\d+)", command)
    return int(found[1]) if found else GNUGO_LEVEL
