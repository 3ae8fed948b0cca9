"""Queues of nets: batches, errors, what is taken back, time that is counted, and the cache."""

import subprocess
import sys
import time
from queue import Empty, SimpleQueue

import numpy as np
import pytest

from mcts.search.evaluator_queue import AnswerCache, EvaluatorQueue, Request, check, mean_answer
from mcts.search.fakes import Broken, FakePolicy, FakeValue, Late, Silent
from mcts.tree.store_kernels import POLICY, VALUE
from pipelines.shell.environment import ROOT

POINTS = 9


def request(k: int = 0, kind: int = VALUE) -> Request:
    packed = np.zeros((POINTS, 6), np.uint8)
    packed[:k, 0] = 0b1000_0000  # k own stones
    return Request(kind, k, k, packed, 1, k % 8)


def own_stones() -> FakeValue:
    return FakeValue(lambda own, other: own.sum() / POINTS)


def test_answers_belong_to_their_requests_in_batches_of_at_most_the_size() -> None:
    done: SimpleQueue = SimpleQueue()
    queue = EvaluatorQueue(Late(own_stones(), 0.01), VALUE, done, batch=3)
    for first in (0, 4):
        queue.submit([request(k) for k in range(first, first + 4)])
    found: dict[int, float] = {}
    while len(found) < 8:
        answer = done.get(timeout=5)
        assert len(answer.requests) <= 3 and not answer.error
        found.update(
            {r.edge: float(a) for r, a in zip(answer.requests, answer.answers, strict=True)}
        )
    assert found == {k: pytest.approx(k / POINTS) for k in range(8)}
    assert queue.pending == 0 and queue.positions == 8 and queue.batches < 8
    queue.close()


def test_closing_lets_a_batch_in_work_end_and_begins_no_other() -> None:
    """A process that ends while a net is at work would be aborted by the net's library."""
    done: SimpleQueue = SimpleQueue()
    queue = EvaluatorQueue(Late(own_stones(), 0.3), VALUE, done, batch=1)
    queue.submit([request(k) for k in range(3)])
    while not queue.working:
        time.sleep(0.001)
    queue.close()
    assert not queue.thread.is_alive()
    assert done.get_nowait().requests[0].edge == 0 and done.empty()


