"""`SelfPlay`: the games of a run, as `PolicyGradient` asks for them (its protocol is `Play`).

    experience(update)     games against the pool, and what the learner can learn from them
    evaluate(part)         games against the net that the run began with, not learned from

Games depend on the weights, the pool, the options and the number of the update, and on nothing
else: a run that goes on plays the very games that it would have played.
"""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from data.features.evaluation import POLICY, VALUE, Evaluator, Positions
from data.features.uniform import Known
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import RANDOM, Assignment, PlayedGame, Rules
from mcts.selfplay.policy_games import PolicyGames
from models.answering.inference import Inference, unpack
from models.answering.live import LiveEngine
from models.learning.reinforce import Experience, Moves, others_mean
from models.nets.answers import ask, names_pass
from pipelines.matches.scores import wilson
from pipelines.reinforcing.evaluation import Openers
from pipelines.reinforcing.options import ReinforceError, ReinforceOptions
from pipelines.reinforcing.pool import FIRST, Pool, fixtures, players_of
from pipelines.reinforcing.positions import (
    Openings,
    ReplayedGames,
    allowed_moves,
    as_answers,
    chosen_by,
)
from pipelines.reinforcing.results import LEARNER, learns_as, points_of, result_of

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
        """`net` has the weights of the start now; they are kept to compare the learner with.

        `stopped` raises if the games in progress are to be given up.
        """
        self.options, self.rules, self.net, self.learner = options, rules, net, learner
        self.start_net = copy.deepcopy(net).eval().requires_grad_(False)
        self.start_net.to(memory_format=torch.channels_last)  # as the learner's, to round alike
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
        """Let the learner play with the weights that the net has by now."""
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
        if not len(chosen):
            raise ReinforceError(
                f"update {update:,}: in none of its {len(played)} games the net could choose "
                "between two moves; opening.turns may be too large, or the board too small"
            )
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
        """Return the share of the moves that is learned from, in random order.

        The first ones stand for all where a few have to do: for the change by a step, for instance.
        """
        random = np.random.default_rng([self.options.seed, update, SHARE])
        count = max(1, round(self.options.positions * len(chosen)))
        return chosen.of(random.permutation(len(chosen))[:count])

    def parts(self, chosen: Chosen) -> Iterator[Moves]:
        replayed = ReplayedGames(chosen.games, self.openings)
        encoder = replayed.encoder(self.learner.inputs.features)
        judge = None if self.value_net is None else replayed.encoder(self.value_net.face.features)
        advantage = self.advantages(chosen)
        outputs = self.rules.size**2 + names_pass(self.net)
        for first in range(0, len(chosen), self.options.part):
            which = slice(first, first + self.options.part)
            some = chosen.of(which)
            plies = replayed.lead[some.game] + some.turn
            planes = self.planes(self.positions(some, encoder.packed(some.game, plies)))
            own = advantage[which]
            if judge is not None:
                own = own - self.foreseen(self.positions(some, judge.packed(some.game, plies)))
            compared = self.options.kl > 0 or first == 0
            yield Moves(
                planes,
                torch.from_numpy(allowed_moves(some.games, some.game, some.turn)[:, :outputs]),
                torch.from_numpy(as_answers(some.values("moves"), self.rules.size)),
                torch.from_numpy(some.result.astype(np.float32)),
                torch.from_numpy(own.astype(np.float32)),
                self.reference(planes) if compared else None,
            )

    @torch.no_grad()
    def reference(self, planes: torch.Tensor) -> torch.Tensor:
        """Return the policy of the start, computed as that of the learner is computed.

        Play may be in another arithmetic. The difference would be a divergence of its own.
        """
        device = next(self.net.parameters()).device
        return ask(self.start_net.to(device), planes.to(device))[POLICY].float()

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

    def foreseen(self, positions: Positions) -> np.ndarray:
        """Return the values of the net that is the baseline."""
        assert self.value_net is not None
        value = self.value_net.evaluate(positions).value
        assert value is not None
        return value

    # --- evaluations

    @cached_property
    def openers(self) -> Openers:
        """The positions that games of evaluations begin with, always the same ones."""
        return Openers(self.first, self.rules, self.options, self.openings)

    @property
    def temperatures(self) -> list[float]:
        """Of an evaluation, and of play while it learns if that is another one."""
        return list(dict.fromkeys([self.options.evaluate.temperature, self.options.temperature]))

    @property
    def parts_each(self) -> int:
        """Parts of an evaluation at one temperature."""
        return -(-self.options.evaluate.games // self.options.slots)

    @property
    def evaluation_parts(self) -> int:
        return len(self.temperatures) * self.parts_each

    def evaluate(self, part: int) -> list[float]:
        """Return the learner's points in the games of a part. Nothing is learned from them."""
        self.refresh()
        temperature = self.temperatures[part // self.parts_each]
        part %= self.parts_each
        games = PolicyGames(
            [self.learner, self.first],
            self.rules,
            Choice(temperature),
            starts=self.openers.starts,
            slots=self.options.slots,
            crews=self.crews,
            seed=self.options.seed + 1,  # other games than those learned from
        )
        numbers = range(part * self.options.slots, (part + 1) * self.options.slots)
        fixtures = list(self.openers.fixtures(temperature))
        played = self.finish(games, iter(fixtures[numbers.start : numbers.stop]))
        return [points_of(game) for game in played]

    def judged(self, points: Sequence[float]) -> dict[str, float]:
        """Return the win rates at both temperatures, from the points in all games of both."""
        first = self.openers.games(self.options.evaluate.temperature)
        own, at_play = points[:first], points[first:]
        if len(self.temperatures) == 1:
            at_play = own
        return {**in_interval("win", own), **in_interval("play", at_play), "games": len(own)}


def in_interval(name: str, points: Sequence[float]) -> dict[str, float]:
    found = wilson(sum(points), len(points))
    return {f"{name}_rate": found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def about(played: Sequence[PlayedGame]) -> dict[str, float]:
    """Return the metrics of the games of an update."""
    return {
        "win_rate": float(np.mean([points_of(game) for game in played])),
        "black_wins": float(np.mean([game.winner == 1 for game in played])),
        "length": float(np.mean([len(game.moves) for game in played])),
    }
