"""Is a dataset what it claims? `verify` recomputes, compares, and lists what is wrong.

    checksum    no byte has changed since the file was written; older files carry no checksum
    structure   every column has its length; offsets and first rows begin at 0, never decrease,
                and end where they must
    games       values in range, splits contiguous and as the attributes say, no game twice, no
                opening in two splits
    labels      of all rows: game, ply, move, colour, outcome and symmetry follow from the moves
    planes      of random rows (or of all): the game is replayed and the position encoded again,
                bit for bit

A step runs only if the steps before found nothing: compiled code trusts that points are on the
board. `verify` never raises for damage to the file.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from data.base import digests
from data.base.errors import first_line
from data.dataset.columns import Column, Columns
from data.dataset.games import LONGEST, Games
from data.dataset.layout import (
    ADDED_COLUMNS,
    FLAT_COLUMNS,
    GAME_COLUMNS,
    SETUP_COLUMNS,
    DatasetError,
)
from data.dataset.positions import read_rows
from data.dataset.rows import Rows, to_points
from data.features.encoders import game_encoder_of
from data.features.packing import unpack
from data.game import symmetry
from data.game.coords import BLACK, EMPTY, PASS, WHITE, to_gtp
from data.game.legality_kernels import SOUND
from data.records.identity import identity, opening_identity
from data.records.record import EVERY_PLY, GameRecord
from data.records.replay import Replayer, find_problem
from data.records.splits import SPLITS, split_of

LISTED = 20  # problems spelled out; the others are counted
BLOCK = 2048  # rows whose planes are in memory at once; 36 MB as bytes
MOVES = 1 << 20  # moves in memory at once

Problems = Iterator[str]

REPLAYER = Replayer()


@dataclass(slots=True)
class Verdict:
    games: int = 0
    rows: int = 0  # all of them
    recomputed: int = 0  # rows whose planes were encoded again
    problems: list[str] = field(default_factory=list)  # the first ones
    count: int = 0  # of problems
    sealed: bool = False  # the file carries a checksum of all its bytes
    changed: bool = False  # and it differs
    seconds: float = 0.0

    @property
    def sound(self) -> bool:
        return self.count == 0

    def add_all(self, problems: Problems) -> int:
        """Returns how many there were."""
        before = self.count
        for problem in problems:
            self.add(problem)
        return self.count - before

    def add(self, problem: str) -> None:
        self.count += 1
        if len(self.problems) < LISTED:
            self.problems.append(problem)


def verify(
    rows: Rows, *, sample: int | None = 1000, seed: int = 0, split: str | None = None
) -> Verdict:
    """Check everything; encode `sample` rows of `split` again, or all where these are None."""
    started = time.perf_counter()
    verdict = Verdict(rows=rows.count)
    try:
        first, stop = rows.bounds(split)
        verdict.add_all(check_seal(rows, verdict))
        for steps in (
            (check_structure(rows),),
            (check_games(rows),),
            (check_labels(rows), check_planes(rows, draw_rows(first, stop, sample, seed), verdict)),
        ):
            if sum(map(verdict.add_all, steps)):
                break
    except (OSError, DatasetError) as error:  # a chunk that can't be unpacked
        verdict.add(f"the file can't be read: {first_line(error)}")
    verdict.games = rows.file.game_count
    verdict.seconds = time.perf_counter() - started
    return verdict


def draw_rows(first: int, stop: int, sample: int | None, seed: int) -> np.ndarray:
    """Rows in order, none twice."""
    if sample is None or sample >= stop - first:
        return np.arange(first, stop)
    return np.sort(np.random.default_rng(seed).choice(stop - first, sample, replace=False)) + first


# --- structure and games


def check_seal(rows: Rows, verdict: Verdict) -> Problems:
    """Compare the checksum, which newer files carry; it covers every byte."""
    verdict.sealed = digests.read_digest(rows.file.path) != ""
    if problem := digests.find_change(rows.file.path):
        verdict.changed = True
        yield problem


def check_structure(rows: Rows) -> Problems:
    """Open every column, which checks its type and shape."""
    file = rows.file
    for columns in (file.games, file.states if rows.plain else file.positions):
        for name in columns.layout:
            yield from complaint(columns.__getitem__, name)
    for name, flat in (("offset", FLAT_COLUMNS), ("setup_offset", SETUP_COLUMNS)):
        for column in flat:
            yield from complaint(file.offsets, name, column)
    yield from complaint(getattr, file, "first_row")


def complaint(look: Callable[..., Any], *arguments: Any) -> Problems:
    try:
        look(*arguments)
    except DatasetError as error:
        yield str(error).partition(": ")[2]


def check_games(rows: Rows) -> Problems:
    games, points = rows.file.games, range(rows.size**2)
    for name in GAME_COLUMNS:
        yield from complaint(rows.file.column, name)  # texts are read, too
    possible = {
        "moves": [*points, PASS],
        "colours": [BLACK, WHITE],
        "split": range(len(SPLITS)),
        "winner": [BLACK, WHITE, 0],
        "setup_point": points,
        "setup_colour": [BLACK, WHITE, EMPTY],
        "value": [0, 1],
        "implicit_handicap": [0, 1],
        "only_ply": range(EVERY_PLY, LONGEST),
    }
    for name, values in possible.items():
        if name in ADDED_COLUMNS and name not in games:
            continue
        yield from check_values(games[name], np.array(values))
    yield from check_setup(games)
    yield from check_splits(rows)
    identities = games["identity"][:]
    unique, counts = np.unique(identities, return_counts=True)
    for value in unique[counts > 1]:
        games_of_it = np.flatnonzero(identities == value).tolist()
        yield f"one game is there several times: games {games_of_it}"


def check_values(dataset: Column, possible: np.ndarray) -> Problems:
    values = dataset[:]
    for at in np.flatnonzero(~np.isin(values, possible)):
        yield f"{dataset.name}[{at}] is {values[at]}, which is not possible"


def check_setup(games: Columns) -> Problems:
    """Changes come in the order of plies within each game, none of them after its last move."""
    ply, offset, moves = (
        games["setup_ply"][:].astype(np.int64),
        games["setup_offset"][:],
        np.diff(games["offset"][:]),
    )
    game = np.repeat(np.arange(len(moves)), np.diff(offset))
    for at in np.flatnonzero((ply < 0) | (ply > moves[game])):
        where = f"comes before move {ply[at] + 1}, of {moves[game[at]]} moves"
        yield f"set-up of game {game[at]} {where}"
    for at in np.flatnonzero((np.diff(ply) < 0) & (np.diff(game) == 0)):
        yield f"set-up of game {game[at]} is not in the order of its moves"


def check_splits(rows: Rows) -> Problems:
    file = rows.file
    split, first_row = file.games["split"][:], file.games["first_row"][:]
    edges = np.searchsorted(split, np.arange(len(SPLITS) + 1))
    if (np.diff(split.astype(np.int8)) < 0).any():
        yield "games/split is not in order: train, then validation, then test"
        return
    for k, name in enumerate(SPLITS):
        games = (int(edges[k]), int(edges[k + 1]))
        for attribute, found, expected in (
            ("split_games", file.split_games.get(name), games),
            (
                "split_rows",
                file.split_rows.get(name),
                (int(first_row[games[0]]), int(first_row[games[1]])),
            ),
        ):
            if found != expected:
                yield f"attribute {attribute} has {name} at {found}, the games are at {expected}"
    openings = file.games["opening"][:]
    # an opening once for each side it is on
    sides = np.unique(np.stack([openings, split.astype(np.uint64)]), axis=1)[0]
    values, counts = np.unique(sides, return_counts=True)
    for value in values[counts > 1]:
        versions = np.flatnonzero(openings == value).tolist()
        yield f"versions of one game are on several sides: games {versions}"
    shares = file.shares
    if "validation" in shares and "test" in shares:
        for game, opening in enumerate(openings.tolist()):
            if split_of(opening, shares["validation"], shares["test"]) != split[game]:
                yield f"game {game} is in {SPLITS[split[game]]}, where its opening does not belong"


# --- labels


def check_labels(rows: Rows) -> Problems:
    games = rows.file.games
    offset, first_row, winner = games["offset"][:], games["first_row"][:], games["winner"][:]
    only = rows.file.column("only_ply")
    for a, z in blocks(offset):
        moves, colours = (games[name][offset[a] : offset[z]] for name in ("moves", "colours"))
        game = np.repeat(np.arange(a, z), np.diff(offset[a : z + 1]))
        ply = np.arange(offset[a], offset[z]) - offset[game]
        wanted = (only[game] == EVERY_PLY) | (only[game] == ply)
        played = np.flatnonzero(wanted & (rows.file.passes | (moves != PASS)))
        game, ply = game[played], ply[played]
        wrong = np.flatnonzero(
            np.bincount(game - a, minlength=z - a) != np.diff(first_row[a : z + 1])
        )
        for k in wrong + a:
            count = first_row[k + 1] - first_row[k]
            yield f"game {k} has {count} rows, but another number of {what_has_rows(rows, only[k])}"
        if len(wrong):
            continue  # rows and moves of this block can't be laid side by side
        expected = {
            "game": game,
            "ply": ply,
            "to_play": colours[played],
            "outcome": colours[played] * winner[game],
        }
        expected = {name: np.repeat(values, rows.copies) for name, values in expected.items()}
        expected["move"] = symmetry.forward(rows.size)[: rows.copies, moves[played]].T.reshape(-1)
        if rows.plain:
            expected["symmetry"] = np.tile(np.arange(rows.copies), len(played))
        first = int(first_row[a]) * rows.copies
        for name, values in expected.items():
            found = rows.column(name, first, first + len(values))
            for k in np.flatnonzero(found != values):
                yield f"row {first + k}: {name} is {found[k]}, the game says {values[k]}"
        if rows.plain:
            yield from check_actions(rows, first, first + len(played) * rows.copies)


def what_has_rows(rows: Rows, only_ply: int) -> str:
    """What a game has rows for."""
    if only_ply != EVERY_PLY:
        return f"moves at ply {only_ply}"
    return "moves" if rows.file.passes else "moves that are no pass"


def check_actions(rows: Rows, first: int, stop: int) -> Problems:
    """Row and column each on the board: their point alone would not tell."""
    actions = rows.dataset("move")[first:stop]
    for k in np.flatnonzero(
        (actions >= rows.size).any(axis=1) & (to_points(actions, rows.size) < rows.size**2)
    ):
        yield f"row {first + k}: actions is {actions[k].tolist()}, off the board"


def blocks(offset: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of games with about `MOVES` moves each."""
    a, games = 0, len(offset) - 1
    while a < games:
        z = max(a + 1, int(np.searchsorted(offset, offset[a] + MOVES)))
        yield a, min(z, games)
        a = z


