"""The counts of a dataset as tables and histograms: `show_summary`."""

import json
from typing import Any

import numpy as np
from rich.text import Text

from data.base.text import count_of, visible
from pipelines.drawing.text_boards import bar, shades, side_by_side
from pipelines.shell.console import ascii_only, bold, console, make_table, text_width

BAR = 28  # letters
LISTED = 10  # entries of a histogram that has no order of its own; the rest is summed up


def show_summary(summary: dict[str, Any]) -> None:
    """Show the counts of a dataset."""
    show_origin(summary)
    show_splits(summary)
    for title, values in (
        ("Moves a game", summary["lengths"]),
        ("Komi", top(summary["komi"])),
        ("Handicap", summary["handicap"]),
        ("Results", summary["results"]),
        ("Winners", summary["winners"]),
        ("Players' ranks", summary["ranks"]),
        ("Rules", top(summary["rules"])),
        ("Played at", top(summary["servers"])),
    ):
        show_histogram(title, values)
    show_moves(summary)
    dates = (
        f"from {visible(summary['first_date'])} to {visible(summary['last_date'])}; "
        if summary["first_date"]
        else ""
    )
    console.print(
        f"{count_of(summary['games'], 'game')}, {dates}{summary['games_for_value']:,} may teach "
        "a value net; "
        f"{count_of(summary['cut_short'], 'game')} cut short; "
        f"handicap stones were put back in {summary['handicap_put_back']:,}"
    )


def show_origin(summary: dict[str, Any]) -> None:
    """Show what the file is, and what it was made from."""
    about = summary["about"]
    copies = (
        f", {about['symmetries']} symmetries of each position" if about["symmetries"] > 1 else ""
    )
    console.print(bold(summary["path"]), soft_wrap=True)
    console.print(
        f"schema {about['schema']}, made by version {visible(about['version'])}, layout "
        f"{about['layout']}{copies}, "
        f"{about['size']}x{about['size']}, {about['planes']} planes of {about['features']}"
        f"{', passes have rows' if about['passes'] else ''}"
    )
    console.print(
        f"{summary['bytes'] / 1e6:,.1f} MB, {summary['bytes_a_position']:g} bytes a position, "
        f"of these {summary['bytes_of_planes'] / max(1, summary['positions']):.1f} for planes\n"
    )
    sources = [
        [visible(label), digest[:12]] for label, digest in list(summary["sources"].items())[:20]
    ]
    console.print(make_table("Sources", ["file", "sha256"], sources, text=2), "")
    if len(summary["sources"]) > len(sources):
        console.print(f"and {len(summary['sources']) - len(sources)} more sources\n")
    config = {
        key.removeprefix("games."): value
        for key, value in summary["config"].items()
        if not is_minor(key)
    }
    settings = "  ".join(
        f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in config.items()
    )
    console.print(f"Made with {visible(settings)}\n")


def is_minor(key: str) -> bool:
    """Whether a setting says how the work was done, not what came out, or is shown elsewhere."""
    elsewhere = ("layout", "augment", "features", "games.passes", "games.read.size")
    return key.startswith(("limits.", "parts.")) or key in elsewhere


def show_splits(summary: dict[str, Any]) -> None:
    rows = max(1, summary["rows"])
    lines = [
        [name, f"{split['games']:,}", f"{split['rows']:,}", f"{split['rows'] / rows:.1%}"]
        for name, split in summary["splits"].items()
    ]
    lines.append(["all", f"{summary['games']:,}", f"{summary['rows']:,}", ""])
    unit = "positions" if summary["rows"] == summary["positions"] else "rows"
    console.print(make_table("Splits", ["", "games", unit, ""], lines), "")


def show_histogram(title: str, values: dict[str, int]) -> None:
    total, most = max(1, sum(values.values())), max([1, *values.values()])
    table = make_table(title, ["", "", "", ""], [])
    table.show_header = False
    table.columns[0].justify, table.columns[3].justify = "right", "left"
    for name, count in values.items():
        letters = bar(count / most, BAR, ascii_only=ascii_only())
        table.add_row(visible(name), f"{count:,}", f"{count / total:.1%}", Text(letters, "cyan"))
    console.print(table, "")


def top(values: dict[str, int]) -> dict[str, int]:
    """Keep the first entries, and sum up the others."""
    rest = sum(list(values.values())[LISTED:])
    return dict(list(values.items())[:LISTED]) | (
        {f"{len(values) - LISTED} others": rest} if rest else {}
    )


def show_moves(summary: dict[str, Any]) -> None:
    """Show where moves are played: a table by the line from the edge, and two heat maps."""
    lines = []
    for phase, counts in summary["moves_by_line"].items():
        total = sum(counts)
        if total:
            lines.append([phase, f"{total:,}", *(f"{count / total:.1%}" for count in counts)])
    names = ["moves", "number", "1st line", "2nd", "3rd", "4th", "centre", "passes"]
    console.print(make_table("Where moves are played", names, lines), "")
    first = next(name for name in summary["heat"] if name != "all")
    maps = [
        shades(title, np.array(summary["heat"][key]), ascii_only=ascii_only())
        for title, key in ((f"Moves {first}", first), ("All moves", "all"))
    ]
    console.print("\n".join(side_by_side(maps, text_width())), no_wrap=True)
    console.print("each shade covers a fifth of the points, the darkest one those played most\n")
