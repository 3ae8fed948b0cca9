"""What a batch teaches besides the move and the outcome: `Targets`.

    target   what it is                                                where it is missing
    reply    int64 [batch]: the next move, `size**2` is a pass         -1: the game ends there, or
                                                                       the same player moves again
    result   float32 [batch]: +1 won, -1 lost, 0 drawn                 NaN: games/value is 0
    score    float32 [batch]: the lead at the end, komi included       NaN: no points were counted
    owner    float32 [batch, points]: who owned each point at the      NaN: the file of owners has
             end, -1 the opponent .. +1                                none of that game

All are from the view of the player to move; `reply` and `owner` are turned like the planes. Where
a target is missing there is nothing to learn. A net may learn several answers from records that
lack some of them. Where moves do not teach (`moves=False`), `move` is missing, too: -1, as replies.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from data.base.errors import Mistake
from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.owners import SURE
from data.game import symmetry
from data.game.coords import PASS
from data.loading.planes import Labels
from data.records.metadata import to_margin

TARGETS = ("reply", "result", "score", "owner")
NO_MOVE = -1


class Targets:
    """Makes targets of labels. Goes to worker processes by pickling.

    `owners` int8 [games, points] (see `owners.py`) gives the target `owner`. If that is asked for
    without them, it is missing everywhere.
    """

    def __init__(
        self,
        file: DatasetFile,
        names: Sequence[str] = (),
        owners: np.ndarray | None = None,
        games: Games | None = None,
        *,
        moves: bool = True,
    ):
        self.moves = moves
        self.file, self.owners, self._games = file, owners, games
        self.names = tuple(
            name for name in TARGETS if name in names or (name == "owner" and owners is not None)
        )
        # what is not of one row is read now, not again in each worker
        for name, column in (("reply", "games"), ("result", "teaches"), ("score", "margins")):
            if name in self.names:
                getattr(self, column)

    @staticmethod
    def check(names: Sequence[str], owners: np.ndarray | None) -> None:
        """Raise `Mistake` for targets that can't be made."""
        if wrong := [name for name in names if name not in TARGETS]:
            raise Mistake(f"targets={wrong[0]}: choose of {', '.join(TARGETS)}")
        if "owner" in names and owners is None:
            raise Mistake("targets=owner: owners=<file of estimate_owners.py> is missing")

    @cached_property
    def games(self) -> Games:
        return self._games or Games(self.file)

    @cached_property
    def teaches(self) -> np.ndarray:
        """bool [games]: whether the outcome may teach."""
        return self.file.games["value"][:] != 0

    @cached_property
    def margins(self) -> np.ndarray:
        """float32 [games]: Black's lead at the end, NaN if points were not counted."""
        return np.array([to_margin(text) for text in self.file.column("result")], np.float32)

    @cached_property
    def owned(self) -> np.ndarray:
        """bool [games]: whether the owners of a game are known. All zeros means they are not."""
        assert self.owners is not None
        return np.asarray(self.owners.any(axis=1))

    def batch(self, labels: Labels, turns: np.ndarray) -> dict[str, np.ndarray]:
        """Return the targets of these rows, each turned by its symmetry."""
        found = {name: getattr(self, name)(labels, turns) for name in self.names}
        return found if self.moves else found | self.no_moves(len(turns))

    def no_moves(self, rows: int) -> dict[str, np.ndarray]:
        """Return missing moves, and missing replies if these are asked for."""
        names = ("move", *(name for name in self.names if name == "reply"))
        return {name: np.full(rows, NO_MOVE, np.int64) for name in names}

    def reply(self, labels: Labels, turns: np.ndarray) -> np.ndarray:
        games = self.games
        at = games.offset[labels["game"]] + labels["ply"] + 1
        follows = at < games.offset[labels["game"] + 1]
        at = np.where(follows, at, 0)
        answered = follows & (games.colours[at] == -labels["to_play"])
        move = to_points(symmetry.forward(games.size)[turns, games.moves[at]], games.size)
        return np.where(answered, move, NO_MOVE)

    def result(self, labels: Labels, turns: np.ndarray) -> np.ndarray:
        outcome = labels["outcome"].astype(np.float32)
        return np.where(self.teaches[labels["game"]], outcome, np.float32(np.nan))

    def score(self, labels: Labels, turns: np.ndarray) -> np.ndarray:
        return self.margins[labels["game"]] * labels["to_play"].astype(np.float32)

    def owner(self, labels: Labels, turns: np.ndarray) -> np.ndarray:
        points = self.file.size**2
        if self.owners is None:
            return np.full((len(turns), points), np.nan, np.float32)
        turned = symmetry.backward(self.file.size)[turns][:, :points]
        own = self.owners[labels["game"][:, None], turned].astype(np.float32)
        own *= (labels["to_play"].astype(np.float32) / SURE)[:, None]
        own[~self.owned[labels["game"]]] = np.nan
        return own


def to_points(moves: np.ndarray, size: int) -> np.ndarray:
    """int64: moves as nets name them, a pass is `size**2`."""
    return np.where(moves == PASS, size * size, moves).astype(np.int64)
