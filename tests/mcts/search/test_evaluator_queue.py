"""Queues of nets: batches, errors, what is taken back, time that is counted, and the cache."""

import subprocess
import sys
import time
from queue import Empty, SimpleQueue

import numpy as np
import pytest

from data.features.evaluation import Evaluation, Face, Positions
from mcts.search.answers import AnswerCache, Found, check, found_of, mean_answers
from mcts.search.evaluator_queue import EvaluatorQueue, Request
from mcts.search.fakes import Broken, FakeNet, FakePolicy, FakeValue, Late, Silent
from mcts.tree.store_kernels import POLICY, VALUE
from pipelines.shell.environment import ROOT

POINTS = 9


def request(done: SimpleQueue, k: int = 0) -> Request:
    packed = np.zeros((POINTS, 6), np.uint8)
    packed[:k, 0] = 0b1000_0000  # k own stones
    return Request(k, packed, 1, k % 8, 7.5, done, [(VALUE, k)])


def own_stones() -> FakeValue:
    return FakeValue(lambda own, other: own.sum() / POINTS)


def test_answers_belong_to_their_requests_in_batches_of_at_most_the_size() -> None:
    done: SimpleQueue = SimpleQueue()
    queue = EvaluatorQueue(Late(own_stones(), 0.01), (VALUE,), batch=3)
    for first in (0, 4):
        queue.submit([request(done, k) for k in range(first, first + 4)])
    found: dict[int, float] = {}
    while len(found) < 8:
        answer = done.get(timeout=5)
        assert len(answer.requests) <= 3 and not answer.error
        found.update(
            {
                r.key: answer.answers.value[row]
                for r, row in zip(answer.requests, answer.rows, strict=True)
            }
        )
    assert found == {k: pytest.approx(k / POINTS) for k in range(8)}
    assert queue.pending == 0 and queue.positions == 8 and queue.batches < 8
    queue.close()


def test_closing_lets_a_batch_in_work_end_and_begins_no_other() -> None:
    """A process that ends while a net is at work would be aborted by the net's library."""
    done: SimpleQueue = SimpleQueue()
    queue = EvaluatorQueue(Late(own_stones(), 0.3), (VALUE,), batch=1)
    queue.submit([request(done, k) for k in range(3)])
    while not queue.working:
        time.sleep(0.001)
    queue.close()
    assert not queue.thread.is_alive()
    assert done.get_nowait().requests[0].key == 0 and done.empty()


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
queue = EvaluatorQueue({net}, (VALUE,), batch=1)
queue.submit([request(SimpleQueue())])
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
    queue = EvaluatorQueue(net, (VALUE,), batch=4)
    queue.submit([request(done, 1)])
    answer = done.get(timeout=5)
    assert (
        answer.error == "value net broken fake value: RuntimeError: killed"
        and answer.requests[0].key == 1
    )
    net.after = 10**9
    queue.submit([request(done, 2)])
    assert done.get(timeout=5).error == ""
    queue.close()


def test_what_is_taken_back_is_not_answered_and_a_stuck_net_is_known_as_such() -> None:
    done: SimpleQueue = SimpleQueue()
    net = Silent(own_stones())
    queue = EvaluatorQueue(net, (VALUE,), batch=1)
    requests = [request(done, k) for k in range(3)]
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
    queue = EvaluatorQueue(Late(own_stones(), 0.1), (VALUE,), batch=1)
    assert queue.busy() == 0
    queue.submit([request(done)])
    time.sleep(0.05)
    assert 0 < queue.busy() < 0.1
    done.get(timeout=5)
    assert 0.1 <= queue.busy() < 0.5
    queue.close()


def test_symmetries_are_what_the_mode_says() -> None:
    seen: list[object] = []

    class Watched(FakeValue):
        def evaluate(self, positions: Positions) -> Evaluation:
            turns = positions.turns
            seen.append(None if turns is None else turns.tolist())
            return Evaluation(value=np.zeros(len(positions)) if turns is None else turns / 8)

    found = {}
    for mode in ("random", "none", "mean"):
        done: SimpleQueue = SimpleQueue()
        queue = EvaluatorQueue(Watched(), (VALUE,), batch=2, symmetry=mode)
        queue.submit([request(done, 3), request(done, 5)])
        found[mode] = done.get(timeout=5).answers.value.tolist()
        queue.close()
    assert found == {"random": [3 / 8, 5 / 8], "none": [0, 0], "mean": [3.5 / 8, 3.5 / 8]}
    assert seen == [[3, 5], None, *([k, k] for k in range(8))]
    one, other = np.array([[0.2, 0.8, 0.0]]), np.array([[0.4, 0.6, 0.0]])
    with np.errstate(divide="ignore"):
        policies = [Evaluation(policy=np.log(chances)) for chances in (one, other)]
    mean = mean_answers(policies).policy
    assert mean is not None and np.exp(mean) == pytest.approx(np.array([[0.3, 0.7, 0.0]]))


