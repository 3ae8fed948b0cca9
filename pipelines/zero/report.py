"""`RoundReport`: what a round was like. A row of rounds.csv, TensorBoard, the live view.

`meanings.py` explains each number, and what to do when it goes wrong. A number that a round does
not have is NaN.
"""

from dataclasses import dataclass

NAN = float("nan")


@dataclass(frozen=True)
class RoundReport:
    round: int  # from 0
    # --- games of this round
    games: int  # of the run so far
    net: int = -1  # that played, as in nets/; behind a gate it may be an older one
    length: float = NAN  # turns, mean
    black_wins: float = NAN  # share of decided games
    drawn: float = NAN  # share
    resigned: float = NAN  # share
    wrongly_resigned: float = NAN  # of the games played on in which somebody would have resigned
    resign_at: float = -1.0
    too_long: float = NAN  # share that the limit of turns ended
    different: float = NAN  # share of games that are not the same as another one of the round
    evaluations: int = 0  # of nets, in this round's games
    mean_batch: float = NAN
    # --- memory
    rows: int = 0  # with a full search, of the run so far
    new_rows: int = 0
    window: int = 0  # rows that the round learned from
    uses: float = NAN  # of a row that leaves the window, mean
    # --- learning
    steps: int = 0  # of the optimiser, of the run so far
    lr: float = NAN
    loss: float = NAN
    policy_loss: float = NAN
    mse: float = NAN
    owner_mse: float = NAN
    reply_loss: float = NAN
    score_loss: float = NAN
    top1: float = NAN  # how often the net's first move is the search's, on new rows before learning
    entropy: float = NAN  # of the net's moves, nats, on new rows
    search_entropy: float = NAN  # of the search's moves
    kl: float = NAN  # between the net before and after the round
    explained_before: float = NAN  # 1 - var(z - v) / var(z), on new rows before learning: unseen
    explained_after: float = NAN
    # --- time, in seconds of work of all cores
    seconds: float = 0.0  # wall clock of the round
    play_seconds: float = 0.0
    learn_seconds: float = 0.0
    match_seconds: float = 0.0
    other_seconds: float = 0.0  # cores times wall clock, less all of these
    core_hours: float = 0.0  # of the run so far


@dataclass(frozen=True)
class MatchReport:
    """Games of the net that round `round` - 1 made; the row of matches.csv."""

    round: int
    opponent: str  # playouts, gnugo, before
    strength: int  # playouts; level of GNU Go; round of the net before
    simulations: int  # of the net
    games: int
    won: int
    drawn: int
    seconds: float  # of all cores
    core_hours: float = 0.0  # of the run when it was played

    @property
    def share(self) -> float:
        """The share of games won; a draw is half a win."""
        return (self.won + 0.5 * self.drawn) / max(1, self.games)
