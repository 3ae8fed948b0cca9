"""`Strength`: matches of a run's newest net, every so many rounds.

    strength = Strength(options, folder)
    strength.check()                                          before the run: is GNU Go there?
    if strength.due(round):
        reports = strength.play(round, card, gather, say)     one for each opponent
    goes_on, report = strength.gate(round, card, before, gather, say)

| opponent   | is                                                                                 |
| ---------- | ---------------------------------------------------------------------------------- |
| `playouts` | pure Monte Carlo tree search; once all games were won it has more playouts next    |
| `gnugo`    | the command of the options                                                         |
| `before`   | the net that played so far, for the gate                                           |

Against `playouts` and `gnugo` one referee serves, the one of play_match.py. Each game has its own
two engines in one worker, which think in turn, and the net's batches are of 8 leaves. A gate is a
hundred games between two nets with short searches, whose batches would be small; so its games are
played in lockstep, as those of self-play are. All games are played out, and all stones count.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.matches.fixtures import MatchError
from pipelines.matches.games import GameRules
from pipelines.matches.gtp_client import START, EngineError, GtpEngine, Killed
from pipelines.zero.report import MatchReport
from pipelines.zero.strength.matches import Gather, Match, Matching, Say, play, untold
from pipelines.zero.strength.sides import NetSide, PlayoutsSide, level_of, net_side, program_side
from pipelines.zero.strength.tasks import play_together

if TYPE_CHECKING:
    from pipelines.zero.options import ZeroOptions

PLAYOUTS, GNUGO, BEFORE = "playouts", "gnugo", "before"
# On 5x5 the first move decides whether Black wins at all, so only the players choose it there.
CHOSEN_BY_PLAYERS = 5
OPENING = 2  # random moves that begin a game on larger boards, and each game between two nets
MOST_MOVES = 4  # a game has so many for each point, then it is counted


class Strength:
    def __init__(self, options: "ZeroOptions", folder: Path):
        """`folder` is that of the run; matches stand in `matches/<round>/<opponent>_<strength>`."""
        self.options = options
        self.of = options.strength
        self.folder = folder / "matches"
        self.playouts = min(self.of.playouts, self.of.most_playouts)
        self.matching: Matching = untold  # told of games that are over, as `Teller.matching` is
        self.rules = GameRules(
            size=options.size,
            komi=options.komi,
            ko=options.ko,
            max_moves=MOST_MOVES * options.size**2,
            referee="area",
        )

    # --- what a run keeps

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes: the rung of the ladder."""
        return {"playouts": self.playouts}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the ladder where it was, or higher up if the options begin there."""
        rung = max(int(state["playouts"]), self.of.playouts)
        self.playouts = min(rung, self.of.most_playouts) if self.of.playouts else 0

    # --- matches

    def check(self) -> None:
        """Raise `MatchError` if GNU Go is wanted and can't play on this board."""
        if not self.of.gnugo:
            return
        name, engine = f"strength.gnugo={self.of.gnugo}", None
        try:
            engine = GtpEngine(program_side(self.of.gnugo).command, "it")
            engine.ask(f"boardsize {self.rules.size}", START)
        except (EngineError, Killed, ValueError) as error:
            raise MatchError(f"{name}: {error}; or null, and it is not played") from None
        finally:
            if engine is not None:
                engine.close()

    def due(self, round: int) -> bool:
        """Whether the net that plays round `round` is to be measured."""
        return self.of.every > 0 and round > 0 and round % self.of.every == 0

    def play(self, round: int, card: Path, gather: Gather, say: Say) -> list[MatchReport]:
        """Play the matches of a net, the one that plays round `round`; return their rows.

        Called again after it was broken off, it plays the games that are missing. A match that
        can't be played is told and left out.
        """
        matches = self.matches(round, self.side(card, self.of.simulations))
        reports = play(matches, self.folder, gather, say, matching=self.matching)
        for report in reports:
            if report.opponent == PLAYOUTS:
                self.climb(report)
        return reports

    def gate(
        self, round: int, card: Path, before: tuple[int, Path], gather: Gather, say: Say
    ) -> tuple[bool, MatchReport]:
        """Return whether a new net is to play round `round`, and the match that says so.

        `before` is the round and the card of the net that plays so far.
        """
        simulations = self.options.thinking.simulations
        number, other = before
        match = self.match(
            round,
            self.side(card, simulations),
            (BEFORE, number, name_of(number, simulations), self.side(other, simulations)),
            games=self.of.gate_games,
            opening=OPENING,
        )
        together = evenly(self.of.gate_games, self.options.task)
        (report,) = play(
            [match],
            self.folder,
            gather,
            say,
            function=play_together,
            together=together,
            matching=self.matching,
        )
        goes_on = report.share > self.of.gate
        say(f"the gate: net {round if goes_on else number} plays on")
        return goes_on, report

    def matches(self, round: int, net: NetSide) -> Iterator[Match]:
        opening = 0 if self.rules.size <= CHOSEN_BY_PLAYERS else OPENING
        make = partial(self.match, round, net, games=self.of.games, opening=opening)
        if self.playouts:
            n = self.playouts
            yield make((PLAYOUTS, n, f"{n} playouts", PlayoutsSide(n)))
        if self.of.gnugo:
            level = level_of(self.of.gnugo)
            yield make((GNUGO, level, f"GNU Go level {level}", program_side(self.of.gnugo)))

    def match(
        self,
        round: int,
        net: NetSide,
        other: tuple[str, int, str, Any],
        *,
        games: int,
        opening: int,
    ) -> Match:
        """`other` is the opponent, its strength, its name, and its side."""
        opponent, strength, name, side = other
        return Match(
            round=round,
            opponent=opponent,
            strength=strength,
            simulations=net.simulations,
            names=(name_of(round, net.simulations), name),
            sides=(net, side),
            rules=self.rules,
            games=games,
            opening=opening,
            seed=self.options.seed,
        )

    def side(self, card: Path, simulations: int) -> NetSide:
        options = self.options
        return net_side(
            card, simulations, options.search, engine=options.engine, device=options.device
        )

    def climb(self, report: MatchReport) -> None:
        """Take the next rung of the ladder if all games were won."""
        if report.won == report.games and report.games and not report.faults:
            self.playouts = min(self.playouts + self.of.playouts, self.of.most_playouts)


def name_of(round: int, simulations: int) -> str:
    return f"net {round:06}, {simulations} simulations"


def evenly(games: int, most: int) -> int:
    """Return how many games a task has, so that tasks are alike and have `most` at most."""
    return -(-games // -(-games // most))
