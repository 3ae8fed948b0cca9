"""Estimates of ranks as tables, as a curve of letters, and as plain values."""

from collections.abc import Sequence
from typing import Any

from data.records.metadata import from_rank
from models.judging.ranks import MOST, RankEstimate
from pipelines.ranking.players import Player
from pipelines.shell.console import ascii_only, console, make_table

BAR = 24  # letters of the longest bar
LEAST = 0.005  # chances below it are not drawn

Estimated = tuple[Player, RankEstimate]


def place_in_words(step: float) -> str:
    """Return the rank at a place on the line of steps, such as `5.4d`, `0.6k` or `pro`."""
    if step > 9.5:
        return "pro"
    return f"{step:.1f}d" if step >= 0.5 else f"{1 - step:.1f}k"


def figures(estimated: Sequence[Estimated], ranks: Sequence[int], level: float) -> dict[str, Any]:
    """Return all estimates as plain values."""
    return {
        "level": level,
        "ranks": [from_rank(rank) for rank in ranks],
        "players": [
            {
                "name": player.name,
                "recorded": recorded(player),
                "games": player.games,
                "moves": len(player.log_likelihoods),
                "looks_like": from_rank(ranks[found.best]),
                "from": from_rank(ranks[found.low]),
                "to": from_rank(ranks[found.high]),
                "mean_step": found.step,
                "chances": found.chances.tolist(),
                "log_likelihoods": player.log_likelihoods.sum(0).tolist(),
            }
            for player, found in estimated
        ],
    }


def recorded(player: Player) -> str | None:
    """Return the ranks in the records, in the order of the games; None if there is none."""
    return ", ".join(dict.fromkeys(from_rank(rank) for rank in player.recorded if rank)) or None


def show(result: dict[str, Any]) -> None:
    """Print the table of players, and for each how likely the ranks are."""
    players = result["players"]
    rows = [
        [
            one["name"],
            one["recorded"] or "?",
            str(one["games"]),
            str(one["moves"]),
            one["looks_like"],
            f"{one['from']} to {one['to']}",
        ]
        for one in players
    ]
    heads = [
        "player",
        "recorded",
        "games",
        "moves",
        "looks like",
        f"{result['level']:.0%} interval",
    ]
    console.print(make_table("Which rank the moves look like", heads, rows), "")
    for one in players:
        console.print(f"{one['name']}: how likely each rank is", soft_wrap=True)
        for line in curve(result["ranks"], one):
            console.print(line)
        console.print()


def curve(ranks: Sequence[str], player: dict[str, Any]) -> list[str]:
    """Return a line a rank: a bar as long as its chance; estimate and recorded rank are marked."""
    chances = player["chances"]
    shown = [k for k, chance in enumerate(chances) if chance >= LEAST]
    bar, most = "#" if ascii_only() else "█", max(chances)
    lines = []
    for k in range(shown[0], shown[-1] + 1):
        marks = [
            text
            for text, here in (
                ("<- looks like", ranks[k] == player["looks_like"]),
                ("(recorded)", ranks[k] in (player["recorded"] or "").split(", ")),
            )
            if here
        ]
        length = max(round(BAR * chances[k] / most), 0)
        text = f"  {ranks[k]:>3} {bar * length:{BAR}} {chances[k]:6.1%} {' '.join(marks)}"
        lines.append(text.rstrip())
    return lines


def show_measured(result: dict[str, Any]) -> None:
    """Print how well the ranks of a dataset's players were estimated."""
    rows = [
        ["always naming the mean", "", f"{result['naming_the_mean']:.2f}", "", "", ""],
        *(
            [
                name,
                f"{way['temper']:.3f}" + (" (at its limit)" if at_limit(way) else ""),
                f"{way['error']:.2f}",
                f"{way['inside']:.0%}",
                f"{way['width']:.1f}",
                f"{way['correlation']:.2f}",
            ]
            for name, way in result["ways"].items()
        ),
    ]
    what = f"{result['players']:,} players of {result['games']:,} games, one game each"
    heads = ["prior", "temper", "mean error", "inside", "interval", "correlation"]
    console.print(make_table(what, heads, rows), "")
    names = list(result["ways"])
    lines = [
        [
            row["rank"],
            f"{row['players']:,}",
            *(
                text
                for name in names
                for text in (place_in_words(row[name]["named"]), f"{row[name]['error']:.2f}")
            ),
        ]
        for row in result["by_rank"]
    ]
    heads = ["true rank", "players"]
    heads += [head for name in names for head in (f"named on average\n{name}", "mean error")]
    console.print(make_table("By true rank", heads, lines), "")
    console.print(
        f"errors and intervals are in ranks, professionals one above 9 dan; the mean is "
        f"{place_in_words(result['mean'])}; inside: the true rank is in the "
        f"{result['level']:.0%} interval",
        soft_wrap=True,
    )
    if any(map(at_limit, result["ways"].values())):
        console.print(
            f"temper: no more than {MOST:g} is tried; at that limit the net hardly tells ranks "
            "apart, and the estimates mean little",
            soft_wrap=True,
        )


def at_limit(way: dict[str, Any]) -> bool:
    """Return whether the temper is as large as it can get."""
    return bool(way["temper"] > 0.999 * MOST)
