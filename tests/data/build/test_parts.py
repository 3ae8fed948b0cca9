"""The work on parts: compiled before processes begin, whole or not there."""

import numpy as np
import pytest

from data.build.encode import EncodeTask, encode_part, encode_rows
from data.build.executors import Executor, run
from data.build.options import GameOptions
from data.build.read import ReadTask, count_part, read_part
from data.build.warm_up import warm_up
from data.features import alphago48_kernels
from data.records import identity_kernels, replay_kernels
from data.records.sgf import ReadOptions
from data.sources.guard import Member
from tests.support.boards import INTERPRETED
from tests.support.builds import build_here
from tests.support.own_games import collect, write_zip

COMPILED = (
    replay_kernels.replay,
    alphago48_kernels.encode_game,
    identity_kernels.smallest_hash,
    alphago48_kernels.encode,
)


def members(count=20):
    return [("source", Member(name, game.data)) for name, game in collect(count).items()]


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_warming_up_compiles_all_that_the_work_calls(tmp_path):
    warm_up()
    before = [list(kernel.signatures) for kernel in COMPILED]
    write_zip(tmp_path / "a.zip", collect(10))
    build_here(tmp_path / "a.zip", tmp_path / "o.h5")
    assert [list(kernel.signatures) for kernel in COMPILED] == before


def test_a_part_of_games_says_what_is_in_it(tmp_path):
    bad = [("other", Member("x.sgf", b"nothing")), ("other", Member("", b"", "is damaged"))]
    task = ReadTask(tmp_path / "a.h5", members() + bad, GameOptions(read=ReadOptions(size=9)))
    counts = read_part(task)
    games = collect(20).values()
    moves = sum(int((game.record.moves != 361).sum()) for game in games)
    assert counts == count_part(task) == {"games": len(games), "positions": moves, "rejects": 2}


def test_a_part_that_changed_underneath_is_noticed(tmp_path):
    task = ReadTask(tmp_path / "a.h5", members(), GameOptions(read=ReadOptions(size=9)))
    positions = read_part(task)["positions"]
    chosen = np.arange(len(collect(20)), dtype=np.int32)
    whole = EncodeTask(
        tmp_path / "p.h5", 9, 0, positions, [(task.path, chosen)], len(chosen), 0, 0, 1, 256
    )
    assert encode_part(whole) == (positions, len(chosen))
    more = EncodeTask(
        tmp_path / "q.h5", 9, 0, positions + 5, [(task.path, chosen)], len(chosen), 0, 0, 1, 256
    )
    with pytest.raises(RuntimeError, match="changed underneath"):
        encode_rows(more)
    with pytest.raises(RuntimeError, match="changed underneath"):
        encode_part(more)
    assert not (tmp_path / "q.h5").exists()


@pytest.mark.parametrize("rows", [1, 100, 257])
def test_rows_are_the_same_however_they_are_cut(tmp_path, rows):
    task = ReadTask(tmp_path / "a.h5", members(6), GameOptions(read=ReadOptions(size=9)))
    positions = read_part(task)["positions"]
    games = [game.record for game in collect(6).values()]
    ends = np.cumsum([0] + [int((game.moves != 361).sum()) for game in games])
    whole = encode_rows(
        EncodeTask(tmp_path, 9, 0, positions, [(task.path, np.arange(len(games)))], 0, 0, 0, 1, 256)
    )
    for first in range(0, positions, rows * (positions // rows // 4 + 1)):
        stop = min(first + rows, positions)
        a, z = (
            int(np.searchsorted(ends, first, side="right")) - 1,
            int(np.searchsorted(ends, stop, side="left")),
        )
        part = encode_rows(
            EncodeTask(
                tmp_path,
                9,
                first,
                stop,
                [(task.path, np.arange(a, z))],
                0,
                a,
                first - int(ends[a]),
                1,
                256,
            )
        )
        assert all((part[name] == whole[name][first:stop]).all() for name in whole)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_iterator_of_tasks_may_wait_for_results_before_it_gives_more(workers):
    """As many tasks as it takes until the results sum up to 30."""
    results, asked = [], 0

    def tasks():
        nonlocal asked
        while sum(results) < 30:
            if asked > len(results):
                yield None
            else:
                asked += 1
                yield -asked

    for result in run(Executor(workers=workers), abs, tasks()):
        results.append(result)
    assert sorted(results) == [1, 2, 3, 4, 5, 6, 7, 8]
