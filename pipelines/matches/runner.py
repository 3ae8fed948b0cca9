"""A match as it is played: workers take games from one queue, and each game is kept as it ends.

The folder of a match has an SGF of every game in games/, a line for each finished one in
results.jsonl, what the match is in match.json, and what engines print on standard error in a file
for each.
"""

import json
import os
import queue
import re
import sys
import threading
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from data.base.atomic import write_text
from data.base.errors import Mistake, first_line
from data.game.coords import BLACK, WHITE
from data.records.identity import identity
from data.records.sgf_writer import write_game
from mcts.play.clock import describe
from pipelines.matches.games import (
    Counter,
    GameRules,
    Played,
    play_game,
    set_up,
    time_command,
    to_record,
)
from pipelines.matches.gtp_client import LOAD, START, EngineError, GtpEngine, Killed
from pipelines.matches.summary import distinct
from pipelines.shell.console import clock, console

LINE = {
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
KILLED = 3  # times in a row that an engine of one game may be ended by somebody else


class MatchError(Mistake):
    """No match can be played as asked."""


@dataclass(frozen=True)
class Contestant:
    name: str
    command: tuple[str, ...]
    # of an own engine: what its command comes to
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fixture:
    """A game that is to be played. `key` is what tells on resuming whether it has been."""

    number: int
    first: int  # index of a contestant; the first of the pair, whatever its colour
    second: int
    black: int
    opening: tuple[int, ...]
    key: str


def prepare_folder(
    folder: Path,
    contestants: list[Contestant],
    rules: GameRules,
    options: dict[str, Any],
    program: str,
) -> None:
    """Make it, or see that what is there belongs to the same match: only the number of games may
    have grown.
    """
    about = {
        "contestants": [{"name": c.name, "command": list(c.command)} for c in contestants],
        "settings": {c.name: c.settings for c in contestants if c.settings},
        "rules": asdict(rules),
        "opening_moves": options["opening_moves"],
        "seed": options["seed"],
    }
    programs = [program]
    file = folder / "match.json"
    if file.exists():
        before = read_object(file.read_bytes(), str(file))
        # what was not kept when that match began can't differ
        before = filled(json.loads(json.dumps(about)), before)
        changed = [key for key in about if before.get(key) != json.loads(json.dumps(about[key]))]
        if changed:
            raise MatchError(
                f"{folder} holds a match with other {', '.join(changed)} (see {file.name}); choose another output"
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


def filled(now: Any, before: Any) -> Any:
    """What a file says, and where it says nothing what is so now; but a net that it does not speak
    of was not there.
    """
    if not isinstance(now, dict) or not isinstance(before, dict):
        return before
    told = {
        key: filled(value, before[key]) if key in before else value
        for key, value in now.items()
        if key != "nets"
    }
    nets = (
        {"nets": dict.fromkeys(now["nets"]) | before["nets"]}
        if "nets" in now and "nets" in before
        else {}
    )
    return before | told | nets


def read_results(file: Path) -> dict[str, dict[str, Any]]:
    """Finished games by key.

    A last line that a crash cut off is dropped from the file: its game is played again.
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
        if not LINE <= game.keys():
            raise MatchError(
                f"{file}, line {k}: no finished game; take the line out, and that game is played again"
            )
    return {game["key"]: game for game in games}


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


class Match:
    """Workers, each with engines of its own, take games from one queue."""

    def __init__(
        self,
        contestants: list[Contestant],
        rules: GameRules,
        options: dict[str, Any],
        folder: Path,
        done: dict[str, dict[str, Any]],
        total: int,
    ):
        self.contestants, self.rules, self.folder, self.done, self.total = (
            contestants,
            rules,
            folder,
            done,
            total,
        )
        self.parallel, self.seed = options["parallel"], options["seed"]
        self.waiting: queue.SimpleQueue[Fixture] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.stopped = threading.Event()  # no game is begun any more
        self.killed = threading.Event()  # and those under way have lost their engines
        self.failures: list[BaseException] = []
        self.engines: list[GtpEngine] = []
        self.today = date.today().isoformat()

    def play(self, fixtures: list[Fixture]) -> None:
        self.try_all()
        for fixture in fixtures:
            self.waiting.put(fixture)
        workers = [
            threading.Thread(target=self.work, args=(k,), name=f"worker {k}")
            for k in range(min(self.parallel, len(fixtures)))
        ]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                while worker.is_alive():
                    worker.join(0.2)
        except KeyboardInterrupt:
            console.print("stopping; finished games are kept, the same command goes on")
            raise
        finally:
            self.stopped.set()
            if sys.exc_info()[0] is not None:
                self.killed.set()
                with self.lock:
                    for engine in self.engines:
                        engine.kill()
            for worker in workers:
                worker.join()
        if self.failures:
            raise self.failures[0]

    def try_all(self) -> None:
        """An engine that can't say its name or keep the time is the user's to know before a
        hundred games are lost by it.
        """
        for k, contestant in enumerate(self.contestants):
            engine = None
            try:
                engine = self.start(k, 0)
                engine.ask("name", START)
                set_up(engine, self.rules.size, self.rules.komi)
                if self.rules.time.kind != "none":
                    self.try_time(engine)
                # what can't open its net says so now, and compiles what it needs
                engine.ask("genmove B", LOAD)
            except (EngineError, Killed) as error:
                raise MatchError(
                    f"{contestant.name}: {error}; its errors are in {self.errors_file(contestant, 0)}"
                ) from None
            finally:
                if engine is not None:
                    engine.close()
        referee = Counter(self.rules.referee)
        try:
            referee.try_it()
        except (EngineError, Killed) as error:
            raise MatchError(
                f"referee={self.rules.referee}: {error}; or one of rollouts, area"
            ) from None
        finally:
            referee.close()

    def try_time(self, engine: GtpEngine) -> None:
        """Told here first, one engine after the other: what they compile on hearing of it is then
        there for all games.
        """
        whole = time_command(self.rules.time)
        command = whole.split()[0]
        if engine.ask(f"known_command {command}").lower() != "true":
            raise MatchError(
                f"{engine.name} does not know {command}, which is how it would be told about {describe(self.rules.time)}"
            )
        engine.ask(whole, LOAD)

    def start(self, k: int, worker: int) -> GtpEngine:
        contestant = self.contestants[k]
        engine = GtpEngine(
            (*contestant.command, *self.own_seed(k, worker)),
            contestant.name,
            errors=self.errors_file(contestant, worker),
        )
        with self.lock:
            self.engines.append(engine)
        return engine

    def own_seed(self, k: int, worker: int) -> list[str]:
        """Other random numbers for each own engine of a match, and after each pause, unless a seed
        is asked for. What engines say to standard error, which is kept, begins with it.
        """
        contestant = self.contestants[k]
        if not contestant.settings or any(
            word.lstrip("+").startswith("seed=") for word in contestant.command
        ):
            return []
        return [
            f"seed={np.random.SeedSequence([self.seed, k, worker, len(self.done)]).generate_state(1)[0]}"
        ]

    def errors_file(self, contestant: Contestant, worker: int) -> Path:
        """Such as `policy_only-1.0.log`: a name that a shell takes as it is."""
        return (
            self.folder
            / f"{re.sub(r'[^.=0-9A-Za-z_]+', '-', contestant.name).strip('-') or 'engine'}.{worker}.log"
        )

    def work(self, worker: int) -> None:
        engines: dict[int, GtpEngine] = {}
        counter = Counter(self.rules.referee)
        try:
            while not self.stopped.is_set():
                try:
                    fixture = self.waiting.get_nowait()
                except queue.Empty:
                    break
                self.play_fixture(fixture, engines, counter, worker)
        except BaseException as error:
            self.failures.append(error)
            self.stopped.set()
        finally:
            counter.close()
            for engine in engines.values():
                engine.close()

    def play_fixture(
        self, fixture: Fixture, engines: dict[int, GtpEngine], counter: Counter, worker: int
    ) -> None:
        white = fixture.second if fixture.black == fixture.first else fixture.first
        for attempt in range(1, KILLED + 1):
            try:
                for k in (fixture.first, fixture.second):
                    if k in engines and engines[k].broken:
                        engines.pop(k).close()
                    if k not in engines:
                        engines[k] = self.start(k, worker)
                played = play_game(
                    {BLACK: engines[fixture.black], WHITE: engines[white]},
                    self.rules,
                    fixture.opening,
                    counter,
                )
                break
            except Killed as error:
                if self.stopped.wait(1.0):  # whoever stops a match may end its engines first
                    return
                if attempt == KILLED:
                    raise MatchError(
                        f"{error}, {KILLED} times in one game, which is not counted"
                    ) from None
                console.print(f"{error}: the game begins anew", soft_wrap=True)
            except EngineError as error:
                raise MatchError(f"{error}; finished games are kept") from None
        if not self.killed.is_set():
            self.keep(fixture, white, played)

    def keep(self, fixture: Fixture, white: int, played: Played) -> None:
        """First the record, whole or not at all, then the line that says it is there."""
        names = {BLACK: self.contestants[fixture.black].name, WHITE: self.contestants[white].name}
        record = to_record(played, self.rules, names, fixture.key, self.today)
        file = self.folder / "games" / f"{fixture.number:05}.sgf"
        notes = {len(played.moves) - 1: played.why} if played.why and played.moves else {}
        temporary = file.with_suffix(".tmp")
        temporary.write_text(write_game(record, notes), encoding="utf-8")
        temporary.replace(file)
        first_colour = BLACK if fixture.black == fixture.first else WHITE
        line = {
            "key": fixture.key,
            "file": f"games/{file.name}",
            "first": self.contestants[fixture.first].name,
            "second": self.contestants[fixture.second].name,
            "black": names[BLACK],
            "white": names[WHITE],
            "result": played.result,
            "points": (1 + first_colour * played.winner) / 2,
            "why": played.why,
            "moves": len(played.moves),
            "score": played.score,
            "area": played.area,
            "identity": f"{identity(record):016x}",
            "seconds": {
                names[colour]: round(played.seconds[colour], 2) for colour in (BLACK, WHITE)
            },
            "slowest": {
                names[colour]: round(played.slowest[colour], 2) for colour in (BLACK, WHITE)
            },
        }
        with self.lock:
            with (self.folder / "results.jsonl").open("a", encoding="utf-8") as results:
                results.write(json.dumps(line, ensure_ascii=False) + "\n")
                results.flush()
                os.fsync(results.fileno())
            self.done[fixture.key] = line
            self.tell(line)

    def tell(self, line: dict[str, Any]) -> None:
        pair = (line["first"], line["second"])
        points = [
            game["points"]
            for game in distinct(list(self.done.values()))
            if (game["first"], game["second"]) == pair
        ]
        why = f" ({line['why']})" if line["why"] else ""
        console.print(
            f"{len(self.done)}/{self.total}  {line['black']} - {line['white']}  {line['result']}{why}  {line['moves']} moves, "
            f"{clock(sum(line['seconds'].values()))};  {line['first']} {sum(points):g} of {len(points)}",
            soft_wrap=True,
        )
