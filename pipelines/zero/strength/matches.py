"""Matches of a run: their folders, the games that are missing, and the rows that they become.

A finished game is a line of results.jsonl and an SGF file in the folder, and is never played
again. A folder that holds a match with other sides or rules is emptied.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from data.base.atomic import write_text
from data.base.errors import first_line
from data.base.text import count_of
from pipelines.matches.fixtures import Contestant, Fixture, MatchError, draw_fixtures
from pipelines.matches.folder import keep_game, read_results
from pipelines.matches.games import GameRules
from pipelines.matches.summary import distinct, is_fault
from pipelines.zero.report import MatchReport
from pipelines.zero.strength.sides import Side
from pipelines.zero.strength.tasks import Finished, MatchTask, play_apart

# Yields the results of a function for every task, in any order, as `data.build.executors.run` does.
Gather = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
Say = Callable[[str], None]
# Told of the games of all matches that are over, of all there are, and of who plays.
Matching = Callable[[int, int, str], None]


def untold(done: int, of: int, opponent: str) -> None:
    pass


@dataclass(frozen=True)
class Match:
    """A match between a net of the run (side 0) and somebody else."""

    round: int
    opponent: str  # as in `MatchReport`
    strength: int
    simulations: int
    names: tuple[str, str]
    sides: tuple[Side, Side]
    rules: GameRules
    games: int
    opening: int  # random moves
    seed: int

    @property
    def folder(self) -> str:
        return f"{self.round:06}/{self.opponent}_{self.strength}"

    @property
    def contestants(self) -> list[Contestant]:
        return [Contestant(name, ()) for name in self.names]

    def fixtures(self) -> list[Fixture]:
        """Return the games; two in a row have one opening, with colours swapped."""
        return list(
            draw_fixtures(
                self.contestants,
                self.rules.size,
                games=self.games,
                opening_moves=self.opening,
                seed=self.seed,
            )
        )


class Course:
    """A match as it is played: what is finished, and what is left."""

    def __init__(self, match: Match, folder: Path, say: Say):
        self.match, self.folder, self.say = match, folder, say
        self.done = begin(folder, match, say)
        self.fixtures = {fixture.number: fixture for fixture in match.fixtures()}
        self.failed = ""
        if left := len(self.left()):
            there = len(self.fixtures) - left
            before = f", {there} of them played before" if there else ""
            games = count_of(len(self.fixtures), "game")
            say(f"{match.names[0]} - {match.names[1]}: {games}{before}")

    def left(self) -> list[Fixture]:
        return [one for one in self.fixtures.values() if one.key not in self.done]

    def tasks(self, together: int) -> Iterator[MatchTask]:
        """Yield the games that are left; no more once one could not be played."""
        match, left = self.match, self.left()
        for k in range(0, len(left), together):
            some = tuple(left[k : k + together])
            seed = match.seed + match.round  # games differ from match to match, openings do not
            if not self.failed:
                yield MatchTask(match.folder, match.sides, match.names, match.rules, some, seed)

    def keep(self, finished: Finished) -> None:
        today = date.today().isoformat()
        for number, played in finished.games:
            line = keep_game(
                self.folder,
                self.fixtures[number],
                self.match.contestants,
                self.match.rules,
                played,
                today,
            )
            self.done[line["key"]] = line
        self.failed = self.failed or finished.failed

    def report(self) -> MatchReport | None:
        """Return the row; None, and a line for people, if not all games could be played."""
        failed, report = self.failed, None
        if not failed:
            lines = [self.done[fixture.key] for fixture in self.fixtures.values()]
            report = to_report(self.match, lines, self.say)
            failed = "" if report.games else "faults decided all games"
        if failed:
            self.say(f"{self.match.names[0]} - {self.match.names[1]}: not played: {failed}")
        return None if failed else report


def play(
    matches: Iterable[Match],
    folder: Path,
    gather: Gather,
    say: Say,
    *,
    function: Callable[[MatchTask], Finished] = play_apart,
    together: int = 1,
    matching: Matching = untold,
) -> list[MatchReport]:
    """Play the games that `folder` does not have yet; `together` of them are a task.

    Games of all matches are handed out at once: nobody waits for the last game of one match. A
    match that can't be played is told and left out. Raises what `gather` raises; games that were
    finished before are kept.
    """
    courses = {match.folder: Course(match, folder / match.folder, say) for match in matches}
    waiting = (task for course in courses.values() for task in course.tasks(together))
    opponents = " and ".join(course.match.names[1] for course in courses.values())
    of = sum(len(course.fixtures) for course in courses.values())
    if any(course.left() for course in courses.values()):
        matching(sum(len(course.done) for course in courses.values()), of, opponents)
        for finished in gather(function, waiting):
            courses[finished.match].keep(finished)
            matching(sum(len(course.done) for course in courses.values()), of, opponents)
    reports = (course.report() for course in courses.values())
    return [report for report in reports if report is not None]


def begin(folder: Path, match: Match, say: Say) -> dict[str, dict[str, Any]]:
    """Make the folder of a match, and return its finished games by key.

    What is there of another match, or can't be read, is removed.
    """
    about = {
        "sides": [
            asdict(side) | {"name": name}  # type: ignore[call-overload]
            for side, name in zip(match.sides, match.names, strict=True)
        ],
        "rules": asdict(match.rules),
        "opening": match.opening,
        "seed": match.seed,
    }
    text = json.dumps(about, indent=1, ensure_ascii=False, default=str) + "\n"
    file = folder / "match.json"
    try:
        if file.exists() and file.read_text(encoding="utf-8") == text:
            return read_results(folder / "results.jsonl")
        why = "a match with other settings was begun there"
    except (MatchError, UnicodeDecodeError) as error:
        why = first_line(error)
    if file.exists():
        say(f"{folder}: {why}; it is played anew")
        shutil.rmtree(folder)
    (folder / "games").mkdir(parents=True, exist_ok=True)
    write_text(file, text)
    return {}


def to_report(match: Match, lines: list[dict[str, Any]], say: Say) -> MatchReport:
    """Return the row of a match.

    A game that the opponent lost by a fault is told, and is not one of the games: it says nothing
    of the net.
    """
    ours = match.names[0]
    faults = [line for line in lines if is_fault(line) and line["points"] == 1.0]
    for line in (line for line in lines if is_fault(line)):
        say(f"{line['key']}: {line['result']}, {line['why']}")
    sound = [line for line in lines if line not in faults]
    as_black = [line["points"] for line in sound if line["black"] == ours]
    points = [line["points"] for line in sound]
    return MatchReport(
        round=match.round,
        opponent=match.opponent,
        strength=match.strength,
        simulations=match.simulations,
        games=len(sound),
        won=points.count(1.0),
        drawn=points.count(0.5),
        seconds=sum(sum(line["seconds"].values()) for line in lines),
        as_black=len(as_black),
        won_as_black=as_black.count(1.0),
        lost_as_black=as_black.count(0.0),
        different=len(distinct(sound)),
        faults=len(faults),
    )