def test_an_evaluator_that_does_not_turn_positions_is_shown_them_as_they_are() -> None:
    seen: list[object] = []

    class Plain(FakeValue):
        def evaluate(self, positions: Positions) -> Evaluation:
            seen.append(positions.turns)
            return super().evaluate(positions)

    done: SimpleQueue = SimpleQueue()
    queue = EvaluatorQueue(Plain(lambda own, other: 0.5, obeys_turns=False), (VALUE,), batch=2)
    queue.submit([request(done, 3)])
    assert done.get(timeout=5).answers.value.tolist() == [0.5] and seen == [None]
    queue.close()


def test_answers_go_where_their_requests_want_them() -> None:
    """Two searches share a queue, and a batch."""
    one, other = SimpleQueue(), SimpleQueue()
    queue = EvaluatorQueue(Late(own_stones(), 0.05), (VALUE,), batch=8)
    queue.submit([request(one, 1)])
    while not queue.working:
        time.sleep(0.001)
    queue.submit([request(other, 2), request(one, 3), request(other, 4)])
    assert [one.get(timeout=5).requests[0].key for _ in range(2)] == [1, 3]
    answer = other.get(timeout=5)
    assert [r.key for r in answer.requests] == [2, 4] and answer.rows == [0, 2]
    assert answer.answers.value[answer.rows] == pytest.approx([2 / POINTS, 4 / POINTS])
    assert queue.batches == 2
    queue.close()


def test_answers_become_blacks() -> None:
    answers = FakeNet(
        {4: 0.5},
        lambda own, other: 0.25,
        owner=lambda own, other: np.where(own, 1.0, -1.0),
        score=lambda own, other: 3.5,
    ).evaluate(Positions(np.stack([request(SimpleQueue(), 2).packed] * 2), np.array([1, -1])))
    black, white = found_of(answers, [0, 1], [1, -1])
    assert (black.value, white.value) == (0.25, -0.25) and (black.score, white.score) == (3.5, -3.5)
    assert black.owner is not None and white.owner is not None and (black.owner[:2] == 1).all()
    assert (black.owner == -white.owner).all()
    assert black.priors is not None and (black.priors == white.priors).all()


FACES = {VALUE: FakeValue().face, POLICY: FakePolicy().face}


def checked(kind: int, answer: np.ndarray | None, face: Face | None = None) -> np.ndarray:
    answers = Evaluation(policy=answer) if kind == POLICY else Evaluation(value=answer)
    found = check(answers, face or FACES[kind], (kind,), (2, POINTS))
    answer = found.policy if kind == POLICY else found.value
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    "answer",
    [np.zeros(3), np.array([0.0, np.nan]), np.array([0.0, 1.5]), np.zeros((2, POINTS)), None],
)
def test_a_value_that_makes_no_sense_is_an_error(answer: np.ndarray | None) -> None:
    with pytest.raises(ValueError, match="answered with"):
        checked(VALUE, answer)


@pytest.mark.parametrize(
    "answer",
    [
        np.zeros((1, POINTS + 1)),
        np.zeros((2, POINTS)),
        np.full((2, POINTS + 1), np.nan),
        np.full((2, POINTS + 1), -np.inf),
        np.zeros(2),
        None,
    ],
)
def test_priors_that_make_no_sense_are_an_error(answer: np.ndarray | None) -> None:
    with pytest.raises(ValueError, match="answered with"):
        checked(POLICY, answer)


def test_a_policy_may_rule_points_out_and_names_passes_if_its_face_says_so() -> None:
    answers = np.where(np.arange(POINTS + 1) == 4, 0, -np.inf) * np.ones((2, 1))
    assert (checked(POLICY, answers)[:, 4] == 0).all()
    even = np.full((2, POINTS + 1), -1.0)
    assert (checked(POLICY, even)[:, -1] == -np.inf).all()
    assert (checked(POLICY, even, FakePolicy({361: 0.1}).face) == -1).all()


def test_the_cache_gives_up_what_was_not_asked_for_longest() -> None:
    cache = AnswerCache(2)
    a, b, c = (Found(value=value) for value in (0.1, 0.2, 0.3))
    cache.put(1, a)
    cache.put(2, b)
    assert cache.get(1) == a
    cache.put(3, c)
    assert (cache.get(1), cache.get(2), cache.get(3), len(cache)) == (a, None, c, 2)
    none = AnswerCache(0)
    none.put(1, a)
    assert none.get(1) is None and len(none) == 0
