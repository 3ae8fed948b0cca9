"""What is in a dataset: its counts, one position drawn, or a verdict: `python
pipelines/inspect_dataset.py dataset=kgs.h5`.
"""

import json
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
import numpy as np
from omegaconf import DictConfig
from rich.text import Text

from data.base.visible_text import visible
from data.base.words import count_of
from data.dataset.game_list import write_list
from data.dataset.rows import InspectionError, Rows, open_dataset
from data.dataset.summary import summarise
from data.game.coords import COLOUR_NAMES, to_gtp
from data.records.metadata import from_rank
from pipelines.drawing.text_boards import bar, feature_lines, feature_names, shades, side_by_side
from pipelines.shell.configuration import plain
from pipelines.shell.console import bold, console, make_table
from pipelines.shell.script import script

# What needs compiled code or Matplotlib is imported where it is used: counts alone should be there
# at once.
if TYPE_CHECKING:
    from data.dataset.check import Verdict
    from data.dataset.sample import Sample

BAR = 28  # letters
PIPED = 84  # letters where there is no terminal: two boards beside each other
LISTED = 10  # entries of a histogram that has no order of its own; the rest is summed up
EXPORTS = ("png", "sgf")  # of one position
EXAMPLES = {"png": "sample.png", "sgf": "sample.sgf", "games": "games.csv"}


def run(cfg: DictConfig) -> dict[str, Any]:
    """Show what is asked for, and return it as plain values."""
    options = plain(cfg)
    check(options)
    file = open_dataset(options["dataset"])
    try:
        rows = Rows(file)
        rows.bounds(options["split"])
        found: dict[str, Any] = {}
        seed = options["seed"] if options["seed"] is not None else secrets.randbits(31)
        if options["sample"] is not None:
            found["sample"] = show_sample(rows, options, seed)
        if options["verify"]:
            found["verdict"] = show_verdict(rows, options, seed)
        if options["games"] is not None:
            found["games"] = show_list(rows, to_path(options["games"]))
        if not found:
            found["summary"] = summarise(rows)
            show_summary(found["summary"])
        return found
    finally:
        file.close()


def check(options: dict[str, Any]) -> None:
    """What can be said without looking at the file."""
    feature_names(options["planes"])
    if options["seed"] is not None and (type(options["seed"]) is not int or options["seed"] < 0):
        raise InspectionError(f"seed={options['seed']}: a whole number from 0 up, or null")
    if options["rows"] != "all" and (type(options["rows"]) is not int or options["rows"] < 1):
        raise InspectionError(f"rows={options['rows']}: a whole number from 1 up, or all")
    for key in ("verify", "overwrite"):
        if not isinstance(options[key], bool):
            raise InspectionError(f"{key}={options[key]}: true or false")
    for key in (*EXPORTS, "games"):
        if options[key] is not None:
            if options["sample"] is None and key in EXPORTS:
                raise InspectionError(
                    f"{key}={options[key]} is made from one position: say sample=0 or sample=random, too"
                )
            check_export(key, to_path(options[key]), options)


def check_export(key: str, path: Path, options: dict[str, Any]) -> None:
    if path.is_dir():
        raise InspectionError(
            f"{key}={path} is a folder; name a file in it, such as {path / EXAMPLES[key]}"
        )
    if path.exists() and path.samefile(to_path(options["dataset"])):
        raise InspectionError(f"{key}={path} is the dataset itself")
    if path.exists() and not options["overwrite"]:
        raise InspectionError(f"{key}={path} exists; name another file, or say overwrite=true")
    if not path.parent.is_dir() and key == "games":
        raise InspectionError(f"{key}={path}: there is no folder {path.parent}")


def to_path(text: Any) -> Path:
    return Path(str(text)).expanduser().absolute()


# --- counts