@pytest.mark.parametrize(
    ("net", "left"), [("Late(own_stones(), 0.3)", "False 1"), ("Silent(own_stones())", "True 0")]
)
def test_a_process_that_ends_with_a_net_at_work_waits_for_it_but_not_forever(
    net: str, left: str
) -> None:
    program = f"""
import atexit, time
from tests.mcts.search.test_evaluator_queue import *
atexit.register(lambda: print(queue.thread.is_alive(), queue.positions))
queue = EvaluatorQueue({net}, VALUE, SimpleQueue(), batch=1)
queue.submit([request()])
while not queue.working:
    time.sleep(0.001)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (ended.stdout.strip(), ended.stderr, ended.returncode) == (left, "", 0)


def test_an_error_comes_back_as_one_line_and_the_thread_lives_on() -> None:
    done: SimpleQueue = SimpleQueue()
    net = Broken(own_stones(), after=0)
    queue = EvaluatorQueue(net, VALUE, done, batch=4)
    queue.submit([request(1)])
    answer = done.get(timeout=5)
    assert (
        answer.error == "value net broken fake value: RuntimeError: killed"
        and answer.requests[0].edge == 1
    )
    net.after = 10**9
    queue.submit([request(2)])
    assert done.get(timeout=5).error == ""
    queue.close()


def test_what_is_taken_back_is_not_answered_and_a_stuck_net_is_known_as_such() -> None:
    done: SimpleQueue = SimpleQueue()
    net = Silent(own_stones())
    queue = EvaluatorQueue(net, VALUE, done, batch=1)
    requests = [request(k) for k in range(3)]
    queue.submit(requests)
    while not net.calls:
        time.sleep(0.001)
    assert queue.pending == 3
    assert queue.cancel() == requests[1:] and queue.pending == 1 and queue.stuck == 0
    assert queue.cancel(everything=True) == requests[:1]
    assert requests[0].abandoned and queue.stuck > 0 and queue.pending == 0
    assert queue.cancel(everything=True) == []
    with pytest.raises(Empty):
        done.get(timeout=0.02)
    net.release.set()
    assert done.get(timeout=5).requests == requests[:1]
    assert queue.stuck == 0
    queue.close()


def test_time_in_the_net_is_counted_while_it_works_and_after() -> None:
    done: SimpleQueue = SimpleQueue()
    queue = EvaluatorQueue(Late(own_stones(), 0.1), VALUE, done, batch=1)
    assert queue.busy() == 0
    queue.submit([request()])
    time.sleep(0.05)
    assert 0 < queue.busy() < 0.1
    done.get(timeout=5)
    assert 0.1 <= queue.busy() < 0.5
    queue.close()


def test_symmetries_are_what_the_mode_says() -> None:
    seen: list[object] = []

    class Watched(FakeValue):
        def answer_packed(
            self, packed: np.ndarray, to_play: np.ndarray, turns: np.ndarray | None = None
        ) -> np.ndarray:
            seen.append(None if turns is None else turns.tolist())
            turned = np.zeros(len(packed)) if turns is None else turns
            return turned.astype(np.float32) / 8

    found = {}
    for mode in ("random", "none", "mean"):
        done: SimpleQueue = SimpleQueue()
        queue = EvaluatorQueue(Watched(), VALUE, done, batch=2, symmetry=mode)
        queue.submit([request(3), request(5)])
        found[mode] = done.get(timeout=5).answers.tolist()
        queue.close()
    assert found == {"random": [3 / 8, 5 / 8], "none": [0, 0], "mean": [3.5 / 8, 3.5 / 8]}
    assert seen == [[3, 5], None, *([k, k] for k in range(8))]
    one, other = np.array([[0.2, 0.8]]), np.array([[0.4, 0.6]])
    assert np.exp(mean_answer(POLICY, np.log([one, other]))) == pytest.approx(
        np.array([[0.3, 0.7]])
    )


def test_a_net_without_symmetries_is_shown_positions_as_they_are() -> None:
    class Plain:
        name = "plain"

        def answer_packed(self, packed: np.ndarray, to_play: np.ndarray) -> np.ndarray:
            return np.full(len(packed), 0.5, np.float32)

    done: SimpleQueue = SimpleQueue()
    queue = EvaluatorQueue(Plain(), VALUE, done, batch=2)  # type: ignore[arg-type]
    queue.submit([request(3)])
    assert done.get(timeout=5).answers.tolist() == [0.5]
    queue.close()


@pytest.mark.parametrize(
    "answer", [np.zeros(3), np.array([0.0, np.nan]), np.array([0.0, 1.5]), np.zeros((2, POINTS))]
)
def test_a_value_that_makes_no_sense_is_an_error(answer: np.ndarray) -> None:
    with pytest.raises(ValueError, match="answered with"):
        check(answer, (2,))


@pytest.mark.parametrize(
    "answer",
    [
        np.zeros((1, POINTS)),
        np.full((2, POINTS), np.nan),
        np.full((2, POINTS), -np.inf),
        np.zeros(2),
    ],
)
def test_priors_that_make_no_sense_are_an_error(answer: np.ndarray) -> None:
    with pytest.raises(ValueError, match="answered with"):
        check(answer, (2, POINTS))


def test_a_policy_may_rule_points_out() -> None:
    net = FakePolicy({4: 1.0})
    answers = np.where(np.arange(POINTS) == 4, 0, -np.inf) * np.ones((2, 1))
    assert (check(answers, (2, POINTS))[:, 4] == 0).all()
    assert np.exp(net.answer_packed(np.zeros((1, POINTS, 6), np.uint8), np.ones(1, np.int8)))[
        0, 4
    ] == pytest.approx(1)


def test_the_cache_gives_up_what_was_not_asked_for_longest() -> None:
    cache = AnswerCache(2)
    cache.put(1, "a")
    cache.put(2, "b")
    assert cache.get(1) == "a"
    cache.put(3, "c")
    assert (cache.get(1), cache.get(2), cache.get(3), len(cache)) == ("a", None, "c", 2)
    none = AnswerCache(0)
    none.put(1, "a")
    assert none.get(1) is None and len(none) == 0
