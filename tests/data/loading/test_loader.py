"""Batches against the rows they are made of, turned a second way; and what reading costs in
memory.
"""

import json
import tracemalloc
from itertools import islice
from pathlib import Path

import h5py
import numpy as np
import pytest

from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.dataset.positions import read_rows
from data.features.alphago48 import unpack
from data.loading.loader import Batch, Loader
from data.loading.order import Candidates, EvaluationOrder, TrainOrder
from data.loading.planes import StoredPlanes, choose_inputs
from data.loading.targets import Targets
from tests.support.small_dataset import packed_of_row, write_dataset


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> DatasetFile:
    return DatasetFile(write_dataset(tmp_path_factory.mktemp("loader") / "small.h5"))


def train(file: DatasetFile, **order) -> TrainOrder:
    return TrainOrder(Candidates(*file.split_rows["train"]), 16, pool_rows=200, **order)


def planes_of(file: DatasetFile, planes: int) -> StoredPlanes:
    return StoredPlanes(file, choose_inputs(file, False, planes=planes))


def turn(board: np.ndarray, symmetry: int) -> np.ndarray:
    """[..., size, size] turned as `symmetry.py` says, with NumPy's own means."""
    board = np.swapaxes(board, -1, -2) if symmetry & 4 else board
    board = np.flip(board, -2) if symmetry & 1 else board
    return np.flip(board, -1) if symmetry & 2 else board


@pytest.mark.parametrize("size", [9, 19])
@pytest.mark.parametrize("planes", [48, 49, 50, 20, 12, 4, 1, 13])
def test_planes_and_move_turn_together(tmp_path: Path, size: int, planes: int) -> None:
    file = DatasetFile(write_dataset(tmp_path / "small.h5", games=20, size=size))
    stored = {
        name: file.positions[name][:] for name in ("move", "to_play", "outcome", "game", "ply")
    }
    seen = set()
    for batch in islice(Loader(file, train(file), planes_of(file, planes)).batches(), 12):
        assert batch["planes"].dtype == np.uint8 and batch["planes"].flags.c_contiguous
        assert (
            batch["move"].dtype == batch["row"].dtype == np.int64
            and batch["outcome"].dtype == np.float32
        )
        for i, row in enumerate(batch["row"]):
            symmetry = int(batch["symmetry"][i])
            expected = turn(unpack(packed_of_row(row, size), size), symmetry)[:planes]
            if planes >= 49:
                expected = np.concatenate(
                    [expected, np.full((1, size, size), stored["to_play"][row] > 0, np.uint8)]
                )
            if planes == 50:
                game = stored["game"][row]
                # see small_dataset.py: every seventh has 3, AGA rules pay for one less
                stones = 0 if game % 7 else 3 - game % 2
                given = -stored["to_play"][row] * (file.games["komi"][game] + stones)
                expected = np.concatenate(
                    [expected, np.full((1, size, size), 128 + 2 * given, np.uint8)]
                )
            assert np.array_equal(np.moveaxis(batch["planes"][i], -1, 0), expected)
            marked = np.zeros((size, size), np.uint8)
            marked.flat[stored["move"][row]] = 1
            assert turn(marked, symmetry).flat[batch["move"][i]] == 1
            assert batch["outcome"][i] == stored["outcome"][row]
            assert batch["game"][i] == stored["game"][row] and batch["ply"][i] == stored["ply"][row]
            seen.add(symmetry)
    assert seen == set(range(8))


def test_owners_turn_with_the_planes_and_are_the_players(file: DatasetFile) -> None:
    owners = np.random.default_rng(5).integers(-127, 128, (60, 81)).astype(np.int8)
    to_play = file.positions["to_play"][:]
    for batch in islice(
        Loader(file, train(file), targets=Targets(file, owners=owners)).batches(), 4
    ):
        assert batch["owner"].dtype == np.float32
        for i, game in enumerate(batch["game"]):
            expected = (
                turn(owners[game].reshape(9, 9), int(batch["symmetry"][i]))
                / 127.0
                * to_play[batch["row"][i]]
            )
            np.testing.assert_allclose(batch["owner"][i].reshape(9, 9), expected, atol=1e-6)


