"""Workers that die: their tasks are done by others, and what always kills is given up."""

import pytest

from data.build.executors import RESTARTS, Executor, ExecutorError, run
from tests.support.dying_workers import square

TWO = Executor("processes", workers=2)


def test_tasks_of_a_worker_that_died_are_done_again(tmp_path):
    said = []
    tasks = [(tmp_path, number, {3: 1, 9: 2}.get(number, 0)) for number in range(12)]
    results = sorted(run(TWO, square, tasks, said.append))
    assert results == [number**2 for number in range(12)]  # each once
    assert 2 <= len(said) <= 3 and all("a worker process died" in line for line in said)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_task_that_kills_every_worker_is_given_up(tmp_path):
    said = []
    with pytest.raises(ExecutorError, match=r"died again and again .* what is finished is kept"):
        list(run(TWO, square, [(tmp_path, 2, 99)], said.append))
    assert len(said) == RESTARTS and len(list(tmp_path.iterdir())) == RESTARTS + 1


def test_an_error_of_a_task_is_raised_and_is_no_death(tmp_path):
    said = []
    with pytest.raises(TypeError, match="unpack"):
        list(run(TWO, square, [5], said.append))
    assert said == []
