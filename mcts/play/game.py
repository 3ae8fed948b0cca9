"""`Game`: the board of one game, its rules and set-up, and the way from and to a `GameRecord`.

Rules are the ko rule, White's points for handicap stones, and whether players agree about dead
stones. A new game keeps them.
"""

import numpy as np

from data.game.board import Board
from data.game.coords import BLACK, MAX_SIZE, WHITE
from data.records.metadata import to_compensation
from data.records.record import GameRecord
from mcts.play.replay import replay


class Game:
    def __init__(self, size: int = MAX_SIZE, komi: float = 7.5):
        self.ko = "positional"
        # the name of the rules if the controller told it: it decides what handicap stones are worth
        self.counting = ""
        self.agreed = True  # the rules told let players take dead stones off
        self.board = Board(size, komi=komi, ko=self.ko)
        self.placed: dict[int, int] = {}  # set-up before the first move: point -> colour
        self.handicap = 0  # how many of these, or of the first moves, are Black's handicap

    def begin(self, size: int | None = None, komi: float | None = None) -> None:
        """Begin a new game; None keeps size or komi."""
        size = self.board.size if size is None else size
        self.board = Board(size, komi=self.board.komi if komi is None else komi, ko=self.ko)
        self.placed = {}
        self.handicap = 0

    def set_rules(self, ko: str, *, agreed: bool, counting: str = "") -> None:
        self.counting = counting
        self.ko = self.board.ko_rule = ko
        self.agreed = agreed

    @property
    def area_komi(self) -> float:
        """White's points where area is counted: komi, and what the rules give for handicap."""
        if not self.counting:
            return self.board.komi
        return self.board.komi + to_compensation(self.handicap, self.counting)

    def counted(self) -> Board:
        """Return a copy of the board with the komi that counts."""
        board = self.board.copy()
        board.komi = self.area_komi
        return board

    def position(self, colour: int) -> Board:
        """Return a copy of the board for a thinker, with `colour` to move.

        After two passes the game goes on: somebody wants to see it cleaned up.
        """
        board = self.counted()
        board.to_play = colour
        if board.ended:
            board.reopen()
        return board

    def play(self, move: int, colour: int) -> None:
        """Play a turn that somebody else decided.

        Superko does not forbid it: other programs compare positions in other ways.
        """
        self.board.play(move, colour, superko=False)

    def place(self, stones: dict[int, int], to_play: int, *, handicap: int = 0) -> None:
        """Set up an empty board: handicap, or a whole position without history."""
        fresh = Board(self.board.size, komi=self.board.komi, ko=self.ko)
        black, white = (
            [point for point, owner in stones.items() if owner == colour]
            for colour in (BLACK, WHITE)
        )
        fresh.setup(black=black, white=white)
        fresh.to_play = to_play
        self.board = fresh
        self.placed = dict(stones)
        self.handicap = handicap

    def load(self, record: GameRecord, moves: int | None = None) -> None:
        """Take over a record after `moves` moves (None: all).

        Raises ValueError at an illegal move, and changes nothing then.
        """
        count = len(record.moves) if moves is None else min(moves, len(record.moves))
        komi = self.board.komi if np.isnan(record.komi) else float(record.komi)
        self.board, self.placed = replay(record, count, komi, self.ko)
        self.handicap = record.handicap

    def record(self, black: str = "", white: str = "", result: str = "?") -> GameRecord:
        """Return the game so far, ready for `write_game`."""
        points = sorted(self.placed)
        moves = self.board.moves
        return GameRecord(
            size=self.board.size,
            moves=np.array([move for move, _ in moves], np.int16),
            colours=np.array([colour for _, colour in moves], np.int8),
            setup_ply=np.zeros(len(points), np.int16),
            setup_point=np.array(points, np.int16),
            setup_colour=np.array([self.placed[point] for point in points], np.int8),
            komi=self.board.komi,
            # Chinese rules would give White points for the stones, Tromp-Taylor rules do not
            rules=self.counting or ("tromp-taylor" if self.handicap else "Chinese"),
            result=result,
            handicap=self.handicap,
            first=self.board.to_play if points and not moves else 0,
            black_name=black,
            white_name=white,
        )
