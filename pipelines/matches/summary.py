"""The result of a match: rates with intervals, Elo, faults; as tables, JSON and charts.

Games are lines of results.jsonl: points are those of a pair's first player, 1, 0.5 or 0.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from data.base.text import count_of
from mcts.play.clock import describe
from pipelines.drawing.matches import FEWEST, ratings, running_rates
from pipelines.matches.games import GameRules
from pipelines.matches.scores import (
    VIRTUAL,
    Interval,
    bradley_terry,
    elo_difference,
    groups,
    wilson,
    win_matrix,
)
from pipelines.shell.console import console, make_table

FAULTS = ("T", "F")  # last letters of results that an engine's fault decided

PLAYER_COLUMNS = ["", "games", "points", "won (95%)", "Elo (95%)", "s/move", "slowest", "faults"]
PAIR_COLUMNS = ["pair (points of the first)", "games", "points", "draws", "won (95%)", "Elo"]
PAIR_COLUMNS += ["as Black", "as White", "moves"]


def summarise(
    games: list[dict[str, Any]], names: Sequence[str], rules: GameRules
) -> dict[str, Any]:
    """Return the result of a match.

    A game that repeats another one of the same players, or mirrors it, counts once.
    """
    names = list(names)
    played, games = len(games), distinct(games)
    results = [
        (names.index(game["first"]), names.index(game["second"]), game["points"]) for game in games
    ]
    wins = win_matrix(results, len(names))
    board = f"{rules.size}x{rules.size}, komi {rules.komi:g}"
    return {
        "games": len(games),
        "rules": f"{board}, {describe(rules.time)}, counted by {rules.referee}",
        "duplicates": played - len(games),
        "pairs": [
            pair_summary(games, *pair)
            for pair in combinations(names, 2)
            if any(is_of(game, *pair) for game in games)
        ],
        "players": [player_summary(games, wins, k, names) for k in range(len(names))],
        "elo": fit(wins, names),
        "faults": [
            f"{game['key']}: {game['result']}, {game['why']}" for game in games if is_fault(game)
        ],
        "disputed": sum("if all stones were alive" in game["why"] for game in games),
    }


def distinct(games: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first one of each; faults are always new."""
    seen: set[tuple[str, ...]] = set()
    found = []
    for game in games:
        key = (game["identity"], game["black"], game["white"], game["result"])
        if key not in seen or is_fault(game):
            found.append(game)
        seen.add(key)
    return found


def is_fault(game: dict[str, Any]) -> bool:
    return bool(game["result"][-1] in FAULTS)


def is_of(game: dict[str, Any], first: str, second: str) -> bool:
    return bool(game["first"] == first and game["second"] == second)


def pair_summary(games: list[dict[str, Any]], first: str, second: str) -> dict[str, Any]:
    ours = [game for game in games if is_of(game, first, second)]
    points = sum(game["points"] for game in ours)
    as_black = [game["points"] for game in ours if game["black"] == first]
    as_white = [game["points"] for game in ours if game["white"] == first]
    return {
        "first": first,
        "second": second,
        "games": len(ours),
        "points": points,
        "draws": sum(game["points"] == 0.5 for game in ours),
        "rate": asdict(wilson(points, len(ours))),
        "elo": finite(elo_difference(points, len(ours))),
        "as_black": [sum(as_black), len(as_black)],
        "as_white": [sum(as_white), len(as_white)],
        "moves": float(np.mean([game["moves"] for game in ours])),
    }


def player_summary(
    games: list[dict[str, Any]], wins: np.ndarray, k: int, names: list[str]
) -> dict[str, Any]:
    own = [game for game in games if names[k] in (game["black"], game["white"])]
    turns = sum(game["moves"] for game in own) / 2
    total = float(wins[k].sum() + wins[:, k].sum())
    return {
        "name": names[k],
        "games": len(own),
        "points": float(wins[k].sum()),
        "rate": asdict(wilson(float(wins[k].sum()), round(total))),
        "seconds_a_move": sum(game["seconds"][names[k]] for game in own) / turns if turns else 0.0,
        "slowest": max((game["slowest"][names[k]] for game in own), default=0.0),
        "faults": sum(
            is_fault(game) and game["result"][0] != ("B" if game["black"] == names[k] else "W")
            for game in own
        ),
    }


