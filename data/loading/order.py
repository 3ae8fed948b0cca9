"""Which rows make which batch: a pure function of a seed and of the batch's number.

So training can resume anywhere. The batches of a run are numbered from 0 without end. One *pass*
over the rows is dealt in four steps:

    1. the HDF5 chunks are put in random order and laid end to end
    2. each rank takes an equal stretch
    3. a stretch is cut into *pools*, and each pool is shuffled
    4. a pool is cut into batches

So a row comes at most once in a pass, on one rank, and a chunk is read once (twice where a pool
ends within it). Rows that would not fill a batch on every rank are left out, other rows each time.
An *epoch* is one pass, or eight where each row comes in all symmetries.

Randomness is a hash of a row, of a place in a pool, or of a game, with a key made of the seed and
the number of the pass. It does not depend on library versions, or on earlier draws.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from data.base.random_kernels import STEP
from data.dataset.file import DatasetFile
from data.dataset.layout import CHUNK, DatasetError
from data.features.uniform import CONDITIONS
from data.game.coords import PASS
from data.game.symmetry import COUNT

# 225 different games in a batch of 256, where a shuffle of millions of rows has 254; half as many:
# 199
POOL_ROWS = 131_072
EVALUATION_ROWS = 8192  # read at once where nothing is shuffled
EVALUATION_SEED = 0  # the same positions in every run


@dataclass(frozen=True, slots=True)
class Pool:
    """Batches that are read together."""

    first: int  # number of the first one
    rows: list[np.ndarray]  # int64, one array a batch
    turns: list[np.ndarray]  # uint8, the symmetry of each row
    # uint8: bit k hides `CONDITIONS[k]` of a row; None hides nothing
    hidden: list[np.ndarray] | None = None

    def select(self, batches: list[int]) -> "Pool":
        """Return some of the batches, for one worker."""
        rows, turns = ([column[k] for k in batches] for column in (self.rows, self.turns))
        hidden = None if self.hidden is None else [self.hidden[k] for k in batches]
        return Pool(self.first, rows, turns, hidden)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rows of a split that may be drawn: all of them, or those of some games.

    With `left_out` all numbers here but those count the rows without the ones that are left out.
    """

    start: int
    stop: int
    # int64 [games, 2], the first row of each and the one after its last
    games: np.ndarray | None = None
    per_game: int | None = None  # rows drawn of each game; None is all
    left_out: np.ndarray | None = None  # int64, increasing rows of the file

    def without(self, left_out: np.ndarray | None) -> "Candidates":
        """Return the same candidates but these rows, int64, increasing; None is none."""
        if left_out is None or not len(left_out):
            return self
        start, stop = (int(row - np.searchsorted(left_out, row)) for row in (self.start, self.stop))
        games = self.games
        if games is not None:
            games = games - np.searchsorted(left_out, games)
            games = games[games[:, 1] > games[:, 0]]
        return Candidates(start, stop, games, self.per_game, left_out)

    def __len__(self) -> int:
        if self.games is None:
            return self.stop - self.start
        lengths = self.games[:, 1] - self.games[:, 0]
        return int((lengths if self.per_game is None else np.minimum(lengths, self.per_game)).sum())

    def draw(self, key: int) -> "Selection":
        drawn = self.numbers(key)
        if self.left_out is None:
            return drawn
        numbers = drawn.at(np.arange(drawn.count))
        before = self.left_out - np.arange(len(self.left_out))  # kept rows before each of them
        return Selection.of(numbers + np.searchsorted(before, numbers, side="right"))

    def numbers(self, key: int) -> "Selection":
        if self.games is None:
            return Selection(self.start, len(self))
        first, stop = self.games[:, :1], self.games[:, 1:]
        if self.per_game is None:
            lengths = (stop - first)[:, 0]
            return Selection.of(
                np.repeat(first[:, 0] - np.cumsum(lengths) + lengths, lengths)
                + np.arange(len(self))
            )
        # One row of each of k equal parts of the game. Parts are empty where a game has fewer rows
        # than k.
        part = np.arange(self.per_game)
        low = first + part * (stop - first) // self.per_game  # [games, k]
        high = first + (part + 1) * (stop - first) // self.per_game
        hashes = hashed(key, np.arange(low.size)).reshape(low.shape)
        rows = low + (hashes % np.maximum(high - low, 1).astype(np.uint64)).astype(np.int64)
        return Selection.of(rows[high > low])


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows that were drawn, numbered from 0 in the order of the file."""

    first: int
    count: int
    # int64 [count], increasing; None: one after the other from `first`
    rows: np.ndarray | None = None

    @staticmethod
    def of(rows: np.ndarray) -> "Selection":
        return Selection(int(rows[0]) if len(rows) else 0, len(rows), rows)

    def edges(self) -> np.ndarray:
        """int64 [blocks + 1]: the rows edges[i]..edges[i + 1] lie in one HDF5 chunk."""
        if self.rows is not None:
            inner = np.flatnonzero(np.diff(self.rows // CHUNK)) + 1
        else:
            inner = np.arange(CHUNK - self.first % CHUNK, self.count, CHUNK)
        return np.concatenate([[0], inner, [self.count]]).astype(np.int64)

    def at(self, numbers: np.ndarray) -> np.ndarray:
        return self.first + numbers if self.rows is None else self.rows[numbers]


@dataclass(frozen=True)
class TrainOrder:
    candidates: Candidates
    batch_size: int
    pool_rows: int = POOL_ROWS
    seed: int = 0
    # 'random', 'none', or 'all': each row eight times an epoch, once in each pass
    symmetries: str = "random"
    rank: int = 0
    world: int = 1
    unknown: float = 0.0  # how often each condition is hidden

    @property
    def passes(self) -> int:
        """Passes in an epoch."""
        return COUNT if self.symmetries == "all" else 1

    @property
    def batches(self) -> int:
        """Batches in a pass, on each rank."""
        return len(self.candidates) // (self.batch_size * self.world)

    def __len__(self) -> int:
        """Batches in an epoch, on each rank."""
        return self.batches * self.passes

    def left_out(self) -> int:
        """Rows that a pass leaves out."""
        return len(self.candidates) - self.batches * self.batch_size * self.world

    def pools(self, start: int) -> Iterator[Pool]:
        """Without end; the first one has batch number `start` somewhere in it."""
        if not self.batches:
            raise DatasetError(
                f"{len(self.candidates)} positions to train with are less than a batch of "
                f"{self.batch_size}" + f" on each of {self.world} processes" * (self.world > 1)
            )
        # Pools are not smaller than `pool_rows`: a small last pool would mix few games.
        pools = max(1, self.batches * self.batch_size // self.pool_rows)
        bounds = [self.batches * k // pools for k in range(pools + 1)]
        number, batch = divmod(start, self.batches)
        while True:
            deal = Deal(
                self.candidates.draw(key(self.seed, "draw", number // self.passes)),
                key(self.seed, "blocks", number),
            )
            for first, stop in pairwise(bounds):
                if batch < stop:
                    yield self.pool(number, deal, first, stop)
            number, batch = number + 1, 0

    def pool(self, number: int, deal: "Deal", first: int, stop: int) -> Pool:
        """The batches first..stop of a pass."""
        own = self.rank * self.batches
        rows = deal.rows((own + first) * self.batch_size, (own + stop) * self.batch_size)
        rows = rows[shuffled(len(rows), key(self.seed, "pool", number, own + first))]
        turns = self.turns(number, rows)
        shape = (stop - first, self.batch_size)
        return Pool(
            number * self.batches + first,
            list(rows.reshape(shape)),
            list(turns.reshape(shape)),
            list(self.hidden(number, rows).reshape(shape)) if self.unknown else None,
        )

    def hidden(self, number: int, rows: np.ndarray) -> np.ndarray:
        """uint8: which conditions of each row are hidden, by the row and the pass alone."""
        return hide(rows, self.unknown, self.seed, number)

    def turns(self, number: int, rows: np.ndarray) -> np.ndarray:
        """uint8: the symmetry of each row.

        It depends on the row and the pass alone, so that eight passes show all eight.
        """
        if self.symmetries == "none":
            return np.zeros(len(rows), np.uint8)
        drawn = hashed(key(self.seed, "turns", number // self.passes), rows) >> np.uint64(61)
        return ((drawn + np.uint64(number % self.passes)) % np.uint64(COUNT)).astype(np.uint8)


class Deal:
    """The blocks of a selection in random order, laid end to end."""

    def __init__(self, selection: Selection, key: int):
        self.selection = selection
        edges = selection.edges()
        order = shuffled(len(edges) - 1, key)
        self.starts = edges[:-1][order]
        # the place at which each begins
        self.bounds = np.concatenate([[0], np.cumsum(np.diff(edges)[order])])

    def rows(self, first: int, stop: int) -> np.ndarray:
        """int64: the rows at these places."""
        places = np.arange(first, stop)
        block = np.searchsorted(self.bounds, places, side="right") - 1
        return self.selection.at(self.starts[block] + places - self.bounds[block])


@dataclass(frozen=True)
class EvaluationOrder:
    """Every candidate once over all ranks, in the order of the file, unturned.

    All ranks have equally many batches, none of them empty: collective operations of a net wait for
    each other. Only with fewer rows than ranks is there none at all.
    """

    candidates: Candidates
    batch_size: int
    rank: int = 0
    world: int = 1
    unknown: float = 0.0  # how often each condition is hidden, the same ones each time

    def __len__(self) -> int:
        """Batches on each rank."""
        most = (len(self.candidates) + self.world - 1) // self.world  # rows of one rank
        return (most + self.batch_size - 1) // self.batch_size

    def pools(self, start: int = 0) -> Iterator[Pool]:
        selection = self.candidates.draw(key(EVALUATION_SEED, "evaluation"))
        low, high = (selection.count * (self.rank + k) // self.world for k in range(2))
        batches = min(len(self), high - low)
        edges = [low] + [
            min(low + k * self.batch_size, high - (batches - k)) for k in range(1, batches + 1)
        ]
        step = max(1, EVALUATION_ROWS // self.batch_size)
        for first in range(start, batches, step):
            stop = min(first + step, batches)
            rows = [selection.at(np.arange(edges[k], edges[k + 1])) for k in range(first, stop)]
            hidden = [hide(batch, self.unknown, EVALUATION_SEED) for batch in rows]
            turns = [np.zeros(len(batch), np.uint8) for batch in rows]
            yield Pool(first, rows, turns, hidden if self.unknown else None)


def hide(rows: np.ndarray, share: float, *parts: int | str) -> np.ndarray:
    """uint8: bit k says that `CONDITIONS[k]` of a row is hidden, each with chance `share`.

    Half of that is done together: sometimes nothing is known at all, and the two ranks are often
    both unknown. So a net also knows positions of which some conditions are known.
    """
    out = np.zeros(len(rows), np.uint8)
    for number, (bits, chance) in enumerate(hiding(share)):
        drawn = hashed(key(*parts, "unknown", number), rows) >> np.uint64(11)
        out |= np.where(drawn < chance * (1 << 53), np.uint8(bits), np.uint8(0))
    return out


def hiding(share: float) -> list[tuple[int, float]]:
    """Independent draws after which each condition is hidden with chance `share`.

    A draw hides the conditions in its bits. Two draws of the chances a and b hide with the chance
    a + b - ab: `half` and `rest` make `share`.
    """
    ranks = [k for k, name in enumerate(CONDITIONS) if name.endswith("rank")]
    half, rest = share / 2, share / (2 - share)
    draws = [((1 << len(CONDITIONS)) - 1, half), (sum(1 << k for k in ranks), rest / 2)]
    return draws + [
        (1 << k, rest / (2 - rest) if k in ranks else rest) for k in range(len(CONDITIONS))
    ]


def candidates(
    file: DatasetFile,
    split: str,
    target: str,
    per_game: int | None,
    left_out: np.ndarray | None = None,
) -> Candidates:
    """The rows of a split; `target='value'` leaves out the games with games/value 0."""
    start, stop = file.split_rows[split]
    if target == "move" and per_game is None:
        return Candidates(start, stop).without(left_out)
    first, end = file.split_games[split]
    bounds = file.first_row[first : end + 1]
    games = np.stack([bounds[:-1], bounds[1:]], axis=1)
    usable = games[:, 1] > games[:, 0]
    if target == "value":
        usable &= file.games["value"][first:end] != 0
    return Candidates(start, stop, games[usable], per_game).without(left_out)


def find_passes(file: DatasetFile) -> np.ndarray | None:
    """int64: the rows of passes, increasing; None where the file has none."""
    if not file.passes:
        return None
    column, found = file.positions["move"], [np.zeros(0, np.int64)]
    for first in range(0, len(file), 1 << 22):
        found.append(first + np.flatnonzero(column[first : first + (1 << 22)] == PASS))
    return np.concatenate(found)


def key(*parts: int | str) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "little")


def hashed(key: int, numbers: np.ndarray) -> np.ndarray:
    """uint64, as good as random: entries `numbers` of the SplitMix64 sequence of `key`."""
    z = np.uint64(key) + (numbers.astype(np.uint64) + np.uint64(1)) * STEP
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def shuffled(count: int, key: int) -> np.ndarray:
    """A permutation of 0..count, int64."""
    return np.argsort(hashed(key, np.arange(count)), kind="stable")
