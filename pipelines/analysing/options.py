"""The options of `analyze_game.py`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pipelines.engine.options import ThinkerOptions
from pipelines.shell.options import Above, AtLeast, OptionError


@dataclass(frozen=True)
class AnalysisOptions(ThinkerOptions):
    seconds: Annotated[float, Above(0)] | None
    game: str
    first: Annotated[int, AtLeast(1)]
    last: Annotated[int, AtLeast(1)] | None
    komi: float | None
    board: int | Literal["worst"] | None
    output: str

    def __post_init__(self) -> None:
        super().__post_init__()
        first, last, board = self.first, self.last, self.board
        if last is not None and last < first:
            raise OptionError(f"first={first} last={last}: the last move is before the first")
        if isinstance(board, int) and (board < first or (last is not None and board > last)):
            analysed = f"from {first} on" if last is None else f"{first} to {last}"
            raise OptionError(f"board={board}: not among the moves that are analysed ({analysed})")
