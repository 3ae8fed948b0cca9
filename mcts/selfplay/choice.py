"""`Choice`: how players of self-play choose among the moves that they may play."""

from dataclasses import dataclass

from data.base.errors import Mistake


@dataclass(frozen=True)
class Choice:
    # Moves are drawn by chance ** (1 / temperature): 1 as the net says, 0 always the best one.
    # For searches with gumbel see `Thinking`.
    temperature: float = 1.0
    warm_turns: int = 0  # turns to which the temperature applies, the best move after; 0: all
    random_symmetry: bool = False  # nets see each position turned by a random symmetry
    resign_at: float = -1.0  # a player resigns whose own value falls below; -1: nobody does
    resign_after: int = 0  # turns in which nobody resigns, from the start
    play_on: float = 0.1  # share of games in which nobody resigns
    # Moves in territory that is safe already are allowed, too. A search then looks at all legal
    # moves, even at those that fill an own eye and are never played: it is that of `Search`.
    useless: bool = False
    keep_allowed: bool = False  # games remember among which moves each one was chosen

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise Mistake(f"temperature={self.temperature}: a number from 0 up")
        if self.warm_turns < 0:
            raise Mistake(f"warm_turns={self.warm_turns}: a number from 1 up, or 0 for all turns")
        if not -1 <= self.resign_at <= 1:
            raise Mistake(f"resign_at={self.resign_at}: a value from -1 to 1")
        if self.resign_after < 0:
            raise Mistake(f"resign_after={self.resign_after}: a number from 0 up")
        if not 0 <= self.play_on <= 1:
            raise Mistake(f"play_on={self.play_on}: a share from 0 to 1")
