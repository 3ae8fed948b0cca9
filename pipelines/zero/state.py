"""`RunState`: what a run remembers of its rounds besides games, nets and what learns.

The checkpoint holds it. A round is saved twice: when it has learned, and again when its net has
been exported and has played its matches (`finished`). What comes in between is done again if the
run is stopped there; it gives the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from data.base.errors import Mistake
from pipelines.zero.games.orders import NO_NET
from pipelines.zero.games.resign import COUNTS, ROUNDS


@dataclass
class RunState:
    round: int = -1  # the last one that is over
    finished: bool = True
    net: int = NO_NET  # that plays
    learned: bool = False  # whether that round made a net
    owed: float = 0.0  # positions that came and have not been learned from
    core_seconds: float = 0.0
    # of the last rounds, int64 [rounds, *COUNTS], see `resign.py`
    resignations: np.ndarray = field(default_factory=lambda: np.zeros((0, *COUNTS), np.int64))
    report: dict[str, Any] = field(default_factory=dict)  # of that round, as far as it is known

    def note_resignations(self, counts: np.ndarray) -> None:
        """Add those of a round; the oldest ones are forgotten."""
        self.resignations = np.concatenate([self.resignations, counts[None]])[-ROUNDS:]

    def as_plain(self) -> dict[str, Any]:
        """Return what a checkpoint holds."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @staticmethod
    def of_plain(values: Mapping[str, Any]) -> "RunState":
        """Return the state that a checkpoint holds. Raises `Mistake` if it holds none."""
        try:
            state = RunState(**{each.name: values[each.name] for each in fields(RunState)})
            counts = np.asarray(state.resignations, np.int64)
            # another version may have counted other things: nobody resigns until some are counted
            fits = counts.shape[1:] == COUNTS
            state.resignations = counts if fits else np.zeros((0, *COUNTS), np.int64)
            if not isinstance(state.report, dict) or not all(
                isinstance(number, int | float) for number in state.report.values()
            ):
                raise TypeError("report")
            state.round, state.net = int(state.round), int(state.net)
            state.owed, state.core_seconds = float(state.owed), float(state.core_seconds)
        except (KeyError, TypeError, ValueError) as error:
            raise Mistake(f"the state of the run in it is damaged ({error!r})") from None
        return state


def without_rounds(memory: Mapping[str, Any], lost: Callable[[int], bool]) -> dict[str, Any]:
    """Return the saved state of a memory without those rounds whose games are lost."""
    rounds, uses = memory.get("rounds"), memory.get("uses")
    if not isinstance(rounds, list) or not isinstance(uses, list) or len(rounds) != len(uses):
        return dict(memory)  # the memory says what is wrong with it
    if {type(number) for number in rounds} - {int}:
        return dict(memory)
    kept = [k for k, number in enumerate(rounds) if not lost(number)]
    return {**memory, "rounds": [rounds[k] for k in kept], "uses": [uses[k] for k in kept]}
