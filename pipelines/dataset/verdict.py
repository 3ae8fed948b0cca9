"""Check a dataset and print the verdict: `show_verdict`."""

from typing import Any

from data.base.text import visible
from data.dataset.check import Verdict, verify
from data.dataset.rows import Rows
from pipelines.dataset.inspect_options import InspectOptions
from pipelines.shell.console import console


def show_verdict(rows: Rows, options: InspectOptions, seed: int) -> dict[str, Any]:
    """Compare the file with its own moves, show what differs, and return it."""
    sample = None if options.rows == "all" else options.rows
    verdict = verify(rows, sample=sample, seed=seed, split=options.split)
    for problem in verdict.problems:
        console.print(f"  {visible(problem)}")
    if verdict.count > len(verdict.problems):
        console.print(f"  and {verdict.count - len(verdict.problems):,} more")
    console.print(verdict_line(rows, verdict, seed, chosen=verdict.recomputed < rows.count))
    if verdict.changed and verdict.count == 1:
        drawn = (
            ""
            if verdict.recomputed == rows.count
            else ", or in planes of other rows (rows=all looks at them, too)"
        )
        console.print(
            "all that follows from the moves agrees: the change is in names, dates, results or "
            f"the like{drawn}"
        )
    if not verdict.sealed:
        console.print(
            "made before checksums were written: names, dates, komi and other facts that no move "
            "tells can't be compared"
        )
    return {
        "sound": verdict.sound,
        "count": verdict.count,
        "problems": verdict.problems,
        "rows": verdict.rows,
        "recomputed": verdict.recomputed,
        "seed": seed,
        "checksum": verdict.sealed,
    }


def verdict_line(rows: Rows, verdict: Verdict, seed: int, chosen: bool) -> str:
    """Return the last line: sound or not, and what was looked at."""
    drawn = f" (seed {seed})" if chosen else ""
    what = f"planes of {verdict.recomputed:,} rows{drawn}, {verdict.seconds:.1f} s"
    if verdict.sound:
        sizes = f"{verdict.games:,} games, labels of {verdict.rows:,} rows"
        return f"{rows.file.path}: sound; {sizes}, {what}"
    problems = f"{verdict.count:,} problem{'s' * (verdict.count != 1)}"
    return f"{rows.file.path}: NOT SOUND, {problems}; {what}"
