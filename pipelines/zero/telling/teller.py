"""`Teller`: tells people and files what a run does.

    with Teller(options, folder) as teller:
        teller.resume_at(11)                          of a run that goes on: 11 was its last round
        teller.begin("9x9, komi 7", "...")
        teller.playing(312, 512, 21_300.0)            as often as one likes
        teller.learning(40, 480, {"loss": 2.31})
        teller.waiting("12,300 of 20,000 positions before training starts")
        teller.match_done(MatchReport(...))
        teller.sample(12, games)
        teller.round_done(RoundReport(...))

| file             | holds                                                                 |
| ---------------- | --------------------------------------------------------------------- |
| rounds.csv       | a row a round, the fields of `RoundReport`                            |
| matches.csv      | a row a match, the fields of `MatchReport`                            |
| tensorboard/     | the same, as games/length or match/gnugo; the step is the round       |
| samples/         | some games of each round as SGF                                       |

Numbers of a round that is told again replace those told before. A run goes on without TensorBoard
and without samples where they can't be written, as on a full disk: it says so in one line.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from data.base.errors import first_line
from mcts.selfplay.games import PlayedGame
from pipelines.shell.console import rate
from pipelines.zero.health import Limits, alarms
from pipelines.zero.meanings import MEANINGS
from pipelines.zero.report import MatchReport, RoundReport
from pipelines.zero.telling import samples, words
from pipelines.zero.telling.rows import MATCHES, ROUNDS, Rows
from pipelines.zero.telling.screen import Doing, Screen

if TYPE_CHECKING:
    from pipelines.training.log import TensorBoardFiles
    from pipelines.zero.options import ZeroOptions

TENSORBOARD = "tensorboard"
NONE = -1  # the last round of a run that has none


class Teller:
    """One thread calls it. What it writes is on disk when the call returns, but for TensorBoard."""

    def __init__(self, options: "ZeroOptions", folder: Path, console: Console | None = None):
        self.options, self.folder = options, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.rounds = Rows(folder / ROUNDS, RoundReport)
        self.matches = Rows(folder / MATCHES, MatchReport)
        self.metrics: dict[str, float] = {}
        self.found: dict[int, int] = {}  # games of a round that were there already
        self.since = time.monotonic()  # the round that goes on began
        self.board: TensorBoardFiles | None = None
        self.purged: int | None = None
        self.unwritten: set[str] = set()  # what could not be written the last time
        self.wrong = self.alarms()
        self.screen = Screen(console)

    def __enter__(self) -> "Teller":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def resume_at(self, last: int) -> None:
        """Forget what was told of rounds after `last`, and of matches of nets they made.

        Net `last` + 1 is what round `last` made, so its matches stay. -1 forgets all rounds.
        """
        self.rounds.keep(lambda row: row.round <= last)
        self.matches.keep(lambda row: row.round <= last + 1)
        self.purged = last
        self.wrong = self.alarms()

    def begin(self, *lines: str) -> None:
        """Print the first lines of a run: its title, and what people should know."""
        for line in lines:
            self.screen.say(line)
        if self.rounds.rows:
            row = self.rounds.rows[-1]
            self.screen.say(f"going on after {words.round_line(row, None)}")
        for text in self.wrong.values():
            self.screen.say(f"warning: {text}")
        self.since = time.monotonic()

    # --- what goes on

    def playing(
        self,
        done: int,
        of: int,
        evaluations_a_second: float = math.nan,
        *,
        round: int | None = None,
        found: int = 0,
    ) -> None:
        """Show how many games of the round are there.

        `found` of them were there already, as in a run that goes on: they say nothing about speed.
        """
        number = self.current(round)
        self.found[number] = found
        more = (
            ""
            if math.isnan(evaluations_a_second)
            else f"{rate(evaluations_a_second)} evaluations/s"
        )
        self.show(Doing(f"round {number}: playing", done, of, "games", more, found))

    def learning(
        self, step: int, of: int, metrics: Mapping[str, float], *, round: int | None = None
    ) -> None:
        """Show how many steps of the round are done, and the losses."""
        self.metrics = dict(metrics)
        line = words.metrics_line(metrics)
        self.show(Doing(f"round {self.current(round)}: learning", step, of, "steps", line))

    def matching(self, done: int, of: int, opponent: str) -> None:
        """Show how many games of a match are over."""
        self.show(Doing(f"match against {opponent}", done, of, "games"))

    def waiting(self, text: str) -> None:
        """Show what the run waits for."""
        self.show(Doing(text))

    def show(self, doing: Doing) -> None:
        rows = self.rounds.rows
        spent = time.monotonic() - self.since
        last = rows[-1] if rows else None
        details = (
            self.line_of(last, rows[-2] if len(rows) > 1 else None) if last else "",
            words.window_line(last) if last else "",
            words.strength_line(self.matches.rows),
            words.time_line(rows, self.options.rounds, spent),
            *(f"warning: {text}" for text in self.wrong.values()),
        )
        self.screen.show(doing, details)

    def current(self, round: int | None) -> int:
        """Return the round that goes on, by the rows if nobody says it."""
        if round is not None:
            return round
        return self.rounds.rows[-1].round + 1 if self.rounds.rows else 0

    # --- what is done

    def round_done(self, report: RoundReport) -> None:
        """Write the row of a round, and print it in a line."""
        self.rounds.put(report)
        index = [row.round for row in self.rounds.rows].index(report.round)
        before = self.rounds.rows[index - 1] if index else None
        left = words.seconds_left(self.rounds.rows, self.options.rounds, 0.0)
        self.log(
            {
                f"{MEANINGS[name].group}/{name}": float(value)
                for name, value in asdict(report).items()
                if name in MEANINGS and not math.isnan(value)
            },
            report.round,
        )
        self.screen.say(
            self.line_of(report, before)
            + (f", {words.left_line(left)}" if left and len(self.rounds.rows) > 1 else "")
        )
        self.since = time.monotonic()
        self.warn()

    def line_of(self, row: RoundReport, before: RoundReport | None) -> str:
        return words.round_line(row, before, self.found.get(row.round, 0))

    def match_done(self, report: MatchReport) -> None:
        """Write the row of a match, and print it in a line."""
        self.matches.put(report)
        shown = {f"match/{report.opponent}": report.share}
        if report.opponent != "before":
            shown[f"match/{report.opponent}_strength"] = float(report.strength)
        self.log(shown, max(0, report.round - 1))  # the round that made the net
        self.screen.say(words.match_line(report))
        self.warn()

    def sample(self, round: int, games: Sequence[PlayedGame]) -> Path | None:
        """Write some games of the round as SGF; return the file, None if it can't be written."""
        path = None
        with self.optional("sample games"):
            path = samples.write_samples(self.folder, round, games)
        return path

    def warn(self) -> None:
        """Print what has gone wrong since the last time, and what is well again."""
        now = self.alarms()
        for name in now.keys() - self.wrong.keys():
            self.screen.say(f"warning: {now[name]}")
        for name in self.wrong.keys() - now.keys():
            self.screen.say(f"well again: no warning about {name} any more")
        self.wrong = now

    def alarms(self) -> dict[str, str]:
        options = self.options
        limits = Limits.of(options.size, options.learn.uses, options.resign.wrong)
        return alarms(self.rounds.rows, self.matches.rows, limits)

    def log(self, metrics: dict[str, float], round: int) -> None:
        """Write to TensorBoard; the step is the round."""
        with self.optional("TensorBoard"):
            try:
                self.log_to(self.open_board(), metrics, round)
            except OSError:
                self.drop_board()  # it writes no more; the next round opens another one
                raise

    def open_board(self) -> "TensorBoardFiles":
        if self.board is None:
            # Lightning takes seconds to import
            from pipelines.training.log import TensorBoardFiles

            self.board = TensorBoardFiles(str(self.folder), name="", version=TENSORBOARD)
            if self.purged is not None:
                self.board.resume_at(self.purged)
        return self.board

    def log_to(self, board: "TensorBoardFiles", metrics: dict[str, float], round: int) -> None:
        board.log_metrics(metrics, round - 1)
        board.experiment.flush()  # or a kill takes what rounds.csv has
        self.purged = None

    def drop_board(self) -> None:
        board, self.board = self.board, None
        if board is not None:
            with suppress(OSError):
                board.finalize("failed")

    @contextmanager
    def optional(self, what: str) -> Iterator[None]:
        """Go on if what the block writes can't be written; say so once, until it can be again."""
        try:
            yield
        except OSError as error:
            if what not in self.unwritten:
                why = error.strerror or first_line(error)
                self.screen.say(
                    f"warning: {what} can't be written ({why}); the run goes on without"
                )
            self.unwritten.add(what)
        else:
            self.unwritten.discard(what)

    def close(self) -> None:
        """Give the terminal back, and finish TensorBoard's file."""
        self.screen.close()
        if self.board is not None:
            with suppress(OSError):
                self.board.finalize("success")
            self.board = None
