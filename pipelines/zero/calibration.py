"""Positions that int8 is calibrated and judged on: `even_planes`, without games `some_planes`."""

import numpy as np

from mcts.selfplay.games import Assignment
from mcts.selfplay.judging.playouts import PlayoutEvaluator
from mcts.selfplay.memory.memory import Memory
from mcts.selfplay.trees.tree_games import Thinking, TreeGames
from pipelines.zero.options import ZeroOptions

CALIBRATION_ROWS = 1024  # of the newest games: one half calibrates int8, the other judges it
FIRST_GAMES = 16  # that are played to calibrate a net with random weights


def some_planes(memory: Memory, options: ZeroOptions) -> np.ndarray:
    """Return the planes of some positions, before there are games to take them from."""
    engine = TreeGames(
        [PlayoutEvaluator(options.seed)],
        options.rules,
        options.search,
        Thinking(2),
        slots=FIRST_GAMES,
        seed=options.seed,
    )
    games = sorted(engine.play(map(Assignment, range(FIRST_GAMES))), key=lambda game: game.number)
    scratch = Memory(
        options.size, memory.inputs.features, memory.inputs.uniform, options.memory, options.seed
    )
    scratch.add(0, games)
    return even_planes(scratch, 0)


def even_planes(memory: Memory, number: int) -> np.ndarray:
    """Return the planes of at most `CALIBRATION_ROWS` rows, evenly spread over a round's games."""
    batches = memory.new_batches(number, CALIBRATION_ROWS)
    rows = [batch["planes"] for batch in batches] or [np.zeros((0, 0, 0, 0), np.uint8)]
    planes = np.concatenate(rows)
    count = min(len(planes), CALIBRATION_ROWS)
    return planes[np.arange(count) * len(planes) // max(1, count)]
