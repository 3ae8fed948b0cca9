"""A match as it is played: workers take games from one queue, and each game is saved at its end.

| in the folder of a match  | is                                         |
| ------------------------- | ------------------------------------------ |
| `match.json`              | which match it is                          |
| `results.jsonl`           | a line for each finished game              |
| `games/00001.sgf`         | the record of each                         |
| `<player>.<worker>.log`   | what an engine prints on standard error    |
"""

import queue
import re
import sys
import threading
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from data.game.coords import BLACK, WHITE
from mcts.play.clock import describe
from pipelines.matches.fixtures import Contestant, Fixture, MatchError
from pipelines.matches.folder import keep_game
from pipelines.matches.games import (
    Counter,
    GameRules,
    Played,
    play_game,
    set_up,
    time_command,
)
from pipelines.matches.gtp_client import LOAD, START, EngineError, GtpEngine, Killed
from pipelines.matches.options import MatchOptions
from pipelines.matches.summary import distinct
from pipelines.shell.console import clock, console

KILLED = 3  # times in a row that an engine of one game may be ended by somebody else


class Match:
    """Workers, each with engines of its own, take games from one queue."""

    def __init__(
        self,
        contestants: list[Contestant],
        rules: GameRules,
        options: MatchOptions,
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
        self.parallel, self.seed = options.parallel, options.seed
        self.waiting: queue.SimpleQueue[Fixture] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.stopped = threading.Event()  # no game is begun any more
        self.killed = threading.Event()  # and those under way have lost their engines
        self.failures: list[BaseException] = []
        self.engines: list[GtpEngine] = []
        self.today = date.today().isoformat()

    def play(self, fixtures: list[Fixture]) -> None:
        self.check_players()
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

    def check_players(self) -> None:
        """Raise `MatchError` for a player or a referee that does not answer.

        Without this check a broken engine would lose a hundred games first.
        """
        for k, contestant in enumerate(self.contestants):
            engine = None
            try:
                engine = self.start(k, 0)
                engine.ask("name", START)
                set_up(engine, self.rules.size, self.rules.komi)
                if self.rules.time.kind != "none":
                    self.check_time(engine)
                # what can't open its net says so now, and compiles what it needs
                engine.ask("genmove B", LOAD)
            except (EngineError, Killed) as error:
                raise MatchError(
                    f"{contestant.name}: {error}; its errors are in "
                    f"{self.errors_file(contestant, 0)}"
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

    def check_time(self, engine: GtpEngine) -> None:
        """Tell an engine the time settings; raise `MatchError` if it does not know the command.

        What it compiles for them is then ready for all games.
        """
        whole = time_command(self.rules.time)
        command = whole.split()[0]
        if engine.ask(f"known_command {command}").lower() != "true":
            raise MatchError(
                f"{engine.name} does not know {command}, which is how it would be told about "
                f"{describe(self.rules.time)}"
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
        """Return `seed=...` for an own engine whose command has no seed.

        Each engine of a match gets another one, and so does a match that goes on. The engine's log
        begins with it.
        """
        contestant = self.contestants[k]
        if not contestant.settings or any(
            word.lstrip("+").startswith("seed=") for word in contestant.command
        ):
            return []
        drawn = np.random.SeedSequence([self.seed, k, worker, len(self.done)])
        return [f"seed={drawn.generate_state(1)[0]}"]

    def errors_file(self, contestant: Contestant, worker: int) -> Path:
        """Return a path such as `policy_only-1.0.log`, whose name needs no quotes in a shell."""
        name = re.sub(r"[^.=0-9A-Za-z_]+", "-", contestant.name).strip("-") or "engine"
        return self.folder / f"{name}.{worker}.log"

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
        for attempt in range(1, KILLED + 1):
            try:
                for k in (fixture.first, fixture.second):
                    if k in engines and engines[k].broken:
                        engines.pop(k).close()
                    if k not in engines:
                        engines[k] = self.start(k, worker)
                played = play_game(
                    {BLACK: engines[fixture.black], WHITE: engines[fixture.white]},
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
            self.save(fixture, played)

    def save(self, fixture: Fixture, played: Played) -> None:
        with self.lock:
            line = keep_game(self.folder, fixture, self.contestants, self.rules, played, self.today)
            self.done[fixture.key] = line
            self.show(line)

    def show(self, line: dict[str, Any]) -> None:
        pair = (line["first"], line["second"])
        points = [
            game["points"]
            for game in distinct(list(self.done.values()))
            if (game["first"], game["second"]) == pair
        ]
        why = f" ({line['why']})" if line["why"] else ""
        console.print(
            f"{len(self.done)}/{self.total}  {line['black']} - {line['white']}  "
            f"{line['result']}{why}  {line['moves']} moves, "
            f"{clock(sum(line['seconds'].values()))};  {line['first']} {sum(points):g} of "
            f"{len(points)}",
            soft_wrap=True,
        )
