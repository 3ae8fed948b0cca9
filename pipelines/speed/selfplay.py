"""What `measure_speed.py` measures of self-play: the share of a net's own speed that is left when
many games are played with it.

A benchmark takes crews of games forward by a number of questions, and then asks the net's engine
alone for as many positions in batches as large. Both are timed in CPU seconds of one thread, in the
same run.
"""

import time
from collections.abc import Iterator
from functools import cache

import numpy as np

from data.features.evaluation import Evaluator, Positions
from mcts.search.params import SearchParams
from mcts.selfplay.choice import Choice
from mcts.selfplay.crew import Crew
from mcts.selfplay.games import Assignment, Rules
from mcts.selfplay.lockstep import evaluate
from mcts.selfplay.policy_games import PolicyGames
from mcts.selfplay.trees.tree_games import Thinking, TreeGames
from models.answering.engines import OnnxEngine
from models.answering.inference import Inference
from models.answering.inference import unpack as unpack_positions
from models.answering.open import open_net
from models.exporting.int8 import to_int8
from models.exporting.onnx import to_onnx
from models.files.open import card_of
from models.nets.build import make_net
from pipelines.speed.benchmarks import PRETRAINED, Material, benchmark
from pipelines.speed.training import one_thread

GAMES = 256  # at once
SIMULATIONS = 64
SPREAD = 40  # games begin one after another, after up to so many random turns
ZERO = SearchParams(
    lam=0.0,
    n_thr=0,
    n_thr_adjusts=False,
    wait_for_priors=True,
    fpu="zero",
    rollouts=False,
    tree_policy=False,
    noise=0.25,
)
# 6 blocks of 64, as the dual net has them, for 9x9
SMALL_NET = {
    "_target_": "models.nets.DualNet",  # wheel: kept
    "planes": 16,
    "uniform": ["black_to_play"],
    "filters": 64,
    "blocks": 6,
    "size": 9,
    "heads": ["policy", "value"],
    "names_pass": True,
}


@benchmark("policy games, 256 at once, 9x9: share of the policy net's own speed", "%", 90)
def policy_games_9(material: Material) -> float:
    return share(policy_crew(9), 40)


@benchmark("policy games, 256 at once, 19x19: share of the policy net's own speed", "%", 90)
def policy_games_19(material: Material) -> float:
    return share(policy_crew(19), 8)


@benchmark("games with 64 simulations a move, 256 at once, 9x9, 6x64 net: the same share", "%", 90)
def tree_games_9(material: Material) -> float:
    games = TreeGames(
        [small_net()], Rules(size=9), ZERO, Thinking(SIMULATIONS), Choice(), slots=GAMES
    )
    return share(games.crews[0], 100)


def policy_crew(size: int) -> Crew:
    net = open_net(PRETRAINED / "policy.json", threads=1)
    return PolicyGames([net], Rules(size=size), Choice(), slots=GAMES).crews[0]


def assignments() -> Iterator[Assignment]:
    """Yield games without end, of all lengths of opening: those in work are of all ages."""
    number = 0
    while True:
        yield Assignment(number, random_turns=number % SPREAD)
        number += 1


def share(crew: Crew, questions: int) -> float:
    """Return the time of the net's engine alone in % of that of the games."""
    waiting = assignments()
    asked = [take_forward(crew, waiting) for _ in range(3)][-1]  # compiles, fills the slots
    (net,) = crew.players
    assert isinstance(net, Inference)
    planes = unpack_positions(asked, net.inputs)
    size = crew.rules.size
    planes = planes.reshape(len(planes), size, size, -1)
    net.engine.run(planes)
    played = alone = 0.0
    for _ in range(questions):
        began = time.process_time()
        count = len(take_forward(crew, waiting))
        middle = time.process_time()
        net.engine.run(planes)
        played += middle - began
        alone += (time.process_time() - middle) * count / len(planes)
    return 100 * alone / played


def take_forward(crew: Crew, waiting: Iterator[Assignment]) -> Positions:
    """Ask one question, play on by its answers, and return what was asked."""
    crew.refill(waiting)
    question = crew.ask()
    for _ in crew.finished():
        pass
    assert question is not None
    crew.take(evaluate(question))
    return question.positions


@cache
def small_net() -> Evaluator:
    """Return a net of random weights in int8: what it answers does not matter here."""
    import torch

    torch.manual_seed(1)
    with one_thread():
        net = make_net(SMALL_NET).eval()
        card = card_of(net, SMALL_NET, 9, name="6x64")
        planes = (np.random.default_rng(1).random((256, 9, 9, 17)) < 0.2).astype(np.uint8)
        content = to_int8(to_onnx(net, card), planes, card)
    return Inference(card, OnnxEngine(content, card, name="int8", threads=1))
