"""From archives of game records to one HDF5 of 48-plane positions: `python pipelines/build_dataset.py source=games/ output=kgs.h5`."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from omegaconf import DictConfig  # noqa: E402  (the project's root must be on the path first)

from data.build_parts import GameOptions, ValueOptions  # noqa: E402
from data.builder import BuildError, BuildOptions, PartSizes, build, report_path  # noqa: E402
from data.executors import Executor  # noqa: E402
from data.filters import Filters  # noqa: E402
from data.members import Limits  # noqa: E402
from data.sgf import ReadOptions  # noqa: E402
from pipelines.console import BuildProgress, clock, console, make_table  # noqa: E402
from pipelines.wiring import plain, script  # noqa: E402


def run(cfg: DictConfig) -> dict[str, Any]:
    """Build, and return the report."""
    options = make_options(plain(cfg))
    report = build(options, BuildProgress())
    show(report, options.output)
    return report


def make_options(cfg: dict[str, Any]) -> BuildOptions:
    size = cfg["size"]
    if not isinstance(size, int) or not 2 <= size <= 19:
        raise BuildError(f"size={size}: whole numbers from 2 to 19 are possible")
    for key, choices in (("illegal", ("keep", "drop")), ("broken", ("keep", "drop"))):
        if cfg[key] not in choices:
            raise BuildError(f"{key}={cfg[key]}: one of {', '.join(choices)}")
    if cfg["handicap"]["implicit"] not in ("place", "reject"):
        raise BuildError(f"handicap.implicit={cfg['handicap']['implicit']}: place or reject")
    sources = cfg["source"] if isinstance(cfg["source"], list) else [cfg["source"]]
    try:
        filters = Filters(**{key: tuple(value) if isinstance(value, list) else value for key, value in cfg["filters"].items()})
    except ValueError as error:
        raise BuildError(str(error)) from None
    return BuildOptions(
        sources=tuple(str(source) for source in sources),
        output=Path(cfg["output"]).expanduser().absolute(),
        games=GameOptions(
            read=ReadOptions(size=size, implicit_handicap=cfg["handicap"]["implicit"], broken=cfg["broken"]),
            filters=filters,
            value=ValueOptions(**cfg["value"]),
            illegal=cfg["illegal"],
            validation=cfg["splits"]["validation"],
            test=cfg["splits"]["test"],
        ),
        limits=Limits(**cfg["limits"]),
        damaged=cfg["damaged"],
        layout=cfg["layout"],
        augment=cfg["augment"],
        level=cfg["compression"],
        parts=PartSizes(**cfg["parts"]),
        max_reject_rate=cfg["max_reject_rate"],
        overwrite=cfg["overwrite"],
        executor=make_executor(cfg["executor"]),
    )


def make_executor(cfg: dict[str, Any]) -> Executor:
    return Executor(kind=cfg["kind"], workers=cfg.get("workers", 0), address=cfg.get("address", ""))


def show(report: dict[str, Any], output: Path) -> None:
    """The end of a build: what was kept, what was not and why, what came out."""
    for key, title in (("dropped", "Left out"), ("cut_short", "Cut short")):
        rows = [
            [reason, f"{entry['games']:,}", entry["meaning"], shorten(entry["examples"][0]) if entry["examples"] else ""]
            for reason, entry in report[key].items()
        ]
        if rows:
            table = make_table(title, ["reason", "games", "meaning", "for example"], rows)
            table.columns[2].justify = table.columns[3].justify = "left"
            console.print(table, "")
    splits = [[name, f"{report['games_by_split'][name]:,}", f"{count:,}"] for name, count in report["positions_by_split"].items()]
    console.print(make_table("Kept", ["split", "games", "positions"], splits), "")
    columns = [("handicap", "stones"), ("komi", "komi"), ("results", "result"), ("lengths", "moves")]
    for key, name in columns:
        top = list(report[key].items())[:10]
        console.print(f"{name + ':':8}" + "  ".join(f"{value} {count:,}" for value, count in top))
    console.print(f"value:  {report['games_for_value']:,} games may teach a value net")
    console.print(
        f"\n[bold]{output}[/bold]: {report['games_kept']:,} of {report['games_seen']:,} games, {report['positions']:,} positions, "
        f"{report['bytes'] / 1e6:,.1f} MB, {report['bytes_a_position']:g} bytes a position, "
        f"{clock(report['seconds'])} ({report['positions_a_second']:,} positions/s{', resumed' if report['resumed'] else ''})"
    )
    console.print(f"report: {report_path(output)}")
    console.print(f"next:   python pipelines/inspect_dataset.py dataset={output}")


def shorten(text: str, most: int = 90) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


@script("build_dataset")
def main(cfg: DictConfig) -> None:
    run(cfg)


if __name__ == "__main__":
    main()
