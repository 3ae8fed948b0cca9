"""The folder of a match: match.json describes it, results.jsonl has the finished games."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from data.base.atomic import write_text
from data.base.errors import first_line
from data.game.coords import BLACK, WHITE
from data.records.identity import identity
from data.records.sgf_writer import write_game
from pipelines.matches.fixtures import Contestant, Fixture, MatchError
from pipelines.matches.games import GameRules, Played, to_record
from pipelines.matches.options import MatchOptions
from pipelines.shell.console import console

# of a line of results.jsonl
RESULT_KEYS = {
    "key",
    "file",
    "first",
    "second",
    "black",
    "white",
    "result",
    "points",
    "why",
    "moves",
    "identity",
    "seconds",
    "slowest",
}


def prepare_folder(
    folder: Path,
    contestants: list[Contestant],
    rules: GameRules,
    options: MatchOptions,
    program: str,
) -> None:
    """Make the folder, or check that what is there belongs to the same match.

    Only the number of games may have grown. `program` is the version of this program.
    """
    about = {
        "contestants": [{"name": c.name, "command": list(c.command)} for c in contestants],
        "settings": {c.name: c.settings for c in contestants if c.settings},
        "rules": asdict(rules),
        "opening_moves": options.opening_moves,
        "seed": options.seed,
    }
    programs = [program]
    file = folder / "match.json"
    if file.exists():
        before = read_object(file.read_bytes(), str(file))
        # a setting that was not saved when that match began can't differ
        before = merged(json.loads(json.dumps(about)), before)
        changed = [key for key in about if before.get(key) != json.loads(json.dumps(about[key]))]
        if changed:
            raise MatchError(
                f"{folder} holds a match with other {', '.join(changed)} (see {file.name}); "
                "choose another output"
            )
        programs = before.get("programs", ["an unknown version"])
        if program not in programs:
            console.print(
                f"games so far were played by {', '.join(programs)}, the next ones are by {program}"
            )
            programs.append(program)
    (folder / "games").mkdir(parents=True, exist_ok=True)
    write_text(
        file, json.dumps(about | {"programs": programs}, indent=1, ensure_ascii=False) + "\n"
    )


def keep_game(
    folder: Path,
    fixture: Fixture,
    contestants: Sequence[Contestant],
    rules: GameRules,
    played: Played,
    today: str,
) -> dict[str, Any]:
    """Write the record of a game, then the line of results.jsonl that names it; return the line."""
    names = {
        BLACK: contestants[fixture.black].name,
        WHITE: contestants[fixture.white].name,
    }
    record = to_record(played, rules, names, fixture.key, today)
    file = folder / "games" / f"{fixture.number:05}.sgf"
    notes = {len(played.moves) - 1: played.why} if played.why and played.moves else {}
    write_text(file, write_game(record, notes))
    first_colour = BLACK if fixture.black == fixture.first else WHITE
    line = {
        "key": fixture.key,
        "file": f"games/{file.name}",
        "first": contestants[fixture.first].name,
        "second": contestants[fixture.second].name,
        "black": names[BLACK],
        "white": names[WHITE],
        "result": played.result,
        "points": (1 + first_colour * played.winner) / 2,
        "why": played.why,
        "moves": len(played.moves),
        "score": played.score,
        "area": played.area,
        "identity": f"{identity(record):016x}",
        "seconds": {names[colour]: round(played.seconds[colour], 2) for colour in names},
        "slowest": {names[colour]: round(played.slowest[colour], 2) for colour in names},
    }
    with (folder / "results.jsonl").open("a", encoding="utf-8") as results:
        results.write(json.dumps(line, ensure_ascii=False) + "\n")
        results.flush()
        os.fsync(results.fileno())
    return line


def read_results(file: Path) -> dict[str, dict[str, Any]]:
    """Return the finished games by key.

    A last line that a crash cut off is removed from the file: its game is played again.
    """
    if not file.exists():
        return {}
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        os.truncate(file, len(whole))
    games = [
        read_object(line, f"{file}, line {k}") for k, line in enumerate(whole.split(b"\n")[:-1], 1)
    ]
    for k, game in enumerate(games, 1):
        if not RESULT_KEYS <= game.keys():
            raise MatchError(
                f"{file}, line {k}: no finished game; take the line out, and that game is played "
                "again"
            )
    return {game["key"]: game for game in games}


def merged(now: Any, before: Any) -> Any:
    """Merge saved settings with today's.

    Saved values win, missing keys take today's value, except `nets`: a net that is not named there
    was missing.
    """
    if not isinstance(now, dict) or not isinstance(before, dict):
        return before
    told = {
        key: merged(value, before[key]) if key in before else value
        for key, value in now.items()
        if key != "nets"
    }
    nets = (
        {"nets": dict.fromkeys(now["nets"]) | before["nets"]}
        if "nets" in now and "nets" in before
        else {}
    )
    return before | told | nets


def read_object(content: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError as error:
        raise MatchError(
            f"{where}: damaged ({first_line(error)}); mend it, or choose another output"
        ) from None
    if not isinstance(found, dict):
        raise MatchError(f"{where}: not what a match writes there; choose another output")
    return found
