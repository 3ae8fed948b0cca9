"""Which rows make which batch: everything once, nothing twice, and the same again from any batch."""

from itertools import islice

import numpy as np
import pytest

from data.dataset.file import DatasetFile
from data.dataset.layout import CHUNK, DatasetError
from data.loading.order import (
    Candidates,
    Deal,
    EvaluationOrder,
    Pool,
    Selection,
    TrainOrder,
    candidates,
    hashed,
)
from tests.support.small_dataset import write_dataset

ROWS = Candidates(100, 5100)  # begins and ends within chunks
SOME_GAMES = np.array([[0, 5], [5, 300], [700, 701], [701, 2000], [2000, 2003]])


def batches(order, start: int, count: int) -> list[tuple[list[int], list[int]]]:
    """Rows and symmetries of the batches from number `start` on."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for pool in order.pools(start):
        for k in range(len(pool.rows)):
            found[pool.first + k] = (pool.rows[k].tolist(), pool.turns[k].tolist())
        if start + count - 1 in found:
            break
    return [found[k] for k in range(start, start + count)]


def one_epoch(order) -> list[tuple[list[int], list[int]]]:
    return batches(order, 0, len(order))


@pytest.mark.parametrize("pool_rows", [32, 1000, 10**6])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_pass_has_each_row_once_over_all_ranks(world: int, pool_rows: int) -> None:
    orders = [TrainOrder(ROWS, 32, pool_rows, rank=rank, world=world) for rank in range(world)]
    rows = [row for order in orders for batch, _ in one_epoch(order) for row in batch]
    assert len(set(rows)) == len(rows) == len(ROWS) - orders[0].left_out()
    assert set(rows) <= set(range(ROWS.start, ROWS.stop))
    assert orders[0].left_out() == len(ROWS) % (32 * world)
    assert len({len(order) for order in orders}) == 1


def test_rows_left_out_are_others_in_each_pass() -> None:
    order = TrainOrder(ROWS, 999, 2000)
    stream = batches(order, 0, 4 * len(order))
    missing = [
        set(range(100, 5100))
        - {row for batch, _ in stream[k * len(order) : (k + 1) * len(order)] for row in batch}
        for k in range(4)
    ]
    assert all(len(rows) == order.left_out() > 0 for rows in missing)
    assert not set.intersection(*missing)


@pytest.mark.parametrize("symmetries", ["random", "none", "all"])
def test_stream_begins_anywhere(symmetries: str) -> None:
    order = TrainOrder(
        Candidates(0, 0, SOME_GAMES, per_game=20), 16, 32, seed=3, symmetries=symmetries
    )
    stream = batches(order, 0, 3 * len(order) + 2)
    for start in range(len(stream)):
        assert batches(order, start, len(stream) - start) == stream[start:]


def test_order_hangs_on_seed_and_epoch() -> None:
    first, again, other = (one_epoch(TrainOrder(ROWS, 64, 500, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    two_epochs = batches(order := TrainOrder(ROWS, 64, 500, seed=1), 0, 2 * len(order))
    assert two_epochs[: len(order)] == first != two_epochs[len(order) :]


def test_batches_do_not_change_with_libraries() -> None:
    """Written down once: a resumed run would not see its batches if this changed."""
    rows, turns = batches(TrainOrder(ROWS, 4, 500, seed=1), 7, 1)[0]
    assert (rows, turns) == GOLDEN


GOLDEN = ([5033, 4259, 4224, 4337], [1, 1, 2, 3])


def test_random_symmetries_are_even_and_new_each_pass() -> None:
    order = TrainOrder(Candidates(0, 80_000), 100, 10_000)
    stream = batches(order, 0, 2 * len(order))
    drawn = np.array([turn for _, turns in stream[: len(order)] for turn in turns])
    assert np.all(np.abs(np.bincount(drawn, minlength=8) - 10_000) < 500)
    passes = [
        {row: turn for batch in half for row, turn in zip(*batch, strict=True)}
        for half in (stream[:800], stream[800:])
    ]
    assert 0.1 < np.mean([passes[0][row] == passes[1][row] for row in passes[0]]) < 0.15


def test_all_symmetries_come_once_an_epoch_and_spread_over_it() -> None:
    order = TrainOrder(Candidates(0, 640), 64, 128, symmetries="all")
    stream = one_epoch(order)
    seen = [(row, turn) for batch in stream for row, turn in zip(*batch, strict=True)]
    assert sorted(seen) == [(row, turn) for row in range(640) for turn in range(8)]
    assert sorted(row for batch, _ in stream[:10] for row in batch) == list(range(640))
    assert len(set(stream[0][1])) > 1


def test_pools_are_not_smaller_than_asked_for() -> None:
    order = TrainOrder(ROWS, 10, 1200)
    sizes = [sum(map(len, pool.rows)) for pool in islice(order.pools(0), 4)]
    assert sizes == [1250] * 4


def test_batches_mix_games_nearly_as_a_full_shuffle_does() -> None:
    rows, length = 6_000_000, 180
    order = TrainOrder(Candidates(0, rows), 256)
    different = [len({row // length for row in batch}) for batch, _ in batches(order, 0, 200)]
    assert np.mean(different) > 0.88 * 254  # of a shuffle of all rows


def test_each_chunk_is_read_for_at_most_two_pools() -> None:
    order = TrainOrder(Candidates(50, 100_000), 64, 10_000)
    pools = list(islice(order.pools(0), order.batches * 64 // 10_000))
    chunks = [chunk for pool in pools for chunk in np.unique(np.concatenate(pool.rows) // CHUNK)]
    assert max(np.bincount(chunks)) <= 2
    assert len(chunks) <= len(set(chunks)) + len(pools)


@pytest.mark.parametrize("per_game", [1, 2, 7])
def test_positions_per_game(per_game: int) -> None:
    rule = Candidates(0, 0, SOME_GAMES, per_game)
    lengths = SOME_GAMES[:, 1] - SOME_GAMES[:, 0]
    for key in range(20):
        rows = (drawn := rule.draw(key)).at(np.arange(drawn.count))
        assert np.all(np.diff(rows) > 0)
        counts = [np.sum((rows >= first) & (rows < stop)) for first, stop in SOME_GAMES]
        assert counts == np.minimum(lengths, per_game).tolist()
        assert len(rows) == len(rule)


def test_every_position_of_a_game_is_drawn_equally_often() -> None:
    rule = Candidates(0, 0, np.array([[10, 40]]), 1)
    counts = np.bincount(
        [int(rule.draw(key).at(np.array([0]))[0]) for key in range(6000)], minlength=40
    )
    assert np.all(counts[:10] == 0)
    assert np.all(np.abs(counts[10:] - 200) < 70)  # five standard deviations


def test_all_rows_of_some_games() -> None:
    drawn = Candidates(0, 0, SOME_GAMES).draw(0)
    assert drawn.at(np.arange(drawn.count)).tolist() == [
        row for first, stop in SOME_GAMES for row in range(first, stop)
    ]


@pytest.mark.parametrize(
    "selection",
    [Selection(100, 1000), Selection.of(np.arange(37, 3000, 13)), Selection(3, 4), Selection(5, 0)],
)
def test_deal_has_each_number_once_and_keeps_blocks_together(selection: Selection) -> None:
    deal = Deal(selection, 5)
    rows = deal.rows(0, selection.count)
    assert sorted(rows) == selection.at(np.arange(selection.count)).tolist()
    assert np.count_nonzero(np.diff(rows // CHUNK)) < len(selection.edges())
    for first, stop in ((0, 0), (0, selection.count // 2), (selection.count // 3, selection.count)):
        assert deal.rows(first, stop).tolist() == rows[first:stop].tolist()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 31, 32, 33, 64, 65, 66, 1000])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_evaluation_has_each_row_once_in_order(count: int, world: int) -> None:
    orders = [EvaluationOrder(Candidates(77, 77 + count), 32, rank, world) for rank in range(world)]
    pools: list[list[Pool]] = [list(order.pools()) for order in orders]
    rows = [row for rank in pools for pool in rank for batch in pool.rows for row in batch]
    assert rows == list(range(77, 77 + count))
    assert all(len(batch) <= 32 for rank in pools for pool in rank for batch in pool.rows)
    if count >= world:  # all ranks have as many batches, and none is empty
        assert {sum(len(pool.rows) for pool in rank) for rank in pools} == {len(orders[0])}
        assert all(len(batch) for rank in pools for pool in rank for batch in pool.rows)


def test_evaluation_keeps_the_last_batch() -> None:
    assert [
        len(batch) for pool in EvaluationOrder(Candidates(0, 70), 32).pools() for batch in pool.rows
    ] == [32, 32, 6]


def test_candidates_of_a_file(tmp_path) -> None:
    file = DatasetFile(write_dataset(tmp_path / "small.h5"))
    start, stop = file.split_rows["validation"]
    assert candidates(file, "validation", "move", None) == Candidates(start, stop)
    first, end = file.split_games["train"]
    lengths = np.diff(file.games["first_row"][:])[first:end]
    teaching = (file.games["value"][first:end] != 0) & (lengths > 0)
    assert len(candidates(file, "train", "value", 1)) == teaching.sum() < end - first
    assert len(candidates(file, "train", "value", None)) == lengths[teaching].sum()
    assert len(candidates(file, "train", "move", 2)) == np.minimum(lengths, 2).sum()


def test_less_than_a_batch_is_refused() -> None:
    with pytest.raises(
        DatasetError,
        match="10 positions to train with are less than a batch of 6 on each of 2 processes",
    ):
        next(TrainOrder(Candidates(0, 10), 6, world=2).pools(0))


def test_hashes_are_even() -> None:
    values = hashed(12345, np.arange(80_000))
    assert len(set(values.tolist())) == 80_000
    for shift in range(0, 64, 4):
        counts = np.bincount(
            ((values >> np.uint64(shift)) & np.uint64(15)).astype(int), minlength=16
        )
        assert np.all(np.abs(counts - 5000) < 350)
