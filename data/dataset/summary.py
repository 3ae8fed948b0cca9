"""Count what a dataset holds: `summarise` returns plain values, ready for printing or JSON.

Everything comes from the *games* half and the attributes. No plane is read, and both layouts are
counted in the same way.
"""

from collections import Counter
from typing import Any

import numpy as np

from data.dataset.game_table import no_moves
from data.dataset.layout import SCHEMA
from data.dataset.rows import InspectionError, Rows
from data.game.coords import PASS
from data.records.filters import RESULT_KINDS, result_kind

LENGTHS = 50  # moves in a bin of the histogram
PHASES = ((0, 20), (20, 60), (60, 120), (120, 200), (200, None))  # plies; the last one has no end
MOVES = 1 << 20  # moves in memory at once

Histogram = dict[str, int]


def summarise(rows: Rows) -> dict[str, Any]:
    file = rows.file
    games = file.games
    size = file.path.stat().st_size
    heat, lines = count_moves(rows)  # first, since it checks the offsets
    dates = [date for date in file.column("date").tolist() if date]
    return {
        "path": str(file.path),
        "about": {
            "schema": SCHEMA,
            "version": str(file.attributes.get("version", "unknown")),
            "layout": file.layout,
            "symmetries": rows.copies,
            "size": file.size,
            "features": file.features.name,
            "planes": file.features.planes,
            "passes": file.passes,
        },
        "sources": {source["label"]: source["sha256"] for source in file.sources},
        "config": flat(file.config),
        "bytes": size,
        "bytes_a_position": round(size * rows.copies / max(1, rows.count), 2),
        "bytes_of_planes": rows.dataset("planes").stored_bytes(),
        "games": len(games["split"]),
        "rows": rows.count,
        "positions": rows.count // rows.copies,
        "splits": {
            name: {"games": stop - first, "rows": rows.bounds(name)[1] - rows.bounds(name)[0]}
            for name, (first, stop) in file.split_games.items()
        },
        "games_for_value": int(np.count_nonzero(games["value"][:])),
        "handicap_put_back": int(np.count_nonzero(games["implicit_handicap"][:])),
        "cut_short": int(np.count_nonzero(file.column("cut") != "")),
        "first_date": min(dates, default=""),
        "last_date": max(dates, default=""),
        "lengths": lengths(np.diff(games["offset"][:])),
        "komi": by_count(
            f"{value:g}" if value == value else "unknown" for value in games["komi"][:].tolist()
        ),
        "handicap": numbers(games["handicap"][:]),
        "results": in_order(
            Counter(map(result_kind, file.column("result").tolist())), RESULT_KINDS
        ),
        "winners": {
            name: int(np.count_nonzero(games["winner"][:] == colour))
            for name, colour in (("Black", 1), ("White", -1), ("nobody or unknown", 0))
        },
        "ranks": ranks(np.concatenate([games["black_rank"][:], games["white_rank"][:]])),
        "servers": by_count(server or "unknown" for server in file.column("server").tolist()),
        "rules": by_count(rule or "unknown" for rule in file.column("rules").tolist()),
        "moves_by_line": lines,
        "heat": heat,
    }


def count_moves(rows: Rows) -> tuple[dict[str, list[list[int]]], dict[str, list[int]]]:
    """Return how often each point was played, and how often each line from the edge.

    Both by phase of the game: [size, size] a phase, and lists of lines with passes at the end.
    """
    games, size = rows.file.games, rows.size
    offset = rows.file.offsets("offset", "moves")
    counts = np.zeros((len(PHASES), PASS + 1), np.int64)
    for start in range(0, int(offset[-1]), MOVES):
        moves = games["moves"][start : start + MOVES].astype(np.int64)
        if no_moves(moves, size).any():
            raise InspectionError(
                f"{rows.file.path}: damaged, games/moves has points off the board; "
                "verify=true tells more"
            )
        at = np.arange(start, start + len(moves))
        ply = at - offset[np.searchsorted(offset, at, side="right") - 1]
        phase = np.searchsorted([first for first, _ in PHASES], ply, side="right") - 1
        counts += np.bincount(phase * (PASS + 1) + moves, minlength=counts.size).reshape(
            counts.shape
        )
    maps = counts[:, : size**2].reshape(-1, size, size)
    edge = np.minimum(np.arange(size), np.arange(size)[::-1])
    # from 0; 4 is the fifth and all within
    line = np.minimum(np.minimum(edge[:, None], edge[None, :]), 4)
    names = [f"{first + 1}-{last}" if last else f"{first + 1}-" for first, last in PHASES]
    heat = {"all": maps.sum(axis=0).tolist()} | {
        name: maps[k].tolist() for k, name in enumerate(names)
    }
    lines = {
        name: [
            *np.bincount(line.ravel(), maps[k].ravel(), minlength=5).astype(int).tolist(),
            int(counts[k, PASS]),
        ]
        for k, name in enumerate(names)
    }
    return heat, lines


def lengths(moves: np.ndarray) -> Histogram:
    """Numbers of moves, in bins of `LENGTHS`."""
    bins = np.bincount(moves // LENGTHS)
    return {f"{k * LENGTHS}-{(k + 1) * LENGTHS - 1}": int(count) for k, count in enumerate(bins)}


def ranks(values: np.ndarray) -> Histogram:
    """Players by rank: kyu in tens, each amateur dan, professionals together."""
    groups = {"30k-21k": (-30, -21), "20k-11k": (-20, -11), "10k-1k": (-10, -1)}
    groups |= {f"{dan}d": (dan, dan) for dan in range(1, 10)} | {
        "professional": (11, 19),
        "unknown": (0, 0),
    }
    counted = {
        name: int(((values >= low) & (values <= high)).sum())
        for name, (low, high) in groups.items()
    }
    return {name: count for name, count in counted.items() if count}


def numbers(values: np.ndarray) -> Histogram:
    return {
        str(value): int(count)
        for value, count in zip(*np.unique(values, return_counts=True), strict=True)
    }


def by_count(values: Any) -> Histogram:
    return dict(Counter(values).most_common())


def in_order(counts: Counter[str], names: tuple[str, ...]) -> Histogram:
    return {name: counts[name] for name in names if counts[name]}


def flat(config: Any, name: str = "") -> dict[str, Any]:
    """The configuration with keys such as `games.read.size`, without empty values."""
    if isinstance(config, dict):
        found: dict[str, Any] = {}
        for key, value in config.items():
            found |= flat(value, f"{name}.{key}" if name else key)
        return found
    return {} if config is None else {name: config}