def fit(wins: np.ndarray, names: list[str]) -> dict[str, dict[str, float]]:
    """Elo by name; players that no games connect are fitted apart, each group with mean 0."""
    found: dict[str, dict[str, float]] = {}
    for group in groups(wins):
        if len(group) > 1:
            for k, elo in zip(group, bradley_terry(wins[np.ix_(group, group)]), strict=True):
                found[names[k]] = asdict(elo)
    return found


def show(summary: dict[str, Any]) -> None:
    """Print the tables of players and of pairs, and what else should be known."""
    title = f"{count_of(summary['games'], 'game')}, {summary['rules']}"
    console.print("", make_table(title, PLAYER_COLUMNS, player_lines(summary)), "")
    console.print(make_table("Pairs", PAIR_COLUMNS, pair_lines(summary)), "")
    if summary["elo"]:
        both = (
            f"Players are fitted as if each pair that met had won {VIRTUAL:g} games more either "
            "way; pairs by their games alone."
        )
        console.print(both)
    counts = (
        f"{summary['duplicates']} duplicate games, left out",
        f"{len(summary['faults'])} decided by a fault of an engine",
        f"{summary['disputed']} that dead stones decided",
    )
    console.print("; ".join(counts))
    for fault in summary["faults"][:10]:
        console.print(f"  {fault}", soft_wrap=True)


def player_lines(summary: dict[str, Any]) -> list[list[str]]:
    """Return a line for each player, the strongest first."""
    ratings = summary["elo"]
    unrated = {"value": 0.0}
    players = sorted(
        summary["players"], key=lambda row: -ratings.get(row["name"], unrated)["value"]
    )
    return [
        [
            row["name"],
            str(row["games"]),
            f"{row['points']:g}",
            percent(row["rate"]),
            difference(ratings[row["name"]]) if row["name"] in ratings else "-",
            f"{row['seconds_a_move']:.2f}",
            f"{row['slowest']:.1f}",
            str(row["faults"]),
        ]
        for row in players
    ]


def pair_lines(summary: dict[str, Any]) -> list[list[str]]:
    """Return a line for each pair, the most one-sided first."""
    return [
        [
            f"{p['first']} - {p['second']}",
            str(p["games"]),
            f"{p['points']:g}",
            str(p["draws"]),
            percent(p["rate"]),
            difference(p["elo"]),
            *(f"{p[side][0]:g}/{p[side][1]}" for side in ("as_black", "as_white")),
            f"{p['moves']:.0f}",
        ]
        for p in sorted(summary["pairs"], key=lambda p: -p["rate"]["value"])
    ]


def percent(rate: dict[str, float]) -> str:
    return f"{100 * rate['value']:.1f}% ({100 * rate['low']:.1f} to {100 * rate['high']:.1f})"


def difference(elo: dict[str, float | None]) -> str:
    # what JSON can't write is None there
    endless = {"value": "-∞" if elo["low"] is None else "+∞", "low": "-∞", "high": "+∞"}
    value, low, high = (
        endless[key] if elo[key] is None else f"{elo[key]:+.0f}" for key in ("value", "low", "high")
    )
    return f"{value} ({low} to {high})"


def finite(elo: Interval) -> dict[str, float | None]:
    """None for what no finite number of points could explain: JSON knows no infinity."""
    return {key: value if math.isfinite(value) else None for key, value in asdict(elo).items()}


def write_summary(
    folder: Path, summary: dict[str, Any], games: list[dict[str, Any]], names: Sequence[str]
) -> None:
    (folder / "summary.json").write_text(
        json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    games = distinct(games)
    if not games:
        return
    pairs = [
        (
            f"{p['first']} against {p['second']}",
            [game["points"] for game in games if is_of(game, p["first"], p["second"])],
        )
        for p in summary["pairs"]
    ]
    if max(len(points) for _, points in pairs) < FEWEST:
        (folder / "rates.png").unlink(missing_ok=True)
        console.print(f"no rates.png of fewer than {FEWEST} games a pair")
    else:
        running_rates(folder / "rates.png", pairs, summary["rules"])
    if len(names) > 2:
        rows = [
            (p["name"], Interval(**summary["elo"][p["name"]]), p["games"])
            for p in summary["players"]
            if p["name"] in summary["elo"]
        ]
        ratings(
            folder / "elo.png",
            sorted(rows, key=lambda row: -row[1].value),
            f"{summary['rules']}; whiskers are 95%",
        )
    console.print(f"table and games: {folder}", soft_wrap=True)
