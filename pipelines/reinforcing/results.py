"""What a game means for the learner, who is player `LEARNER` and has one colour alone."""

from mcts.selfplay.games import PlayedGame

LEARNER = 0  # its place among the players of a game


def learns_as(game: PlayedGame) -> int:
    """Return the learner's colour."""
    return 1 if game.assignment.players[0] == LEARNER else -1


def result_of(game: PlayedGame) -> float:
    """Return the result for the learner: +1, 0 or -1."""
    return float(game.winner * learns_as(game))


def points_of(game: PlayedGame) -> float:
    """Return the points of the learner: 1, 0.5 or 0."""
    return 0.5 * (1 + result_of(game))