@pytest.mark.parametrize("prefetch", [False, True])
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("start", [0, 5, 70])
def test_workers_share_the_batches_of_one(
    file: DatasetFile, workers: int, start: int, prefetch: bool
) -> None:
    loader = Loader(file, train(file, seed=4), prefetch=prefetch)
    count = 2 * len(loader.order) + 3
    alone = list(
        islice(Loader(file, train(file, seed=4), prefetch=False).batches(), start + count)
    )[start:]
    streams = [loader.batches(start, worker, workers) for worker in range(workers)]
    together = [next(streams[k % workers]) for k in range(count)]
    for one, other in zip(alone, together, strict=True):
        assert_same(one, other)
    for stream in streams:
        stream.close()  # type: ignore[attr-defined]


def assert_same(one: Batch, other: Batch) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert np.array_equal(one[name], other[name]), name


def test_evaluation_is_in_order_and_unturned(file: DatasetFile) -> None:
    start, stop = file.split_rows["validation"]
    batches = list(Loader(file, EvaluationOrder(Candidates(start, stop), 32)).batches())
    assert np.concatenate([batch["row"] for batch in batches]).tolist() == list(range(start, stop))
    assert not any(batch["symmetry"].any() for batch in batches)
    assert np.array_equal(
        np.concatenate([batch["move"] for batch in batches]), file.positions["move"][start:stop]
    )


def test_read_rows(file: DatasetFile) -> None:
    rng = np.random.default_rng(0)
    for dataset in (file.positions["planes"], file.positions["game"]):
        whole = dataset[:]
        for count in (0, 1, 2, 300, len(whole)):
            rows = np.sort(rng.permutation(len(whole))[:count])
            assert np.array_equal(read_rows(dataset, rows), whole[rows])


def test_other_planes_are_refused_with_both_lists(tmp_path: Path) -> None:
    path = write_dataset(tmp_path / "small.h5", games=5)
    with h5py.File(path, "r+") as file:
        file.attrs["planes"] = json.dumps(["own", "opponent", "mood"])
    with pytest.raises(
        DatasetError,
        match=r"it has 3 \(own, opponent, mood\), this program 48 \(own, opponent, empty, ",
    ):
        DatasetFile(path)


@pytest.mark.parametrize("planes", [0, 51])
def test_more_planes_than_there_are_are_refused(file: DatasetFile, planes: int) -> None:
    with pytest.raises(
        DatasetError, match=rf"{planes} planes are asked for; possible are .* 48, 49 .* 50"
    ):
        planes_of(file, planes)


def test_a_plain_file_is_refused(tmp_path: Path) -> None:
    path = write_dataset(tmp_path / "small.h5", games=5)
    with h5py.File(path, "r+") as file:
        del file["positions"]
        file.attrs["layout"] = "plain"
    with pytest.raises(DatasetError, match="layout=plain has no packed planes"):
        Loader(read := DatasetFile(path), train(read))


@pytest.mark.parametrize("prefetch", [False, True])
def test_memory_is_that_of_the_pools(tmp_path: Path, prefetch: bool) -> None:
    """One, or two while reading ahead, and a little; however many there are."""
    file = DatasetFile(write_dataset(tmp_path / "small.h5", games=1000, longest=60))
    order = TrainOrder(Candidates(0, len(file)), 32, pool_rows=2048)
    assert len(file) > 10 * 2048
    pool = 2048 * 9 * 9 * 6
    tracemalloc.start()
    for _ in islice(Loader(file, order, prefetch=prefetch).batches(), 2 * len(order)):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (3 if prefetch else 2) * pool < len(file) * 9 * 9 * 6 / 3
