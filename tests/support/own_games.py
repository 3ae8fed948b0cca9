"""Whole games of nobody: random legal moves with a little tactics, from a seed, as records, as SGF
and packed.

    record = play_game(7, size=9, moves=60, handicap=2)
    write_sgf(record)                                     b'(;GM[1]...'
    games = collect(30, size=9)                           {'ladder/0003.sgf': OwnGame(record, bytes, kind), ...}
    write_zip(folder / "a.zip", games)

`collect` holds all that a build must cope with and yet keep (handicap, passes, two moves in a row
by one colour, set-up in the middle of the game), and copies: mirrored, with another tail, cut.
`kind` says which.
"""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from data.game import symmetry
from data.game.board import Board
from data.game.coords import BLACK, EMPTY, PASS, WHITE
from data.records.record import GameRecord

RESULTS = (
    ("B+3.5", BLACK),
    ("W+R", WHITE),
    ("B+T", BLACK),
    ("W+12.5", WHITE),
    ("Draw", 0),
    ("?", 0),
    ("B+F", BLACK),
    ("B+", BLACK),
)
RANKS = ((6, "6d"), (-3, "3k"), (19, "9p"), (0, ""))
KOMI = (7.5, 6.5, 0.5, float("nan"))


@dataclass(frozen=True)
class OwnGame:
    record: GameRecord
    data: bytes
    kind: str  # new, mirror, tail or cut


@cache
def play_game(
    seed: int, *, size: int = 19, moves: int = 60, handicap: int = 0, odd: bool = True
) -> GameRecord:
    """`odd`: with passes in the middle, two moves in a row by one colour and set-up in the middle
    of the game, now and then.
    """
    rng = np.random.default_rng([seed, size, handicap])
    board = Board(size, ko="simple")
    setup: list[tuple[int, int, int]] = []
    if handicap:
        stones = rng.choice(size * size, handicap, replace=False)
        setup += [(0, int(point), BLACK) for point in sorted(stones)]
        board.setup(black=stones)
    played: list[tuple[int, int]] = []
    colour = WHITE if handicap else BLACK
    while len(played) < moves:
        if odd and played and rng.random() < 0.01:
            setup += change(board, rng, len(played))
        move = PASS if odd and rng.random() < 0.02 else choose(board, rng, colour, played)
        board.play(move, colour)
        played.append((move, colour))
        colour = colour if odd and rng.random() < 0.02 else -colour
    if seed % 3 == 0:
        played += [(PASS, colour), (PASS, -colour)]
    return describe(played, setup, seed, size, handicap)