def show_summary(summary: dict[str, Any]) -> None:
    about = summary["about"]
    copies = (
        f", {about['symmetries']} symmetries of each position" if about["symmetries"] > 1 else ""
    )
    console.print(bold(summary["path"]), soft_wrap=True)
    console.print(
        f"schema {about['schema']}, made by version {visible(about['version'])}, layout {about['layout']}{copies}, "
        f"{about['size']}x{about['size']}, {about['planes']} planes"
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
    show_splits(summary)
    for title, values in (
        ("Moves a game", summary["lengths"]),
        ("Komi", top(summary["komi"])),
        ("Handicap", summary["handicap"]),
        ("Results", summary["results"]),
        ("Winners", summary["winners"]),
        ("Players' ranks", summary["ranks"]),
        ("Rules", top(summary["rules"])),
    ):
        show_histogram(title, values)
    show_moves(summary)
    dates = (
        f"from {visible(summary['first_date'])} to {visible(summary['last_date'])}; "
        if summary["first_date"]
        else ""
    )
    console.print(
        f"{count_of(summary['games'], 'game')}, {dates}{summary['games_for_value']:,} may teach a value net; "
        f"{count_of(summary['cut_short'], 'game')} cut short; "
        f"handicap stones were put back in {summary['handicap_put_back']:,}"
    )


def is_minor(key: str) -> bool:
    """Settings that say how the work was done and guarded, not what came out; layout and size are
    told above.
    """
    return key.startswith(("limits.", "parts.")) or key in ("layout", "augment", "games.read.size")


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
    rest = sum(list(values.values())[LISTED:])
    return dict(list(values.items())[:LISTED]) | (
        {f"{len(values) - LISTED} others": rest} if rest else {}
    )


def show_moves(summary: dict[str, Any]) -> None:
    """Where moves are played in each phase: a table by the line from the edge, and two heat maps."""
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
    console.print("\n".join(side_by_side(maps, width())), no_wrap=True)
    console.print("each shade covers a fifth of the points, the darkest one those played most\n")


# --- one position


def show_sample(rows: Rows, options: dict[str, Any], seed: int) -> dict[str, Any]:
    from data.dataset.sample import take_sample
    from data.game.board import draw

    sample = take_sample(rows, rows.choose(options["sample"], options["split"], seed))
    written = [  # before anything is shown: what can't be written is then the only line
        export(to_path(options[key]), write, sample, rows)
        for key, write in (("png", write_png), ("sgf", write_sgf))
        if options[key] is not None
    ]
    for line in facts(sample, rows):
        console.print(visible(line))
    board = sample.colours()
    if board.flat[sample.move] == 0:
        board.flat[sample.move] = sample.to_play
    console.print(f"\n{draw(board, last=sample.move)}\n")
    console.print(
        f"X Black, O White; the move is in brackets, what it captures still there{last_move(sample)}\n"
    )
    lines = feature_lines(
        sample.planes, feature_names(options["planes"]), width(), ascii_only=ascii_only()
    )
    if lines:
        console.print("\n".join(lines), no_wrap=True)
    if sample.problem:
        console.print(Text.assemble(("not sound:", "red"), f" {visible(sample.problem)}"))
    for path in written:
        console.print(f"wrote {path}")
    return {
        "row": sample.row, "split": sample.split, "game": sample.game, "ply": sample.ply, "move": sample.move,
        "to_play": sample.to_play, "outcome": sample.outcome, "symmetry": sample.symmetry, "problem": sample.problem,
    }  # fmt: skip


def facts(sample: "Sample", rows: Rows) -> list[str]:
    record = sample.record
    about = [record.date, record.event, record.rules and f"{record.rules} rules"]
    about += ["komi unknown" if record.komi != record.komi else f"komi {record.komi:g}"]
    about += [
        f"handicap {record.handicap}" if record.handicap else "",
        f"result {record.result}",
        f"{len(record.moves)} moves",
    ]
    turned = f", turned by symmetry {sample.symmetry}" if rows.copies > 1 else ""
    return [
        f"row {sample.row} of {rows.count:,}, {sample.split}; game {sample.game}{turned}",
        record.source,
        f"{player(record.black_name, record.black_rank)} (Black) against {player(record.white_name, record.white_rank)} (White)",
        ", ".join(text for text in about if text),
        f"move {sample.ply + 1}: {COLOUR_NAMES[sample.to_play]} {to_gtp(sample.move, sample.size)}; {outcome(sample)}",
    ]


def player(name: str, rank: int) -> str:
    return f"{name or 'unknown'}{' ' + from_rank(rank) if rank else ''}"


def outcome(sample: "Sample") -> str:
    winner = COLOUR_NAMES.get(sample.outcome * sample.to_play)
    return f"{winner} won, outcome {sample.outcome:+d}" if winner else "drawn or unknown, outcome 0"


def last_move(sample: "Sample") -> str:
    last = sample.last_move()
    return "" if last is None else f"; the move before was {to_gtp(last, sample.size)}"


def write_png(path: Path, sample: "Sample", rows: Rows) -> None:
    from pipelines.drawing.plane_sheet import write_sheet

    lines = facts(sample, rows)
    write_sheet(
        path, sample.colours(), sample.planes, sample.move, sample.to_play,
        last=sample.last_move(), title=f"{rows.file.path.name}   {lines[0]}", facts=lines[1:],
    )  # fmt: skip


def write_sgf(path: Path, sample: "Sample", rows: Rows) -> None:
    from data.records.sgf_writer import write_game

    note = f"The sample: {facts(sample, rows)[0]} of {rows.file.path.name}. {outcome(sample)}."
    path.write_text(write_game(sample.record, {sample.ply: note}), encoding="utf-8")


def export(
    path: Path, write: Callable[[Path, "Sample", Rows], None], sample: "Sample", rows: Rows
) -> Path:
    """Under a temporary name first, so that nothing half-written is left."""
    temporary = path.with_name(f".tmp-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(temporary, sample, rows)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InspectionError(f"{path} can't be written: {error.strerror or error}") from None
    return path


def show_list(rows: Rows, path: Path) -> dict[str, Any]:
    count = write_list(path, rows)
    console.print(f"wrote {path}: {count:,} games")
    return {"path": str(path), "count": count}


# --- the verdict


def show_verdict(rows: Rows, options: dict[str, Any], seed: int) -> dict[str, Any]:
    from data.dataset.check import verify

    sample = None if options["rows"] == "all" else options["rows"]
    verdict = verify(rows, sample=sample, seed=seed, split=options["split"])
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
            f"all that follows from the moves agrees: the change is in names, dates, results or the like{drawn}"
        )
    if not verdict.sealed:
        console.print(
            "made before checksums were written: names, dates, komi and other facts that no move tells can't be compared"
        )
    return {
        "sound": verdict.sound, "count": verdict.count, "problems": verdict.problems,
        "rows": verdict.rows, "recomputed": verdict.recomputed, "seed": seed, "checksum": verdict.sealed,
    }  # fmt: skip


def verdict_line(rows: Rows, verdict: "Verdict", seed: int, chosen: bool) -> str:
    what = f"planes of {verdict.recomputed:,} rows{f' (seed {seed})' if chosen else ''}, {verdict.seconds:.1f} s"
    if verdict.sound:
        return f"{rows.file.path}: sound; {verdict.games:,} games, labels of {verdict.rows:,} rows, {what}"
    return f"{rows.file.path}: NOT SOUND, {verdict.count:,} problem{'s' * (verdict.count != 1)}; {what}"


def ascii_only() -> bool:
    return console.options.ascii_only


def width() -> int:
    return console.width if console.is_terminal else PIPED


@script("inspect_dataset")
def main(cfg: DictConfig) -> None:
    found = run(cfg)
    if (
        not found.get("verdict", {"sound": True})["sound"]
        or found.get("sample", {"problem": ""})["problem"]
    ):
        sys.exit(1)


if __name__ == "__main__":
    main()
