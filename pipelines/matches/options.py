"""The options of `play_match.py`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from data.base.errors import Mistake
from mcts.gtp.arguments import MAX_KOMI
from mcts.play.clock import TimeRules
from pipelines.matches.games import GameRules
from pipelines.shell.options import Above, AtLeast, Between, OptionError

Count = Annotated[int, AtLeast(1)]
Seconds = Annotated[float, AtLeast(0)]


@dataclass(frozen=True)
class MatchOptions:
    black: Any  # a command line or overrides, see `contestants`; likewise the next two
    white: Any
    players: Any
    games: Count
    parallel: Count
    opening_moves: Annotated[int, AtLeast(0)]
    seed: Annotated[int, AtLeast(0)]
    size: Annotated[int, Between(2, 19)]
    komi: Annotated[float, Between(-MAX_KOMI, MAX_KOMI)]
    ko: Literal["positional", "situational", "simple"]
    referee: str
    max_moves: Count
    main_time: Seconds | None
    overtime: Seconds
    overtime_count: Annotated[int, AtLeast(0)]
    overtime_kind: Literal["canadian", "byoyomi", "fischer"]
    move_timeout: Annotated[float, Above(0)]
    output: Path

    def __post_init__(self) -> None:
        if self.main_time is None and self.overtime != 0:
            raise OptionError(
                f"overtime={self.overtime:g}: without main_time there are no clocks; main_time=0 "
                "is overtime alone"
            )
        self.time_rules()

    def time_rules(self) -> TimeRules:
        """Return how the clocks run. Raises `OptionError`."""
        if self.main_time is None:
            return TimeRules()
        if self.overtime == 0:
            return TimeRules("absolute", self.main_time)
        try:
            return TimeRules(self.overtime_kind, self.main_time, self.overtime, self.overtime_count)
        except Mistake as error:
            raise OptionError(
                f"overtime={self.overtime:g} overtime_count={self.overtime_count}: {error}"
            ) from None

    def game_rules(self) -> GameRules:
        """Return the rules that every game of the match is played by."""
        return GameRules(
            size=self.size,
            komi=self.komi,
            ko=self.ko,
            time=self.time_rules(),
            move_timeout=self.move_timeout,
            max_moves=self.max_moves,
            referee=self.referee,
        )