# --- planes


def check_planes(rows: Rows, chosen: np.ndarray, verdict: Verdict) -> Problems:
    games = rows.file.games
    first_row, identities, openings = (
        games[name][:] for name in ("first_row", "identity", "opening")
    )
    games_in_memory = Games(rows.file)
    for start in range(0, len(chosen), BLOCK):
        block = chosen[start : start + BLOCK]
        try:
            found = read_rows(rows.dataset("planes"), block)
        except DatasetError as error:
            span = f"the rows {block[0]} to {block[-1]}"
            yield f"planes of {span} can't all be read: {first_line(error)}"
            continue
        game = np.searchsorted(first_row, block // rows.copies, side="right") - 1
        edges = [0, *(np.flatnonzero(np.diff(game)) + 1).tolist(), len(block)]
        for a, z in pairwise(edges):
            g = int(game[a])
            record = games_in_memory.record(g)
            problem = record_problem(record) or identity_problem(
                record, int(identities[g]), int(openings[g])
            )
            if problem:
                yield f"game {g}: {problem}"
                continue
            skips = (block[a:z] // rows.copies - first_row[g]).tolist()
            expected = expected_planes(rows, record, skips, (block[a:z] % rows.copies).tolist())
            verdict.recomputed += z - a
            for k in np.flatnonzero((found[a:z] != expected).reshape(z - a, -1).any(axis=1)):
                difference = describe_difference(rows, found[a + k], expected[k])
                yield f"row {block[a + k]} (game {g}): {difference}"


def record_problem(record: GameRecord) -> str:
    """Why the record can't be replayed, or ''."""
    legal, why = REPLAYER.legal_moves(record)
    return "" if why == SOUND else find_problem(record, legal, why).detail


def identity_problem(record: GameRecord, stored: int, stored_opening: int) -> str:
    if identity(record) != stored:
        return "its identity is not that of its moves"
    return (
        "" if opening_identity(record) == stored_opening else "its opening is not that of its moves"
    )


def expected_planes(
    rows: Rows, record: GameRecord, skips: Sequence[int], turns: Sequence[int]
) -> np.ndarray:
    """The planes of some positions of a legal game, as the layout has them.

    `skips` are the positions, increasing; `turns` the symmetry of each.
    """
    features, passes = rows.file.features, rows.file.passes
    first, count = skips[0], skips[-1] - skips[0] + 1
    packed = np.zeros((count, record.size**2, features.row_bytes), np.uint8)
    plies = np.zeros(count, np.int16)
    encoder = game_encoder_of(features, record.size)
    encoder.encode(record, packed, plies, skip=first, passes=passes)
    chosen = packed[np.array(skips) - first]
    sources = symmetry.backward(record.size)[np.array(turns), : record.size**2]  # [rows, points]
    turned = np.take_along_axis(chosen, sources[:, :, None].astype(np.int64), axis=1)
    return unpack(turned, record.size, features.planes) if rows.plain else turned


def describe_difference(rows: Rows, found: np.ndarray, expected: np.ndarray) -> str:
    """Which planes, and where."""
    names = rows.file.features.plane_names
    ours, theirs = (
        planes if rows.plain else unpack(planes, rows.size, len(names))
        for planes in (found, expected)
    )
    parts = []
    for plane in np.flatnonzero((ours != theirs).reshape(len(names), -1).any(axis=1)):
        points = np.flatnonzero(ours[plane] != theirs[plane])
        where = " ".join(to_gtp(int(point), rows.size) for point in points[:4])
        parts.append(f"{names[plane]} at {where}{' ...' if len(points) > 4 else ''}")
    more = f" and {len(parts) - 4} more planes" if len(parts) > 4 else ""
    return f"planes differ: {', '.join(parts[:4])}{more}"
