"""Games whose last part is a rollout: the policy of patterns plays on after the random move.

    players = [sl, Passer()]                    and a recipe with rl=1
    game = RolloutEnds(policy, rules, seed).finish(game)

`PolicyGames` plays up to the random move; then `Passer` passes for both sides, which costs no net
an answer. `RolloutEnds` replaces the two passes by one rollout, whose moves the game keeps. Like
any rollout it knows simple ko only. A game that comes out longer than the rules allow counts as too
long, although all its moves are there.
"""

from dataclasses import replace

import numpy as np

from data.features.evaluation import POLICY, Evaluation, Face, Positions
from data.features.feature_set import ALPHAGO48
from data.game.board_kernels import new_boards
from data.game.coords import MAX_SIZE, MIN_SIZE, PASS
from data.records.replay_kernels import Moves, replay_to
from mcts.rollouts.policy import Recorder, RolloutPolicy
from mcts.selfplay.games import PASSES, TOO_LONG, PlayedGame, Rules, result_of
from mcts.selfplay.value_data.recipe import random_turn

DRAWS = 0x0E  # keeps the draws of rollouts apart from the draws of the game
NEVER = -1e4  # logarithm of a chance that no draw hits


class Passer:
    """An evaluator that always passes."""

    face = Face("passes", ALPHAGO48, MIN_SIZE, MAX_SIZE, frozenset({POLICY}), names_pass=True)

    def evaluate(self, positions: Positions) -> Evaluation:
        count, points, _ = positions.packed.shape
        policy = np.full((count, points + 1), NEVER, np.float32)
        policy[:, -1] = 0
        return Evaluation(policy=policy)


class RolloutEnds:
    """Plays games to their ends; for one thread."""

    def __init__(self, policy: RolloutPolicy, rules: Rules, seed: int):
        self.recorder = Recorder(policy)
        self.limit, self.seed = rules.limit, seed
        self.boards = new_boards(1, policy.size)
        self.none = tuple(np.zeros(0, dtype) for dtype in (np.int16, np.int16, np.int8))

    def finish(self, game: PlayedGame) -> PlayedGame:
        """Return the game with a rollout behind its random move; one that had ended as it is."""
        ply = random_turn(game.assignment)
        if len(game.moves) <= ply:
            return game
        begun = Moves(game.size, game.moves[:ply], game.colours[:ply], *self.none)
        if replay_to(self.boards, 0, begun, ply) < 0:
            raise RuntimeError(f"game {game.number} is not legal up to turn {ply}")
        last = int(game.moves[ply - 1])
        moves, balance, owner = self.recorder.play(self.boards, last, self.state(game.number))
        colours = int(game.colours[ply]) * (1 - 2 * (np.arange(len(moves)) % 2))
        score, winner = result_of(balance, game.komi)
        over = len(moves) > 1 and bool((moves[-2:] == PASS).all())
        chosen_by = np.full(len(moves), game.assignment.players[0])
        return replace(
            game,
            moves=np.concatenate([begun.moves, moves]),
            colours=np.concatenate([begun.colours, colours.astype(np.int8)]),
            chosen_by=np.concatenate([game.chosen_by[:ply], chosen_by.astype(np.int8)]),
            values=np.full(ply + len(moves), np.nan, np.float32),
            ending=PASSES if over and ply + len(moves) <= self.limit else TOO_LONG,
            score=score,
            winner=winner,
            owner=owner,
        )

    def state(self, number: int) -> np.ndarray:
        """The random state of the rollout of a game, uint64 [1]."""
        words = np.random.SeedSequence([DRAWS, self.seed, number]).generate_state(1, np.uint64)
        return np.maximum(words, np.uint64(1))
