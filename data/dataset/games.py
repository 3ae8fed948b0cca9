"""The recorded games of a dataset in memory, safe to hand to kernels: `Games`.

Kernels do not check the indices that they are given. So a `Games` consists of checked arrays:
offsets ascend and end where the moves end, points are on the board, colours are colours. Whether
moves are *legal* shows when they are played: replaying raises `DatasetError` with the number of
the game.
"""

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.game_table import no_moves
from data.dataset.layout import FLAT_COLUMNS, SETUP_COLUMNS, DatasetError
from data.game.board_kernels import new_boards
from data.game.legality_kernels import SOUND
from data.records.record import GameRecord
from data.records.replay import Replayer, find_problem
from data.records.replay_kernels import ManyMoves, Moves, replay_to

LONGEST = np.iinfo(np.int16).max  # moves a game: the type of `ply`


class Games:
    """All that replaying needs: three bytes a move.

    Not for several threads, except `game` and `replay`.
    """

    def __init__(self, file: DatasetFile):
        self.path = file.path
        self.size = file.size
        flat = {
            name: np.ascontiguousarray(file.games[name][:])
            for name in (*FLAT_COLUMNS, *SETUP_COLUMNS)
        }
        self.moves, self.colours = (flat[name] for name in FLAT_COLUMNS)
        self.setup_ply, self.setup_point, self.setup_colour = (flat[name] for name in SETUP_COLUMNS)
        self.offset = file.offsets("offset", "moves")
        self.setup_offset = file.offsets("setup_offset", "setup_ply")
        self.only_ply = file.column("only_ply")
        self.boards = new_boards(1, self.size)
        self.check()

    def __len__(self) -> int:
        return len(self.offset) - 1

    def check(self) -> None:
        """Raise `DatasetError` for values that are no points, colours or plies."""
        points = self.size**2
        self.refuse("colours", None if len(self.colours) == len(self.moves) else len(self.colours))
        for name in SETUP_COLUMNS:
            length = len(getattr(self, name))
            self.refuse(name, None if length == len(self.setup_ply) else length)
        self.refuse("moves", first_of(no_moves(self.moves, self.size)))
        self.refuse("colours", first_of((self.colours != 1) & (self.colours != -1)))
        self.refuse("setup_point", first_of((self.setup_point < 0) | (self.setup_point >= points)))
        self.refuse("setup_colour", first_of((self.setup_colour < -1) | (self.setup_colour > 1)))
        self.refuse("setup_ply", first_of(self.setup_ply < 0))
        self.refuse("offset", first_of(np.diff(self.offset) > LONGEST))

    def refuse(self, name: str, at: int | None) -> None:
        if at is None:
            return
        values = getattr(self, name)
        found = f"[{at}] is {values[at]}" if at < len(values) else f" has {at:,} entries"
        raise DatasetError(
            f"{self.path}: damaged, games/{name}{found}, which is not possible; "
            "build the dataset again"
        )

    def arrays(self) -> ManyMoves:
        """All games, as kernels take them."""
        return ManyMoves(
            self.size,
            self.moves,
            self.colours,
            self.offset,
            self.setup_ply,
            self.setup_point,
            self.setup_colour,
            self.setup_offset,
        )

    def game(self, game: int) -> Moves:
        """One game, as kernels take it: points are on the board, moves may be illegal."""
        a, z = self.offset[game : game + 2]
        s, t = self.setup_offset[game : game + 2]
        return Moves(
            self.size,
            self.moves[a:z],
            self.colours[a:z],
            self.setup_ply[s:t],
            self.setup_point[s:t],
            self.setup_colour[s:t],
        )

    def replay(self, game: int, plies: int | None = None) -> np.ndarray:
        """A board of its own, [1], as it is after the whole game, or before ply `plies`."""
        if plies is None:
            replayer = Replayer(self.size)
            if replayer.legal_moves(self.record(game))[1] != SOUND:
                raise self.illegal(game)
            return replayer.boards
        self.check_indices(np.array([game]), np.array([plies]))
        boards = new_boards(1, self.size)
        if replay_to(boards, 0, self.game(game), plies) < 0:
            raise self.illegal(game)
        return boards

    def check_indices(self, games: np.ndarray, plies: np.ndarray) -> None:
        """Raise `DatasetError` unless each is a game, and a ply at which it has a move."""
        if games.shape != plies.shape or games.ndim != 1:
            raise DatasetError(f"{self.path}: {games.shape} games and {plies.shape} plies")
        if (at := first_of((games < 0) | (games >= len(self)))) is not None:
            raise DatasetError(
                f"{self.path}: damaged, a row is of game {games[at]}, there are {len(self):,}"
            )
        lengths = self.offset[games + 1] - self.offset[games]
        if (at := first_of((plies < 0) | (plies >= lengths))) is not None:
            raise DatasetError(
                f"{self.path}: damaged, a row is before ply {plies[at]} of game {games[at]}, "
                f"it has {lengths[at]}"
            )

    def record(self, game: int) -> GameRecord:
        return GameRecord(*self.game(game), only_ply=int(self.only_ply[game]))

    def illegal(self, game: int) -> DatasetError:
        """What to raise for a game that can't be replayed."""
        record = self.record(game)
        problem = find_problem(record, *Replayer(self.size).legal_moves(record))
        return DatasetError(
            f"{self.path}: game {game} is not legal, {problem.detail}; build the dataset again"
        )


def first_of(wrong: np.ndarray) -> int | None:
    """The first place where an array is true."""
    at = int(wrong.argmax()) if len(wrong) else 0
    return at if len(wrong) and wrong[at] else None