def choose(
    board: Board, rng: np.random.Generator, colour: int, played: list[tuple[int, int]]
) -> int:
    """Near the last move as often as not; a move that is legal whichever colour the ko forbids it
    to.
    """
    size = board.size
    last = next((move for move, _ in reversed(played) if move != PASS), None)
    points = rng.permutation(size * size)
    if last is not None and rng.random() < 0.6:
        distance = abs(points // size - last // size) + abs(points % size - last % size)
        points = points[np.argsort(distance > 2, kind="stable")]
    return next(
        (int(point) for point in points if point != board.ko and board.is_legal(point, colour)),
        PASS,
    )


def change(board: Board, rng: np.random.Generator, ply: int) -> list[tuple[int, int, int]]:
    """A stone less and a stone more, where the board allows it."""
    for point in rng.permutation(board.size**2).tolist():
        if board.colour_at(point) == EMPTY and board.is_legal(point, WHITE) and point != board.ko:
            taken = board.stones(BLACK)[:1]
            try:
                board.setup(white=[point], empty=taken)
            except ValueError:
                continue
            return [(ply, stone, EMPTY) for stone in taken] + [(ply, point, WHITE)]
    return []


def black_ahead(played: list[tuple[int, int]], set_up: bool) -> int:
    """Two or more stones that Black laid before White's first count as handicap."""
    stones = 0
    for point, colour in played:
        if colour == WHITE and point != PASS:
            break
        stones += point != PASS
    return stones if stones >= 2 and not set_up else 0


def describe(
    played: list[tuple[int, int]],
    setup: list[tuple[int, int, int]],
    seed: int,
    size: int,
    handicap: int,
) -> GameRecord:
    result, winner = RESULTS[seed % len(RESULTS)]
    return GameRecord(
        size=size,
        moves=np.array([move for move, _ in played], np.int16),
        colours=np.array([colour for _, colour in played], np.int8),
        setup_ply=np.array([ply for ply, _, _ in setup], np.int16),
        setup_point=np.array([point for _, point, _ in setup], np.int16),
        setup_colour=np.array([colour for _, _, colour in setup], np.int8),
        komi=KOMI[seed % 4],
        rules="Chinese",
        result=result,
        winner=winner,
        handicap=handicap
        if handicap >= 2
        else black_ahead(played, bool(setup and setup[0][0] == 0)),
        black_name=f"Ann {seed}",
        white_name="Böb 白",
        black_rank=RANKS[seed % 4][0],
        white_rank=RANKS[seed // 4 % 4][0],
        date=f"{2000 + seed % 20}-05-{1 + seed % 28:02d}",
        event=f"Cup {seed}",
    )


def write_sgf(record: GameRecord) -> bytes:
    def point(move: int) -> str:
        return "" if move == PASS else chr(97 + move % record.size) + chr(97 + move // record.size)

    def changes(ply: int) -> str:
        at = np.flatnonzero(record.setup_ply == ply)
        names = {BLACK: "AB", WHITE: "AW", EMPTY: "AE"}
        return "".join(
            f"{names[int(record.setup_colour[k])]}[{point(int(record.setup_point[k]))}]" for k in at
        )

    ranks = dict(RANKS)
    komi = f"{record.komi:g}" if record.komi == record.komi else ""
    text = f"(;GM[1]FF[4]CA[UTF-8]SZ[{record.size}]KM[{komi}]RU[{record.rules}]RE[{record.result}]DT[{record.date}]"
    text += f"EV[{record.event}]PB[{record.black_name}]PW[{record.white_name}]"
    text += f"BR[{ranks[record.black_rank]}]WR[{ranks[record.white_rank]}]{changes(0)}"
    for ply, (move, colour) in enumerate(
        zip(record.moves.tolist(), record.colours.tolist(), strict=True)
    ):
        text += f";{changes(ply)}" if ply and changes(ply) else ""
        text += f"\n;{'B' if colour == BLACK else 'W'}[{point(move)}]"
    return (text + ")\n").encode()


def turn(record: GameRecord, k: int) -> GameRecord:
    """The game as a mirror shows it."""
    table = symmetry.forward(record.size)[k]
    return replace(record, moves=table[record.moves], setup_point=table[record.setup_point])


def cut(record: GameRecord, moves: int) -> GameRecord:
    setup = record.setup_ply < moves
    return replace(
        record, moves=record.moves[:moves], colours=record.colours[:moves], setup_ply=record.setup_ply[setup],
        setup_point=record.setup_point[setup], setup_colour=record.setup_colour[setup],
    )  # fmt: skip


def with_other_tail(record: GameRecord, at: int) -> GameRecord:
    """The same up to move `at`, then all moves are passes but for one: legal whatever the board
    is.
    """
    beginning = cut(record, at)
    board = replay(beginning)
    last = next(
        point
        for point in range(record.size**2)
        if point != board.ko and board.is_legal(point, BLACK)
    )
    return replace(
        beginning,
        moves=np.append(beginning.moves, [PASS, last]).astype(np.int16),
        colours=np.append(beginning.colours, [WHITE, BLACK]).astype(np.int8),
    )


def replay(record: GameRecord) -> Board:
    """The board at the end, by way of `Board`."""
    board = Board(record.size, ko="simple")
    for ply, (move, colour) in enumerate(
        zip(record.moves.tolist(), record.colours.tolist(), strict=True)
    ):
        set_up(board, record, ply)
        board.play(move, colour)
    return board


def set_up(board: Board, record: GameRecord, ply: int) -> None:
    at = record.setup_ply == ply
    if at.any():
        points, colours = record.setup_point[at], record.setup_colour[at]
        board.setup(
            black=points[colours == BLACK],
            white=points[colours == WHITE],
            empty=points[colours == EMPTY],
        )


@cache
def collect(
    count: int, *, size: int = 9, moves: int = 70, seed: int = 0, copies: bool = True
) -> Mapping[str, OwnGame]:
    """Games by file name.

    With `copies` every fifth game comes mirrored, every seventh with another tail, every eleventh
    cut.
    """
    games: dict[str, OwnGame] = {}

    def add(name: str, record: GameRecord, kind: str) -> None:
        games[f"{name}.sgf"] = OwnGame(record, write_sgf(record), kind)

    for k in range(count):
        record = play_game(
            seed * 1000 + k, size=size, moves=moves + k % 9, handicap=3 if k % 6 == 5 else 0
        )
        add(f"{k % 3}/game-{k:04d}", record, "new")
        if copies and k % 5 == 0:
            add(f"copies/{k:04d}-mirror", turn(record, 1 + k % 7), "mirror")
        if copies and k % 7 == 0:
            add(f"copies/{k:04d}-tail", with_other_tail(record, 60), "tail")
        if copies and k % 11 == 0:
            add(f"copies/{k:04d}-cut", turn(cut(record, 55), 3), "cut")
    return games


def contents(games: Mapping[str, OwnGame] | Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: game.data if isinstance(game, OwnGame) else game for name, game in games.items()}


def write_zip(path: Path, games: Mapping[str, OwnGame] | Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents(games).items():
            archive.writestr(zipfile.ZipInfo(name, (2001, 1, 1, 0, 0, 0)), data)
    return path


def write_tar(
    path: Path, games: Mapping[str, OwnGame] | Mapping[str, bytes], mode: str = "w:gz"
) -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in contents(games).items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def write_folder(path: Path, games: Mapping[str, OwnGame] | Mapping[str, bytes]) -> Path:
    for name, data in contents(games).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path
