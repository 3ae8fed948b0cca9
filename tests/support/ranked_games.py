"""Games on 9x9 whose players differ by rank: the stronger one is, the more it likes the centre.

That looks alike in all eight orientations, so nets can learn it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hydra import compose, initialize_config_dir

from data.game.board import Board
from data.records.metadata import from_rank
from pipelines import build_dataset
from pipelines.shell.configuration import CONF

SIZE = 9
POINTS = SIZE * SIZE


def log_policy(rank: int) -> np.ndarray:
    """Return log-probabilities float32 [points + 1] of a player of that rank; it never passes."""
    rows, columns = np.divmod(np.arange(POINTS), SIZE)
    ring = np.maximum(np.abs(rows - SIZE // 2), np.abs(columns - SIZE // 2))
    logits = np.append(-0.04 * (rank + 6) * ring, -np.inf)
    return (logits - np.log(np.exp(logits).sum())).astype(np.float32)


def play(random: np.random.Generator, black: int, white: int, moves: int = 40) -> str:
    """Return legal moves of players of these ranks as SGF.

    The fuller the board, the less they can choose: after half of it moves tell little.
    """
    board, text = Board(SIZE), ""
    for k in range(moves):
        free = [point for point in range(POINTS) if board.is_legal(point)]
        if not free:
            break
        chances = np.exp(log_policy((black, white)[k % 2])[free].astype(float))
        point = free[int(random.choice(len(free), p=chances / chances.sum()))]
        board.play(point)
        text += f";{'BW'[k % 2]}[{chr(97 + point % SIZE)}{chr(97 + point // SIZE)}]"
    return text


def sgf(moves: str, **properties: str) -> str:
    head = "".join(f"{key}[{value}]" for key, value in properties.items())
    return f"(;GM[1]SZ[{SIZE}]KM[7]{head}{moves})"


def write_records(
    folder: Path, ranks: Sequence[int], *, games: int = 150, moves: int = 40, passes: bool = False
) -> Path:
    """Write games of players whose ranks are drawn of these; with `passes` each ends with two."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(3)
    for k in range(games):
        black, white = (int(rank) for rank in random.choice(ranks, 2))
        text = play(random, black, white, moves) + (";B[];W[]" if passes else "")
        result = "BW"[int(random.integers(2))] + "+1.5"
        (folder / f"{k}.sgf").write_text(
            sgf(text, BR=from_rank(black), WR=from_rank(white), RE=result)
        )
    return folder


def build(records: Path, output: Path, *how: str) -> Path:
    """Build a dataset of the records: a tenth for validation, three tenths to test."""
    splits = ["size=9", "executor.workers=1", "splits.validation=0.1", "splits.test=0.3"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        build_dataset.run(
            compose("build_dataset", [f"source={records}", f"output={output}", *splits, *how])
        )
    return output
