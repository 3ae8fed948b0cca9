"""The policy gradient: against derivatives by hand, and what one step does to a net."""

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch
from pytorch_lightning import Trainer
from torch import Tensor, nn

from data.features.evaluation import POLICY, VALUE
from models.learning.optimizers import cosine, sgd
from models.learning.reinforce import (
    Experience,
    Moves,
    PolicyGradient,
    Terms,
    judge_moves,
    log_chances,
    others_mean,
)
from models.nets.answers import answers_of, names_pass
from tests.support.tiny_nets import DUAL, PLAIN_POLICY, SIZE, ZERO, tiny_net
from tests.support.tiny_nets import POLICY as RESIDUAL

ALL = torch.ones(1, 2, dtype=torch.bool)
PLAIN = Terms()


def arms(move: list[int], advantage: list[float], allowed: Tensor = ALL, reference=None) -> Moves:
    """Moves of a game with one position and two moves."""
    n = len(move)
    return Moves(
        torch.zeros(n, 1, 1, 1, dtype=torch.uint8),
        allowed.expand(n, -1),
        torch.tensor(move),
        torch.tensor(advantage),
        torch.tensor(advantage),
        None if reference is None else torch.tensor(reference).expand(n, -1),
    )


def gradient(logits: list[float], part: Moves, terms: Terms = PLAIN, name: str = "loss") -> Tensor:
    theta = torch.tensor(logits, requires_grad=True)
    found = judge_moves({POLICY: theta.expand(len(part.move), -1)}, part, terms)
    found[name].backward()
    assert theta.grad is not None
    return theta.grad


# --- the loss


def test_two_arms_have_the_gradient_that_is_worked_out_by_hand() -> None:
    p = math.exp(0.3) / (math.exp(0.3) + math.exp(-0.5))  # of the first arm
    part = arms([0, 1, 0], [1.0, -1.0, -0.25])
    # of -A log p(a) by the first logit: -A (1 - p) for the first arm, A p for the second
    first = -(1 - p) + -1.0 * p + 0.25 * (1 - p)
    assert gradient([0.3, -0.5], part).tolist() == pytest.approx([first, -first], abs=1e-6)
    hot = 1 / (1 + math.exp(-0.8 / 2))
    warm = gradient([0.3, -0.5], arms([0], [1.0]), Terms(temperature=2.0))
    assert warm.tolist() == pytest.approx([-(1 - hot) / 2, (1 - hot) / 2], abs=1e-6)


def test_entropy_and_divergence_have_their_own_derivatives() -> None:
    p = np.exp([0.3, -0.5]) / np.exp([0.3, -0.5]).sum()
    q = np.exp([-1.0, 0.2]) / np.exp([-1.0, 0.2]).sum()
    entropy, kl = -(p * np.log(p)).sum(), (p * np.log(p / q)).sum()
    part = arms([0], [0.0], reference=[-1.0, 0.2])
    by_entropy = gradient([0.3, -0.5], part, name="entropy")
    assert by_entropy.tolist() == pytest.approx(-p * (np.log(p) + entropy), abs=1e-6)
    by_kl = gradient([0.3, -0.5], part, name="kl")
    assert by_kl.tolist() == pytest.approx(p * (np.log(p / q) - kl), abs=1e-6)
    both = gradient([0.3, -0.5], part, Terms(kl=0.5, entropy=0.25))
    assert both.tolist() == pytest.approx((0.5 * by_kl - 0.25 * by_entropy).tolist(), abs=1e-6)


def test_moves_that_could_not_be_chosen_have_no_share_and_no_gradient() -> None:
    allowed = torch.tensor([[True, False, True]])
    logits = [0.3, 90.0, -0.5]
    logs = log_chances(torch.tensor([logits]), allowed, 1.0)
    assert logs[0, [0, 2]].exp().sum().item() == pytest.approx(1)
    assert torch.equal(logs[0, [0, 2]], log_chances(torch.tensor([[0.3, -0.5]]), ALL, 1.0)[0])
    terms = Terms(kl=1.0, entropy=1.0)
    found = gradient(logits, arms([2], [1.0], allowed, [0.0, -math.inf, 1.0]), terms)
    assert found[1] == 0 and found.isfinite().all()
    alone = gradient([0.3, -0.5], arms([1], [1.0], reference=[0.0, 1.0]), terms)
    assert torch.allclose(found[[0, 2]], alone)


@pytest.mark.parametrize("games", [2, 3])
def test_the_mean_of_other_games_does_not_bias_the_expected_gradient(games: int) -> None:
    """All outcomes of games with one move of two arms, the first of which wins."""
    chances = np.array([0.8, 0.2])
    results = np.array([1.0, -1.0])
    expected = {"none": np.zeros(2), "others": np.zeros(2), "all": np.zeros(2)}
    for moves in itertools.product((0, 1), repeat=games):
        z, chance = results[list(moves)], float(np.prod(chances[list(moves)]))
        baselines = {
            "none": np.zeros(games),
            "others": others_mean(z, np.zeros(games)),
            "all": np.full(games, z.mean()),
        }
        for name, baseline in baselines.items():
            part = arms(list(moves), (z - baseline).tolist())
            expected[name] += chance * gradient(np.log(chances).tolist(), part).numpy()
    assert expected["others"] == pytest.approx(expected["none"], abs=1e-6)
    share = (games - 1) / games  # the mean of all games takes a part of the gradient away
    assert expected["all"] == pytest.approx(share * expected["none"], abs=1e-6)


