"""Games of a round as SGF, with what the search thought of each position in a comment.

samples/000012.sgf      three games: the first two of the round, and the longest of the others
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data.base.atomic import write_text
from data.game.coords import BLACK, to_gtp
from data.records.record import GameRecord
from data.records.sgf_writer import write_game
from mcts.selfplay.games import PlayedGame

FOLDER = "samples"
FIRST = 2  # games of a round
SHOWN = 4  # moves of a search


def write_samples(folder: Path, round: int, games: Sequence[PlayedGame]) -> Path:
    """Write some of a round's games into one file of the run's folder; return its path."""
    path = folder / FOLDER / f"{round:06d}.sgf"
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [write_game(record_of(game, round), notes_of(game)) for game in chosen(games)]
    write_text(path, "".join(texts))
    return path


def chosen(games: Sequence[PlayedGame]) -> list[PlayedGame]:
    """Return the first games, which are typical ones, and the longest of the others."""
    ordered = sorted(games, key=lambda game: game.number)
    rest = sorted(ordered[FIRST:], key=lambda game: len(game.moves))
    return [*ordered[:FIRST], *rest[-1:]]


def record_of(game: PlayedGame, round: int) -> GameRecord:
    return GameRecord(
        size=game.size,
        moves=game.moves,
        colours=game.colours,
        komi=game.komi,
        result=game.result,
        winner=game.winner,
        black_name=f"round {round}",
        white_name=f"round {round}",
        event=f"game {game.number:,}, {game.ending}, {len(game.moves)} turns",
    )


def notes_of(game: PlayedGame) -> dict[int, str]:
    """Return a comment for each turn of which the search has said anything."""
    notes = {}
    for turn in range(len(game.moves)):
        parts = [value_note(game, turn), search_note(game, turn)]
        if text := "\n".join(part for part in parts if part):
            notes[turn] = text
    return notes


def value_note(game: PlayedGame, turn: int) -> str:
    """`Black expects +0.31 (66% to win)`: the search's value of the position before the move."""
    value = float(game.values[turn])
    if np.isnan(value):
        return ""
    name = "Black" if game.colours[turn] == BLACK else "White"
    return f"{name} expects {value:+.2f} ({(1 + value) / 2:.0%} to win)"


def search_note(game: PlayedGame, turn: int) -> str:
    """`Search: C3 61%, D4 20%, E5 8%`, its favourites; '' of a fast search, which keeps none."""
    if game.visits is None:
        return ""
    start, end = game.visits.offset[turn : turn + 2].tolist()
    if start == end:
        return ""
    counts = game.visits.counts[start:end].astype(np.float64)
    moves = game.visits.moves[start:end]
    best = np.argsort(-counts, kind="stable")[:SHOWN]
    share = counts / max(1.0, counts.sum())
    shown = ", ".join(f"{to_gtp(int(moves[k]), game.size)} {share[k]:.0%}" for k in best)
    own = share[moves == game.moves[turn]].sum()
    played = "" if game.moves[turn] == moves[best[0]] else f"; played at {own:.0%}"
    return f"Search: {shown}{played}"
