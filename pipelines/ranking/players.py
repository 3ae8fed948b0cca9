"""The players of some games, and how likely their moves are under each rank."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from data.base.errors import Mistake
from data.features.encoders import encoder_of
from data.features.evaluation import Evaluator, Positions
from data.features.uniform import Known, source_codes
from data.game.coords import BLACK, PASS
from data.records.load import NoGame, load_record
from data.records.metadata import to_compensation
from data.records.record import GameRecord
from mcts.play.replay import walk
from pipelines.evaluating.told import log_likelihoods
from pipelines.ranking.options import RankOptions, sizes_of

COLOURS = {1: "Black", -1: "White"}


class RankError(Mistake):
    """There are no moves whose rank could be estimated."""


@dataclass
class Player:
    """The moves of one player, of one game or more."""

    name: str
    recorded: list[int] = field(default_factory=list)  # the ranks in the records, 0 is unknown
    games: int = 0
    parts: list[np.ndarray] = field(default_factory=list)  # float32 [moves, ranks], one a game

    @property
    def log_likelihoods(self) -> np.ndarray:
        """float32 [moves, ranks]."""
        return np.concatenate(self.parts)


def read_games(options: RankOptions) -> list[GameRecord]:
    """Read the first game of each file. Raises `RankError`."""
    games = []
    for path in options.game or ():
        try:
            games.append(load_record(path))
        except NoGame as error:
            raise RankError(f"{path}: {error}") from None
    return games


def players_of(
    net: Evaluator,
    games: Sequence[GameRecord],
    ranks: Sequence[int],
    options: RankOptions,
) -> list[Player]:
    """Return the players in the order of the games; who has one name in several is one player.

    Raises `RankError`.
    """
    found: dict[str, Player] = {}
    for game in games:
        matrix, colours = game_likelihoods(net, game, ranks, options)
        for colour in COLOURS:
            name = name_of(game, colour)
            if options.player is not None and name != options.player:
                continue
            player = found.setdefault(name, Player(name))
            player.recorded.append(game.black_rank if colour == BLACK else game.white_rank)
            player.games += 1
            player.parts.append(matrix[colours == colour])
    if not found:
        names = sorted({name_of(game, colour) for game in games for colour in COLOURS})
        raise RankError(f"player={options.player}: there are {', '.join(names)}")
    return [player for player in found.values() if sum(map(len, player.parts))]


def name_of(game: GameRecord, colour: int) -> str:
    """Return the name of a player, or colour and file where the record has no names."""
    name = game.black_name if colour == BLACK else game.white_name
    if name and game.black_name != game.white_name:
        return name
    return f"{COLOURS[colour]} of {Path(game.source).name}"


def game_likelihoods(
    net: Evaluator, game: GameRecord, ranks: Sequence[int], options: RankOptions
) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix [moves, ranks] of a game, and the colour of each of its moves.

    Passes and handicap stones that were laid as moves are left out. Raises `RankError`.
    """
    face = net.face
    if not face.fits(game.size):
        raise RankError(f"{game.source}: {game.size}x{game.size}, the net is for {sizes_of(face)}")
    komi = 0.0 if np.isnan(game.komi) else float(game.komi)
    komi += to_compensation(game.handicap, game.rules)
    encoder = encoder_of(face.features)
    plies = chosen_plies(game)
    wanted = set(plies.tolist())
    try:
        packed = [
            encoder.packed(board)
            for ply, (board, _) in enumerate(walk(game, komi))
            if ply in wanted
        ]
    except Mistake as error:
        raise RankError(f"{game.source}: {error}") from None
    if not packed:
        raise RankError(f"{game.source}: the game has no moves")
    known = known_of(game, komi, options)
    parts = []
    for first in range(0, len(plies), options.batch_size):
        some = plies[first : first + options.batch_size]
        positions = Positions(
            np.stack(packed[first : first + len(some)]),
            game.colours[some],
            Known(**{name: np.repeat(value, len(some)) for name, value in known.items()}),
        )
        same = options.opponent == "same"
        parts.append(log_likelihoods(net, positions, game.moves[some], ranks, same_opponent=same))
    return np.concatenate(parts), game.colours[plies]


def chosen_plies(game: GameRecord) -> np.ndarray:
    """Return the plies of moves that a player has chosen: no passes, no handicap stones."""
    chosen = game.moves != PASS
    if game.handicap >= 2:
        whites = np.flatnonzero(game.colours != BLACK)
        chosen[: whites[0] if len(whites) else len(chosen)] = False
    return np.flatnonzero(chosen)


def known_of(game: GameRecord, komi: float, options: RankOptions) -> dict[str, np.ndarray]:
    """Return what the net is told of a game, as columns of `Known` with one entry."""
    year = options.year or (int(game.date[:4]) if game.date[:4].isdigit() else 0)
    return {
        "komi": np.array([komi], np.float32),
        "source": source_codes([options.source or game.server]),
        "year": np.array([year], np.int16),
    }
