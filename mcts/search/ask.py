"""`ask`: what an evaluator answers for one board, without a search."""

import numpy as np

from data.features.encoders import encoder_of
from data.features.evaluation import Evaluation, Evaluator, Positions
from data.features.uniform import Known
from data.game.board import Board


def ask(evaluator: Evaluator, board: Board, turn: int | None = None) -> Evaluation:
    """Return the evaluation of a board, a batch of one, from the view of the player to move.

    With `turn` the evaluator sees the board turned by that symmetry.
    """
    packed = encoder_of(evaluator.face.features).packed(board)
    return evaluator.evaluate(
        Positions(
            packed[None],
            np.array([board.to_play], np.int8),
            Known(komi=np.array([board.komi], np.float32)),
            None if turn is None else np.array([turn], np.uint8),
        )
    )
