"""Parts: files of played games, whole or not there. `write_games` and `read_games`.

    write_games("games-00012.h5", games, {"nets": ["6f0c..."], "seed": 1})
    games, about = read_games("games-00012.h5")

All games of a part are on boards of one size, and all of them were played with a search or none
was. What varies in length is flat, one game after
another, cut by `offset` (turns) and `visits_offset` (a turn's entries). A part holds all that a
`PlayedGame` does but `allowed`: what each move was chosen by, too, which is the player, its
expectation and the visits of its search. `new_file` gives it a checksum; `read_games` compares it.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data.base import digests
from data.base.errors import Mistake, first_line
from data.dataset.columns import BROKEN
from data.dataset.layout import create_column
from data.hdf5.guarded import guarded
from data.hdf5.new_file import new_file
from mcts.selfplay.games import ENDINGS, Assignment, PlayedGame, Visits

WHAT = "LambdaGo played games"
SCHEMA = 1
TURN_COLUMNS = {
    "moves": np.int16,
    "colours": np.int8,
    "chosen_by": np.int8,
    "values": np.float32,
}
GAME_COLUMNS = {
    "number": np.int64,
    "start": np.int32,
    "players": np.int8,  # [games, 2], and so is `opening`
    "opening": np.int8,
    "until": np.int32,
    "random_turns": np.int32,
    "own_komi": np.bool_,  # the assignment names the komi, not the rules
    "komi": np.float64,
    "ending": np.uint8,  # a place in ENDINGS
    "score": np.float64,
    "winner": np.int8,
    "would_resign": np.int8,
    "owner": np.int8,  # [games, points]
}
VISIT_COLUMNS = {"moves": np.int16, "counts": np.uint16}
FROM_ASSIGNMENT = ("number", "start", "players", "opening", "until", "random_turns")


def write_games(path: Path, games: Sequence[PlayedGame], about: dict[str, Any]) -> None:
    """Write a part; `about` is kept as text.

    Raises `Mistake` for games that do not belong into one part.
    """
    check_alike(games)
    with new_file(path) as new:
        attributes = new.file.attrs
        attributes["what"], attributes["schema"] = WHAT, SCHEMA
        attributes["size"] = games[0].size if games else 0
        attributes["about"] = json.dumps(about, sort_keys=True)
        for name, values in columns_of(games).items():
            column = create_column(new.file, name, len(values), values.dtype) if values.ndim == 1 \
                else new.file.create_dataset(name, values.shape, values.dtype)  # fmt: skip
            if values.size:
                column[:] = values
            new.check()


def check_alike(games: Sequence[PlayedGame]) -> None:
    if len(sizes := sorted({game.size for game in games})) > 1:
        raise Mistake(f"games on boards of different sizes, {sizes}, can't be in one part")
    if len({game.visits is None for game in games}) > 1:
        raise Mistake("games with and games without a search can't be in one part")


def columns_of(games: Sequence[PlayedGame]) -> dict[str, np.ndarray]:
    """Return the columns of a part by name."""

    def joined(arrays: list[np.ndarray], dtype: Any) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype), *arrays]).astype(dtype)

    columns: dict[str, np.ndarray] = {}
    for name, dtype in GAME_COLUMNS.items():
        if name in FROM_ASSIGNMENT:
            rows = [getattr(game.assignment, name) for game in games]
        elif name == "own_komi":
            rows = [game.assignment.komi is not None for game in games]
        elif name == "ending":
            rows = [ENDINGS.index(game.ending) for game in games]
        else:
            rows = [getattr(game, name) for game in games]
        columns[name] = np.array(rows, dtype)
    for name, dtype in TURN_COLUMNS.items():
        columns[name] = joined([getattr(game, name) for game in games], dtype)
    columns["offset"] = offsets([len(game.moves) for game in games])
    searches = [game.visits for game in games if game.visits is not None]
    if searches:
        columns["visits_offset"] = offsets(
            [n for visits in searches for n in np.diff(visits.offset).tolist()]
        )
        for name, dtype in VISIT_COLUMNS.items():
            columns[f"visits_{name}"] = joined([getattr(v, name) for v in searches], dtype)
    return columns


def offsets(counts: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.array(counts, np.int64))]).astype(np.int64)


def read_games(path: Path) -> tuple[list[PlayedGame], dict[str, Any]]:
    """Return the games of a part, and what it is about.

    Raises `Mistake` for a file that is no part of games, or is not as it was written.
    """
    try:
        if change := digests.find_change(path) or ("" if digests.read_digest(path) else "no part"):
            raise Mistake(f"{path}: not a readable part of games, {change}")
        columns, size, about = guarded(path, read_columns)
    except BROKEN as error:
        raise Mistake(f"{path}: not a readable part of games ({first_line(error)})") from None
    return [game_of(columns, size, k) for k in range(len(columns["number"]))], about


def read_columns(file: h5py.File) -> tuple[dict[str, np.ndarray], int, dict[str, Any]]:
    if file.attrs.get("what") != WHAT or file.attrs.get("schema") != SCHEMA:
        raise KeyError("it holds something else, or was written by another version")
    columns = {name: dataset[:] for name, dataset in file.items()}
    return columns, int(file.attrs["size"]), dict(json.loads(file.attrs["about"]))


def game_of(columns: dict[str, np.ndarray], size: int, k: int) -> PlayedGame:
    a, z = columns["offset"][k : k + 2].tolist()
    turns = {name: columns[name][a:z] for name in TURN_COLUMNS}
    visits = None
    if "visits_offset" in columns:
        cuts = columns["visits_offset"][a : z + 1]
        entries = slice(int(cuts[0]), int(cuts[-1]))
        visits = Visits(
            (cuts - cuts[0]).astype(np.int32),
            columns["visits_moves"][entries],
            columns["visits_counts"][entries],
        )
    return PlayedGame(
        assignment=assignment_of(columns, k),
        size=size,
        komi=float(columns["komi"][k]),
        ending=ENDINGS[int(columns["ending"][k])],
        score=float(columns["score"][k]),
        winner=int(columns["winner"][k]),
        owner=columns["owner"][k],
        would_resign=int(columns["would_resign"][k]),
        visits=visits,
        **turns,
    )


def assignment_of(columns: dict[str, np.ndarray], k: int) -> Assignment:
    known: dict[str, Any] = {
        name: tuple(columns[name][k].tolist()) if columns[name].ndim > 1 else int(columns[name][k])
        for name in FROM_ASSIGNMENT
    }
    komi = float(columns["komi"][k]) if columns["own_komi"][k] else None
    return Assignment(**known, komi=komi)