def test_a_game_is_compared_with_others_of_its_group_only() -> None:
    results, groups = np.array([1.0, -1, 1, 1, -1]), np.array([1, 1, -1, -1, 7])
    assert others_mean(results, groups).tolist() == [-1, 1, 1, 1, 0]


# --- a step


class Recorded:
    """Moves that were chosen once, as `Play`."""

    def __init__(self, moves: Moves, part: int):
        self.moves, self.part = moves, part

    def experience(self, update: int) -> Experience:
        return Experience(len(self.moves.move), self.parts(), {"win_rate": 0.5})

    def parts(self) -> Iterator[Moves]:
        for first in range(0, len(self.moves.move), self.part):
            which = slice(first, first + self.part)
            yield Moves(*(each[which] for each in vars(self.moves).values() if each is not None))

    def evaluate(self, part: int) -> Sequence[float]:
        return [0.5]

    def judged(self, points: Sequence[float]) -> dict[str, float]:
        return {"win_rate": sum(points)}


def random_moves(arguments: dict, net: nn.Module, count: int = 24) -> Moves:
    draw = torch.Generator().manual_seed(1)
    planes = arguments["planes"] + len(arguments.get("uniform", ()))
    outputs = SIZE**2 + names_pass(net)
    allowed = torch.rand(count, outputs, generator=draw) < 0.5
    move = torch.randint(outputs, (count,), generator=draw)
    allowed[torch.arange(count), move] = True
    result = torch.randint(2, (count,), generator=draw) * 2.0 - 1
    boards = torch.randint(2, (count, planes, SIZE, SIZE), generator=draw, dtype=torch.uint8)
    return Moves(boards, allowed, move, result, result)


def stepped(
    arguments: dict, *, part: int = 64, moves: Moves | None = None, lr: float = 0.01, **options
) -> tuple[PolicyGradient, dict[str, Tensor], Moves]:
    """A net after one step, its state before, and what it learned from."""
    net, _ = tiny_net(arguments)
    net.train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    moves = moves or random_moves(arguments, net)
    terms = Terms(entropy=0.01, value=0.5 if VALUE in answers_of(net) else 0.0)
    module = PolicyGradient(
        net,
        lambda net: sgd(net, lr=lr),
        lambda made, steps: cosine(made, steps, final=1.0),
        Recorded(moves, part),
        terms,
        updates=1,
        **options,
    )
    trainer = Trainer(
        accelerator="cpu", max_steps=1, max_epochs=-1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, limit_val_batches=0,
    )  # fmt: skip
    trainer.fit(module, train_dataloaders=itertools.repeat(0))
    assert trainer.global_step == 1
    return module, before, moves


@pytest.mark.parametrize("arguments", [RESIDUAL, {**RESIDUAL, "symmetric": True}, PLAIN_POLICY, DUAL, ZERO])  # fmt: skip
def test_a_step_makes_moves_of_won_games_likelier_and_is_the_same_in_parts(arguments: dict) -> None:
    module, before, moves = stepped(arguments)
    found = module.net.state_dict()
    statistics = [name for name in found if "running" in name or "tracked" in name]
    assert all(torch.equal(found[name], before[name]) for name in statistics)
    assert any(not torch.equal(found[name], before[name]) for name in found)
    in_parts, _, _ = stepped(arguments, part=5)
    for name, value in in_parts.net.state_dict().items():
        assert torch.allclose(value, found[name], atol=1e-5), name

    def gain(state: dict[str, Tensor]) -> float:
        module.net.load_state_dict(state)
        with torch.no_grad():
            answers = module.net.eval()(moves.planes)
            logits = answers[POLICY] if isinstance(answers, dict) else answers
            logs = log_chances(logits, moves.allowed, 1.0)
            chosen = logs.gather(1, moves.move[:, None])[:, 0]
        return float((moves.advantage * chosen).mean())

    after = {name: value.clone() for name, value in found.items()}
    assert gain(after) > gain(before)


def test_a_step_that_changes_the_policy_too_much_is_halved() -> None:
    free, _, _ = stepped(PLAIN_POLICY, lr=3.0, clip=None)
    held, before, _ = stepped(PLAIN_POLICY, lr=3.0, clip=None, most_change=0.001)
    assert free.latest["step_kl"] > 0.001 >= held.latest["step_kl"] > 0
    share = held.latest["step_share"]
    assert share < 1 == free.latest["step_share"]
    long, short = free.net.state_dict(), held.net.state_dict()
    for name in short:
        expected = before[name] + share * (long[name] - before[name])
        assert torch.allclose(short[name], expected, atol=1e-5)


def test_a_gradient_that_is_no_number_leaves_the_weights_as_they_were() -> None:
    net, _ = tiny_net(PLAIN_POLICY)
    moves = random_moves(PLAIN_POLICY, net)
    moves.advantage[3] = math.nan
    module, before, _ = stepped(PLAIN_POLICY, moves=moves)
    assert math.isnan(module.latest["grad_norm"])
    assert all(torch.equal(value, before[name]) for name, value in module.net.state_dict().items())


def test_the_gradient_is_clipped() -> None:
    module, before, _ = stepped(PLAIN_POLICY, clip=1e-6)
    assert module.latest["grad_norm"] > 1e-3
    change = [(value - before[name]).norm() for name, value in module.net.state_dict().items()]
    assert float(torch.stack(change).norm()) <= 1.01e-8
