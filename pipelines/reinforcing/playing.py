"""`SelfPlay`: the games of a run, as `PolicyGradient` asks for them (its protocol is `Play`).

    experience(update)     games against the pool, and what the learner can learn from them
    evaluate(part)         games against the net that the run began with, not learned from

Games depend on the weights, the pool, the seed and the number of the update alone, so a run that
goes on plays the very games that it would have played.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from data.features.evaluation import VALUE, Evaluator, Positions
from data.features.uniform import Known
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import RANDOM, Assignment, PlayedGame, Rules
from mcts.selfplay.policy_games import PolicyGames
from models.answering.inference import Inference, unpack
from models.answering.live import LiveEngine
from models.learning.reinforce import Experience, Moves, others_mean
from models.nets.answers import names_pass
from pipelines.matches.scores import Interval, wilson
from pipelines.reinforcing.evaluation import Openers, points_of
from pipelines.reinforcing.options import ReinforceError, ReinforceOptions
from pipelines.reinforcing.pool import FIRST, LEARNER, Pool, fixtures, players_of
from pipelines.reinforcing.positions import (
    Openings,
    ReplayedGames,
    allowed_moves,
    as_answers,
    chosen_by,
)

SHARE = 3  # draws which positions of an update are learned from; see `pool.py`


@dataclass(frozen=True)
class Chosen:
    """The learner's moves in the games of an update, [moves] each."""

    games: Sequence[PlayedGame]
    game: np.ndarray  # int64
    turn: np.ndarray  # int64
    result: np.ndarray  # float64, for the learner

    def __len__(self) -> int:
        return len(self.game)

    def of(self, which: Any) -> "Chosen":
        return Chosen(self.games, self.game[which], self.turn[which], self.result[which])

    def values(self, name: str) -> np.ndarray:
        """Return one array of the games at these moves: moves, colours or values."""
        pairs = zip(self.game.tolist(), self.turn.tolist(), strict=True)
        return np.array([getattr(self.games[g], name)[t] for g, t in pairs])


