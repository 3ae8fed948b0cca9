"""What evaluators answer, checked and as a search keeps it: `Found`, and the cache of these.

Evaluators answer from the view of the player to move. `found_of` is the door through which their
answers become Black's.
"""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from data.features import evaluation
from data.features.evaluation import Evaluation, Face
from mcts.tree.store_kernels import POLICY, VALUE

ANSWER_OF = {POLICY: evaluation.POLICY, VALUE: evaluation.VALUE}  # what a tree wants, by kind


@dataclass(slots=True)  # not frozen, which would take longer to make
class Found:
    """The answers for one position; None for those that its evaluator does not give."""

    # float32 [points + 1], log-probabilities; -inf for a pass that the evaluator does not name
    priors: np.ndarray | None = None
    value: float | None = None  # Black's
    owner: np.ndarray | None = None  # float16 [points], +1 Black's .. -1 White's
    score: float | None = None  # Black's lead in points, komi counted


def found_of(answers: Evaluation, rows: Sequence[int], to_play: Sequence[int]) -> list[Found]:
    """Return the answers to some positions of a batch, from Black's view."""
    policy, owner = answers.policy, answers.owner
    # reading one number of an array takes longer than of a list
    value = None if answers.value is None else answers.value.tolist()
    score = None if answers.score is None else answers.score.tolist()
    return [
        Found(
            None if policy is None else policy[row].copy(),
            None if value is None else colour * value[row],
            None if owner is None else (colour * owner[row]).astype(np.float16),
            None if score is None else colour * score[row],
        )
        for row, colour in zip(rows, to_play, strict=True)
    ]


def check(
    answers: Evaluation, face: Face, kinds: Sequence[int], shape: tuple[int, int]
) -> Evaluation:
    """Return answers to positions of `shape` (batch, points) as float32.

    Raises ValueError if they make no sense, or if one is missing that is wanted (`kinds`).
    """
    count, points = shape
    given = {
        evaluation.POLICY: (answers.policy, (count, points + 1)),
        evaluation.VALUE: (answers.value, (count,)),
        evaluation.OWNER: (answers.owner, (count, points)),
        evaluation.SCORE: (answers.score, (count,)),
    }
    for kind in kinds:
        if given[ANSWER_OF[kind]][0] is None:
            raise ValueError(f"answered without a {ANSWER_OF[kind]}")
    found = {
        name: check_shape(answer, wanted)
        for name, (answer, wanted) in given.items()
        if answer is not None
    }
    if evaluation.POLICY in found:
        found[evaluation.POLICY] = check_policy(found[evaluation.POLICY], face.names_pass)
    for name in (evaluation.VALUE, evaluation.OWNER):
        if name in found:
            found[name] = check_range(name, found[name])
    if evaluation.SCORE in found and not np.isfinite(found[evaluation.SCORE]).all():
        raise ValueError("answered with a score that is not finite")
    return Evaluation(**found)


def check_shape(answer: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    answer = np.asarray(answer, np.float32)
    if answer.shape != shape:
        raise ValueError(f"answered with {answer.shape} instead of {shape}")
    return answer


def check_range(name: str, answer: np.ndarray) -> np.ndarray:
    low, high = answer.min(), answer.max()
    if not (low >= -1 - 1e-3 and high <= 1 + 1e-3):  # NaN is neither
        raise ValueError(f"answered with what is no number, or no {name} from -1 to 1")
    return np.clip(answer, -1, 1) if low < -1 or high > 1 else answer


def check_policy(policy: np.ndarray, names_pass: bool) -> np.ndarray:
    # the highest is NaN if any is; points may be ruled out, but not all of them
    passes = policy[:, -1]
    if not np.isfinite(policy[:, :-1].max(1)).all() or not (passes < np.inf).all():
        raise ValueError(
            "answered with what is no number, or log-probabilities that are not finite"
        )
    if not names_pass and (passes > -np.inf).any():
        policy = policy.copy()
        policy[:, -1] = -np.inf
    return policy


def mean_answers(answers: Sequence[Evaluation]) -> Evaluation:
    """Return the mean of the same evaluator's answers to the same positions.

    Probabilities are averaged, not their logarithms.
    """

    def mean(each: Sequence[np.ndarray | None]) -> np.ndarray | None:
        known = [answer for answer in each if answer is not None]
        return np.asarray(np.mean(known, 0), np.float32) if known else None

    policy = mean([None if a.policy is None else np.exp(a.policy) for a in answers])
    if policy is not None:
        unnamed = policy[:, -1] == 0
        policy = np.log(np.maximum(policy, np.finfo(np.float32).tiny))
        policy[unnamed, -1] = -np.inf
    return Evaluation(
        policy=policy,
        value=mean([a.value for a in answers]),
        owner=mean([a.owner for a in answers]),
        score=mean([a.score for a in answers]),
    )


class AnswerCache:
    """A bounded number of answers; the least recently used one is dropped first."""

    def __init__(self, entries: int):
        self.entries = entries
        self.answers: OrderedDict[Hashable, Found] = OrderedDict()

    def __len__(self) -> int:
        return len(self.answers)

    def get(self, key: Hashable) -> Found | None:
        if key in self.answers:
            self.answers.move_to_end(key)
        return self.answers.get(key)

    def put(self, key: Hashable, answer: Found) -> None:
        self.answers[key] = answer
        self.answers.move_to_end(key)
        while len(self.answers) > self.entries:
            self.answers.popitem(last=False)

    def clear(self) -> None:
        self.answers.clear()
