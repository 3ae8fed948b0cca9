"""Rollouts by a net: the mean of games that a policy net plays out from a position, as its value.

    net_rollouts(net, starts, komi, 16)             of positions to begin with
    recorded_rollouts(net, games, labels, komi, 16) of positions of the games of a dataset

All positions are played out together, so that every call of the net is a full batch. The games of
a position depend on the seed and on the position's number alone: not on the positions beside it,
nor on how many games are in work at once (as long as the net's own answers do not depend on its
batch, as those of bf16 do in their last digits). The first games of many are those of few.

Values and owners are from the view of the player to move. Each game counts with the komi of its
position, by area, and nobody resigns.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from data.base.errors import Mistake
from data.dataset.games import Games
from data.features.evaluation import Evaluator
from mcts.play.rollout_trials import variance_of_mean
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import Assignment, Rules
from mcts.selfplay.judging.recorded import recorded_starts
from mcts.selfplay.policy_games import PolicyGames
from mcts.selfplay.starts import Starts

MOST = 1 << 20  # games of a position
TOGETHER = 4096  # recorded positions: they take 30 kilobytes each

Watch = Callable[[int, int], None]  # games played, and how many there are


@dataclass(frozen=True)
class Play:
    """How games are played out."""

    temperature: float = 1.0  # 0: always the best move
    ko: str = "positional"
    at_once: int = 256  # games in work, which is the largest batch of the net
    crews: int = 1  # 2 for a net on another device: see `lockstep.py`
    seed: int = 1


@dataclass(frozen=True)
class NetRollouts:
    """The means of games, one entry a position."""

    value: np.ndarray  # float64 [positions], the mean result, -1 lost .. +1 won
    variance: np.ndarray  # float64 [positions], which `value` has by chance; NaN of one game
    owner: np.ndarray  # float32 [positions, points], -1 the opponent's .. +1
    games: np.ndarray  # int64 [positions]
    asked: int  # positions that the net answered for


def net_rollouts(
    net: Evaluator,
    starts: Starts,
    komi: Sequence[float] | np.ndarray,
    count: int,
    play: Play | None = None,
    *,
    numbers: np.ndarray | None = None,
    watch: Watch | None = None,
) -> NetRollouts:
    """Play `count` games from each position, and return their means.

    `komi` is that of each position; a net that takes komi is told it. `numbers`, int64
    [positions], are what the random draws depend on; 0, 1, 2, ... if None. Raises `Mistake` for a
    net that can't play there.
    """
    play = play or Play()
    numbers = np.arange(len(starts)) if numbers is None else numbers
    check(starts, komi, numbers, count)
    games = PolicyGames(
        [net],
        Rules(starts.size, ko=play.ko),
        Choice(temperature=play.temperature),
        starts=starts,
        slots=play.at_once,
        crews=play.crews,
        seed=play.seed,
    )
    mover = starts.records["to_play"].astype(np.int64)
    results = np.zeros((len(starts), 2), np.int64)  # sums of results and of their squares
    owner = np.zeros((len(starts), starts.size**2), np.int64)
    total = count * len(starts)
    for done, game in enumerate(games.play(assignments(komi, numbers, count)), 1):
        at = game.assignment.start
        results[at] += game.winner * mover[at], game.winner**2
        owner[at] += game.owner * mover[at]
        if watch is not None:
            watch(done, total)
    value, squares = results.T / count
    return NetRollouts(
        value,
        variance_of_mean(value, squares, count),
        (owner / count).astype(np.float32),
        np.full(len(starts), count),
        games.load.positions,
    )


def check(
    starts: Starts, komi: Sequence[float] | np.ndarray, numbers: np.ndarray, count: int
) -> None:
    """Raise `Mistake` for arguments that do not go together."""
    if not 1 <= count <= MOST:
        raise Mistake(f"{count} games of a position: from 1 to {MOST:,} are possible")
    if not len(starts) == len(komi) == len(numbers):
        raise Mistake(f"{len(starts)} positions, {len(komi)} komi and {len(numbers)} numbers")


def assignments(
    komi: Sequence[float] | np.ndarray, numbers: np.ndarray, count: int
) -> Iterator[Assignment]:
    for start, number in enumerate(numbers.tolist()):
        for k in range(count):
            yield Assignment(MOST * number + k, start=start, komi=float(komi[start]))


def recorded_rollouts(
    net: Evaluator,
    games: Games,
    labels: dict[str, np.ndarray],
    komi: np.ndarray,
    count: int,
    play: Play | None = None,
    *,
    numbers: np.ndarray | None = None,
    watch: Watch | None = None,
) -> NetRollouts:
    """Return the means of `count` games from positions of recorded games.

    `labels` are the columns game, ply and to_play of the positions. `numbers` may be their rows:
    then the games of a position are the same whatever others are chosen. Raises `DatasetError` for
    rows that do not exist and for games that are not legal.
    """
    play = play or Play()
    positions = len(labels["game"])
    if watch is not None:
        watch(0, count * positions)
    numbers = np.arange(positions) if numbers is None else numbers
    parts = []
    for first in range(0, positions, TOGETHER):
        some = slice(first, first + TOGETHER)
        starts = recorded_starts(
            games, *(labels[name][some] for name in ("game", "ply", "to_play")), ko=play.ko
        )
        parts.append(
            net_rollouts(
                net,
                starts,
                komi[some],
                count,
                play,
                numbers=numbers[some],
                watch=shifted(watch, count * first, count * positions),
            )
        )
    return joined(parts)


def shifted(watch: Watch | None, before: int, total: int) -> Watch | None:
    """Return who watches one part of the work, after `before` games of `total`."""
    if watch is None:
        return None
    return lambda done, _: watch(before + done, total)


def joined(parts: Sequence[NetRollouts]) -> NetRollouts:
    def whole(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts])

    asked = sum(part.asked for part in parts)
    return NetRollouts(whole("value"), whole("variance"), whole("owner"), whole("games"), asked)
