"""The page of one run: report.png and report.md, and tables on the console."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from data.base.atomic import replacing, write_text
from data.base.text import count_of
from pipelines.drawing.learning import PARTS, charts_of, learning
from pipelines.shell.console import console, make_table
from pipelines.zero.meanings import GROUPS, MEANINGS, as_table, in_words
from pipelines.zero.report import MatchReport, RoundReport
from pipelines.zero.telling.folder import Told
from pipelines.zero.telling.words import hours, opponent_of, percent, share_of

PICTURE, TEXT = "report.png", "report.md"
MOST = 5  # rounds beside each other in a table
STRENGTH = ["opponent", "matches", "first won by", "latest", "won", "as Black", "different"]
Written = tuple[list[str], list[list[str]]]  # head, rows


def report(told: Told, output: Path) -> dict[str, Any]:
    """Write the page of a run and show its tables; return what it found."""
    output.mkdir(parents=True, exist_ok=True)
    drawn = draw(told, output / PICTURE)
    write_text(output / TEXT, page(told, drawn=drawn))
    console.print(f"{told.folder.name}: {state(told)}")
    if told.matches:
        show("strength", strength(told.matches))
    if told.rounds:
        show("rounds", numbers(told.rounds))
        console.print(f"core-hours: {time_spent(told.rounds)}")
    for text in told.warnings.values():
        console.print(f"warning: {text}")
    console.print(f"{output}: {TEXT}{f', {PICTURE}' if drawn else ''}", soft_wrap=True)
    return {
        "rounds": len(told.rounds),
        "core_hours": told.core_hours,
        "warnings": told.warnings,
        "charts": drawn,
        "output": str(output),
    }


def show(title: str, table: Written) -> None:
    console.print(make_table(title, *table))
    console.print()


def draw(told: Told, path: Path) -> int:
    """Draw the charts; return how many. The picture of before goes if there are none."""
    if not charts_of((told.rounds, told.matches)):
        path.unlink(missing_ok=True)
        return 0
    names = ", ".join(told.warnings)
    subtitle = state(told) + (f"; warning: {names}" if names else "")
    with replacing(path) as temporary:
        return learning(temporary, told.folder.name, subtitle, told.rounds, told.matches)


def state(told: Told) -> str:
    """`100 of 200 rounds, 51,200 games, 9.74 core-hours`."""
    if not told.rounds:
        return "no round is over yet"
    last = told.rounds[-1]
    done = f"{last.round + 1:,} of {count_of(told.planned, 'round')}" if told.planned else ""
    done = done or count_of(last.round + 1, "round")
    return f"{done}, {count_of(last.games, 'game')}, {hours(last.core_hours)}"


def page(told: Told, *, drawn: int) -> str:
    """Return the page as Markdown."""
    parts = [f"# {told.folder.name}", f"{state(told)}."]
    if drawn:
        parts.append(f"![charts]({PICTURE})")
    if told.warnings:
        parts += ["## Warnings", "\n".join(f"- {text}" for text in told.warnings.values())]
    if told.matches:
        parts += ["## Strength", markdown(*strength(told.matches))]
    if told.rounds:
        parts += ["## Rounds", markdown(*numbers(told.rounds))]
        parts.append(f"Core-hours: {time_spent(told.rounds)}.")
    parts.append("## What the numbers mean")
    parts += [f"### {group.capitalize()}\n\n{as_table(group).rstrip()}" for group in GROUPS]
    return "\n\n".join(parts) + "\n"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


# --- tables


def strength(matches: Sequence[MatchReport]) -> Written:
    """Return a row for each opponent: who first won more than half, and the latest match."""
    found: dict[tuple[str, int], list[MatchReport]] = {}
    for match in sorted(matches, key=lambda match: (match.opponent != "gnugo", match.round)):
        key = (match.opponent, 0 if match.opponent == "before" else match.strength)
        found.setdefault(key, []).append(match)
    return STRENGTH, [strength_row(group) for group in found.values()]


def strength_row(group: Sequence[MatchReport]) -> list[str]:
    first = next((match for match in group if match.share > 0.5), None)
    last = group[-1]
    return [
        "the net before" if last.opponent == "before" else opponent_of(last),
        str(len(group)),
        net_of(first) if first else "",
        net_of(last),
        f"{percent(share_of(last))} of {last.games}",
        as_black(last),
        different(last),
    ]


def as_black(match: MatchReport) -> str:
    """`9 of 10, 1 lost`; '' of older files, which do not say it."""
    lost = f", {match.lost_as_black} lost" if match.lost_as_black else ""
    return f"{match.won_as_black} of {match.as_black}{lost}" if match.as_black else ""


def different(match: MatchReport) -> str:
    """`18 of 20`, the games that are no copies, and games that the opponent lost by a fault."""
    games = f"{match.different} of {match.games}" if match.different else ""
    faults = count_of(match.faults, "fault") if match.faults else ""
    return "; ".join(part for part in (games, faults) if part)


def net_of(match: MatchReport) -> str:
    """`net 31, 3.20 core-hours`."""
    return f"net {match.round}, {hours(match.core_hours)}"


def numbers(rounds: Sequence[RoundReport]) -> Written:
    """Return a row for each number that any of some rounds has."""
    last = len(rounds) - 1
    places = sorted({round(last * k / (MOST - 1)) for k in range(MOST)})
    chosen = [rounds[place] for place in places]
    head = ["round", *(str(row.round) for row in chosen)]
    return head, list(number_rows(chosen))


def number_rows(chosen: Sequence[RoundReport]) -> Iterator[list[str]]:
    for name in MEANINGS:
        cells = [in_words(name, getattr(row, name)) for row in chosen]
        if any(cells):
            yield [name, *cells]


def time_spent(rounds: Sequence[RoundReport]) -> str:
    """`self-play 82%, learning 11%, matches 5%, else 2%`."""
    spent = {
        name: sum(getattr(row, f"{part}_seconds") for row in rounds) for part, name in PARTS.items()
    }
    total = sum(spent.values())
    return ", ".join(f"{name} {part / total if total else 0:.0%}" for name, part in spent.items())
