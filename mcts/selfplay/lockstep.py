"""`ManyGames`: crews of games that go forward question by question, and yield the games that end.

With one crew everything happens in turn, in the caller's thread. With two, the evaluator works for
one crew in a thread of its own while the other crew's games are taken forward: for evaluators on
another device. Two crews need an evaluator that may be called from another thread.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from data.features.evaluation import VALUE as VALUE_ANSWER
from data.features.evaluation import Evaluation
from mcts.search.answers import check
from mcts.selfplay.crew import Crew, Question
from mcts.selfplay.games import Assignment, PlayedGame
from mcts.tree.store_kernels import POLICY, VALUE


@dataclass
class Load:
    """How full the batches were."""

    calls: int = 0
    positions: int = 0

    @property
    def mean_batch(self) -> float:
        return self.positions / max(1, self.calls)


class ManyGames:
    """What `PolicyGames` and `TreeGames` have in common: crews, and how they are driven."""

    def __init__(self, make_crew: Callable[[int], Crew], slots: int, crews: int):
        """`make_crew` makes a crew of so many slots."""
        self.load = Load()
        self.crews = [make_crew(-(-slots // crews)) for _ in range(crews)]

    def play(self, assignments: Iterable[Assignment]) -> Iterator[PlayedGame]:
        """Yield each game when it ends. Assignments are drawn as slots become free."""
        return drive(self.crews, assignments, self.load)


def drive(
    crews: Sequence[Crew], assignments: Iterable[Assignment], load: Load
) -> Iterator[PlayedGame]:
    """Play all assignments; `load` is counted up.

    An error of an evaluator is raised once the games that had ended before have been yielded.
    """
    for crew in crews:
        crew.clear()  # games of an earlier call that was broken off
    waiting = iter(assignments)
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(1)) if len(crews) > 1 else None
        asked: dict[int, Future[Evaluation]] = {}
        working = True
        while working:
            working = False
            for k, crew in enumerate(crews):
                if k in asked:
                    crew.take(asked.pop(k).result())
                    yield from crew.finished()
                while True:
                    crew.refill(waiting)
                    question = crew.ask()
                    over = list(crew.finished())  # games that ended without a net's answer
                    yield from over
                    if question is not None or not over:
                        break
                if question is None:
                    continue
                working = True
                load.calls += 1
                load.positions += len(question.positions)
                asked[k] = hand_over(question, pool)


def hand_over(question: Question, pool: ThreadPoolExecutor | None) -> Future[Evaluation]:
    if pool is not None:
        return pool.submit(evaluate, question)
    answer: Future[Evaluation] = Future()
    answer.set_result(evaluate(question))
    return answer


def evaluate(question: Question) -> Evaluation:
    """Return the answers. Raises ValueError if they make no sense."""
    face, positions = question.evaluator.face, question.positions
    kinds = [POLICY, VALUE] if VALUE_ANSWER in face.answers else [POLICY]
    shape = (len(positions), positions.packed.shape[1])
    return check(question.evaluator.evaluate(positions), face, kinds, shape)
