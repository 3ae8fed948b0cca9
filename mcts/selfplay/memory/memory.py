"""`Memory`: the games of the last rounds, and the batches that a net learns from.

    memory = Memory(9, ALPHAGO48, ("black_to_play", "komi"), MemoryOptions(), seed=1)
    memory.add(round, games)                       the oldest rounds leave
    steps = memory.steps_possible(steps, batch)    0 while `memory.waiting` says what is missing
    for batch in memory.batches(round, steps, batch): ...
    state = memory.state()                         with the games, all that resuming needs

It keeps moves and visits, no planes: these are replayed when a batch needs them. The window is the
newest rounds that have at least `window_size` rows together, so it is longer than that by less
than one round. Batches depend on the seed, the round, and the window with its uses alone.

Measured on 64 games played on 9x9, of 88 turns on average: 2.7 kB a game and 120 bytes a row, most
of it visits. The player was a fake with fixed uneven priors and values of 0, searching with 64
simulations; the visits of every fourth turn were kept, 21 moves each. A million such rows take
120 MB. Searches that name more moves take 4 bytes for each.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from data.base.errors import Mistake
from data.features.feature_set import FeatureSet
from data.features.inputs import Inputs
from mcts.selfplay.games import PlayedGame
from mcts.selfplay.memory.batches import Batch, BatchMaker
from mcts.selfplay.memory.held_round import HeldRound, hold
from mcts.selfplay.memory.window import MemoryOptions, draw, draw_turns, window_size

__all__ = ["Memory", "MemoryOptions"]

JUDGED_ROWS = 4096  # of a round, at most: a share of them has a standard error of 0.8 points


class Memory:
    def __init__(
        self,
        size: int,
        features: FeatureSet,
        uniform: Sequence[str],
        options: MemoryOptions,
        seed: int,
    ):
        """`uniform` names uniform planes besides the set's own. Raises `Mistake` for others."""
        self.size, self.options, self.seed = size, options, seed
        self.inputs = Inputs(features, uniform=tuple(uniform))
        self.maker = BatchMaker(size, self.inputs, options.search_share)
        self.held: tuple[HeldRound, ...] = ()  # the oldest first
        self.uses = np.zeros(0, np.uint8)  # [window], how often each row was learned from
        self.rows = 0  # of the run so far
        self.mean_uses = float("nan")  # of the rows that left when the last round came

    @property
    def window(self) -> int:
        """Rows that are here now."""
        return len(self.uses)

    @property
    def new_rows(self) -> int:
        """Rows of the newest round."""
        return len(self.held[-1]) if self.held else 0

    @property
    def rounds(self) -> tuple[int, ...]:
        """The rounds that are here, increasing."""
        return tuple(held.number for held in self.held)

    @property
    def bytes(self) -> int:
        return self.uses.nbytes + sum(held.bytes for held in self.held)

    @property
    def ready(self) -> bool:
        """Whether there are enough rows to learn from."""
        return self.window >= self.options.least

    @property
    def waiting(self) -> str:
        """What is missing before learning begins, for people; "" if nothing is."""
        if self.ready:
            return ""
        return f"{self.window:,} of {self.options.least:,} positions before training starts"

    # --- games

    def add(self, round: int, games: Sequence[PlayedGame]) -> None:
        """Take in the games of the next round; the oldest rounds leave.

        Raises `Mistake` for games that can't be learned from, and for a round that is no new one.
        The memory is unchanged then.
        """
        if self.held and round <= self.held[-1].number:
            raise Mistake(f"round {round}: the memory has round {self.held[-1].number} already")
        new = hold(round, games, self.size)
        self.rows += len(new)
        held = (*self.held, new)
        uses = np.concatenate([self.uses, np.zeros(len(new), np.uint8)])
        left = self.left_out(held)
        gone = sum(map(len, held[:left]))
        self.mean_uses = float(uses[:gone].mean()) if gone else float("nan")
        self.held, self.uses = held[left:], uses[gone:]

    def left_out(self, held: Sequence[HeldRound]) -> int:
        """Return how many of the oldest rounds the window no longer needs."""
        wanted, kept = window_size(self.rows, self.options), 0
        for place in range(len(held) - 1, -1, -1):
            kept += len(held[place])
            if kept >= wanted:
                return place
        return 0

    # --- batches

    def steps_possible(self, steps: int, batch: int) -> int:
        """Return how many of so many steps the rows have uses left for; 0 before `ready`."""
        return min(steps, int(self.uses_left().sum()) // batch) if self.ready else 0

    def uses_left(self) -> np.ndarray:
        """Return int64 [window]: how often each row may still be learned from."""
        return np.maximum(self.options.most_uses - self.uses.astype(np.int64), 0)

    def batches(self, round: int, steps: int, batch: int) -> Iterator[Batch]:
        """Return the batches of a round, as many as are possible; see `batches.py`.

        Rows are drawn uniformly, none a second time before all came once. Uses are counted when a
        batch is handed out.
        """
        count = self.steps_possible(steps, batch) * batch
        rows = draw(self.uses_left(), count, self.seed, round)
        return self.handed_out(rows, draw_turns(count, self.seed, round), batch)

    def handed_out(self, rows: np.ndarray, turns: np.ndarray, batch: int) -> Iterator[Batch]:
        held = self.held
        for k, one in enumerate(self.maker.batches(held, rows, turns, batch)):
            if self.held is not held:
                raise RuntimeError("games were added while the batches of a round were taken")
            np.add.at(self.uses, rows[k * batch : (k + 1) * batch], 1)
            yield one

    def new_batches(self, round: int, batch: int) -> Iterator[Batch]:
        """Return the rows of a round to judge a net by, unturned, in the order of games.

        They are all rows, or `JUDGED_ROWS` of them, evenly chosen. The last batch may be shorter.
        No use is counted. Raises `Mistake` for a round that is not here.
        """
        held = [one for one in self.held if one.number == round]
        if not held:
            raise Mistake(f"round {round}: the memory does not have it; it has {self.rounds}")
        count = min(len(held[0]), JUDGED_ROWS)
        rows = np.arange(count) * len(held[0]) // max(count, 1)
        return self.maker.batches(held, rows, np.zeros(count, np.uint8), batch)

    # --- resuming

    def state(self) -> dict[str, Any]:
        """Return what resuming needs besides games, as numbers, texts and lists.

        The rounds in it, `state["rounds"]`, are those whose games are still needed.
        """
        cuts = np.cumsum([len(held) for held in self.held])[:-1]
        uses = np.split(self.uses, cuts) if self.held else []
        return {
            "rows": self.rows,
            "rounds": list(self.rounds),
            "uses": [base64.b64encode(one.tobytes()).decode() for one in uses],
        }

    def restore(
        self, state: dict[str, Any], games_of: Callable[[int], Sequence[PlayedGame]]
    ) -> None:
        """Become what the memory was when `state` was taken; `games_of` gives a round's games.

        Raises `Mistake` if these are not the games that the state is of.
        """
        try:
            rows, rounds = int(state["rows"]), [int(number) for number in state["rounds"]]
            uses = [
                np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
                for text in state["uses"]
            ]
            if len(uses) != len(rounds):
                raise ValueError(f"{len(uses)} lists of uses for {len(rounds)} rounds")
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise Mistake(f"the saved state of the memory is damaged ({error!r})") from None
        held = []
        for number, counts in zip(rounds, uses, strict=True):
            held.append(hold(number, games_of(number), self.size))
            if len(held[-1]) != len(counts):
                raise Mistake(
                    f"round {number}: its games have {len(held[-1]):,} positions to learn from, "
                    f"the checkpoint has {len(counts):,}; they are other games"
                )
        self.rows, self.held = rows, tuple(held)
        self.uses = np.concatenate([np.zeros(0, np.uint8), *uses])
        self.mean_uses = float("nan")
