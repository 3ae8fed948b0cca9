"""One game from one file, on a board of any size: what a player or an analysis loads."""

from pathlib import Path

from data.base.errors import Mistake
from data.game.coords import MAX_SIZE, MIN_SIZE
from data.records.record import GameRecord, Rejected
from data.records.sgf import ReadOptions, read_games

MAX_BYTES = 8 << 20  # of a file to load


class NoGame(Mistake):
    """A file does not hold a game that can be loaded."""


def load_record(path: Path) -> GameRecord:
    """The first game of a file, or a position without moves, on a board of any size.

    Raises `NoGame`.
    """
    if not path.is_file():
        raise NoGame("it is a folder" if path.is_dir() else "there is no such file")
    if path.stat().st_size > MAX_BYTES:
        raise NoGame("it is too large")
    content = path.read_bytes()
    game = read_first(content, path.name, ReadOptions())
    if isinstance(game, Rejected) and game.reason == "other size":
        game = read_first(content, path.name, ReadOptions(size=int(game.detail.split("x")[0])))
    if isinstance(game, Rejected):
        raise NoGame(str(game))
    if not MIN_SIZE <= game.size <= MAX_SIZE:
        raise NoGame(f"other size: {game.size}x{game.size}")
    return game


def read_first(content: bytes, source: str, options: ReadOptions) -> GameRecord | Rejected:
    return read_games(content, source=source, options=options, positions=True)[0]