class SelfPlay:
    def __init__(
        self,
        options: ReinforceOptions,
        rules: Rules,
        net: Any,
        learner: Inference,
        pool: Pool,
        openings: Openings,
        *,
        value_net: Evaluator | None = None,
        stopped: Callable[[], None] = lambda: None,
    ):
        """`stopped` raises if the games in progress are to be given up."""
        self.options, self.rules, self.net, self.learner = options, rules, net, learner
        self.pool, self.openings, self.value_net = pool, openings, value_net
        self.stopped = stopped
        if options.baseline == "value" and VALUE not in (value_net or learner).face.answers:
            raise ReinforceError(
                "baseline=value: this net does not tell who wins; baseline_net names one that does"
            )

    @property
    def first(self) -> Evaluator:
        """The net that the run began with."""
        return self.pool.evaluator(FIRST)

    @property
    def crews(self) -> int:
        """Groups of games that take turns: two, so that neither waits where a GPU answers."""
        return 1 if self.options.device == "cpu" else 2

    def refresh(self) -> None:
        """Let the learner play with the weights of now."""
        assert isinstance(self.learner.engine, LiveEngine)
        self.learner.engine.take(self.net)

    # --- learning

    def experience(self, update: int) -> Experience:
        self.refresh()
        began = time.monotonic()
        opponents = self.pool.draw(update)
        by_start = self.options.opening.by == "start"
        if by_start and FIRST not in opponents:
            opponents = [*opponents, FIRST]  # a player too, if only of openings
        places = players_of(opponents)
        players = [self.learner, *(self.pool.evaluator(member) for member in places)]
        games = PolicyGames(
            players,
            self.rules,
            Choice(self.options.temperature, keep_allowed=True),
            starts=self.openings.starts,
            slots=self.options.slots,
            crews=self.crews,
            seed=self.options.seed,
        )
        assignments = fixtures(
            update,
            self.options.games,
            opponents[: self.options.pool.opponents],
            self.options.opening,
            starts=len(self.openings),
            opener=places[FIRST] if by_start else RANDOM,
            seed=self.options.seed,
        )
        played = self.finish(games, assignments)
        seconds = max(1e-9, time.monotonic() - began)
        chosen = self.drawn(self.chosen(played), update)
        return Experience(
            len(chosen),
            self.parts(chosen),
            {
                **about(played),
                "positions": len(chosen),
                "games_a_second": len(played) / seconds,
                "positions_a_second": games.load.positions / seconds,
            },
        )

    def finish(self, games: PolicyGames, assignments: Iterator[Assignment]) -> list[PlayedGame]:
        """Play the games, and return them by number."""
        played = []
        for game in games.play(assignments):
            played.append(game)
            self.stopped()
        return sorted(played, key=lambda game: game.number)

    def chosen(self, played: Sequence[PlayedGame]) -> Chosen:
        game, turn = chosen_by(played, LEARNER)
        return Chosen(played, game, turn, np.array([result_of(one) for one in played])[game])

    def drawn(self, chosen: Chosen, update: int) -> Chosen:
        """Return the share of the moves that is learned from."""
        if self.options.positions == 1:
            return chosen
        random = np.random.default_rng([self.options.seed, update, SHARE])
        count = max(1, round(self.options.positions * len(chosen)))
        return chosen.of(np.sort(random.permutation(len(chosen))[:count]))

    def parts(self, chosen: Chosen) -> Iterator[Moves]:
        replayed = ReplayedGames(chosen.games, self.openings)
        encoder = replayed.encoder(self.learner.inputs.features)
        advantage = self.advantages(chosen)
        outputs = self.rules.size**2 + names_pass(self.net)
        for first in range(0, len(chosen), self.options.part):
            which = slice(first, first + self.options.part)
            some = chosen.of(which)
            plies = replayed.lead[some.game] + some.turn
            positions = self.positions(some, encoder.packed(some.game, plies))
            compared = self.options.kl > 0 or first == 0
            found = self.first.evaluate(positions).policy if compared else None
            yield Moves(
                self.planes(positions),
                torch.from_numpy(allowed_moves(some.games, some.game, some.turn)[:, :outputs]),
                torch.from_numpy(as_answers(some.values("moves"), self.rules.size)),
                torch.from_numpy(some.result.astype(np.float32)),
                torch.from_numpy((advantage[which] - self.foreseen(positions)).astype(np.float32)),
                None if found is None else torch.from_numpy(found[:, :outputs]),
            )

    def positions(self, some: Chosen, packed: np.ndarray) -> Positions:
        known = Known(komi=np.full(len(some), self.rules.komi, np.float32))
        return Positions(packed, some.values("colours").astype(np.int8), known)

    def planes(self, positions: Positions) -> torch.Tensor:
        """Return what the learner sees, uint8 [n, planes, size, size]."""
        known = self.learner.conditions.fill(positions.known, positions.to_play)
        points = unpack(replace(positions, known=known), self.learner.inputs)
        side = self.rules.size
        return torch.from_numpy(points.reshape(len(points), side, side, -1)).permute(0, 3, 1, 2)

    def advantages(self, chosen: Chosen) -> np.ndarray:
        """Return the result less the baseline, but for that of a net beside the learner."""
        if self.options.baseline == "mean":
            games = chosen.games
            results = np.array([result_of(game) for game in games])
            colours = np.array([learns_as(game) for game in games])
            return chosen.result - others_mean(results, colours)[chosen.game]
        if self.options.baseline == "value" and self.value_net is None:
            return chosen.result - chosen.values("values")
        return chosen.result

    def foreseen(self, positions: Positions) -> np.ndarray | float:
        """Return the values of the net that is the baseline; 0 if none is."""
        if self.value_net is None:
            return 0.0
        value = self.value_net.evaluate(positions).value
        assert value is not None
        return value

    # --- evaluations

    @cached_property
    def openers(self) -> Openers:
        """The positions that games of evaluations begin with, always the same ones."""
        return Openers(self.first, self.rules, self.options, self.openings)

    @property
    def evaluation_parts(self) -> int:
        return -(-self.options.evaluate.games // self.options.slots)

    def evaluate(self, part: int) -> list[float]:
        """Return the learner's points in the games of a part. Nothing is learned from them."""
        self.refresh()
        games = PolicyGames(
            [self.learner, self.first],
            self.rules,
            Choice(self.options.evaluate.temperature),
            starts=self.openers.starts,
            slots=self.options.slots,
            crews=self.crews,
            seed=self.options.seed + 1,  # other games than those learned from
        )
        numbers = range(part * self.options.slots, (part + 1) * self.options.slots)
        fixtures = list(self.openers.fixtures())
        played = self.finish(games, iter(fixtures[numbers.start : numbers.stop]))
        return [points_of(game) for game in played]

    def judged(self, points: Sequence[float]) -> dict[str, float]:
        found: Interval = wilson(sum(points), len(points))
        return {
            "win_rate": found.value,
            "win_low": found.low,
            "win_high": found.high,
            "games": len(points),
        }


def learns_as(game: PlayedGame) -> int:
    """Return the learner's colour in a game."""
    return 1 if game.assignment.players[0] == LEARNER else -1


def result_of(game: PlayedGame) -> float:
    """Return the result for the learner: +1, 0 or -1."""
    return float(game.winner * learns_as(game))


def about(played: Sequence[PlayedGame]) -> dict[str, float]:
    """Return the metrics of the games of an update."""
    return {
        "win_rate": float(np.mean([points_of(game) for game in played])),
        "black_wins": float(np.mean([game.winner == 1 for game in played])),
        "length": float(np.mean([len(game.moves) for game in played])),
    }
