"""Lessons: what each answer learns, what is missing, and which metrics are logged."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from data.base.errors import Mistake
from data.features.evaluation import ANSWERS
from models.learning.learner import Learner
from models.learning.lesson_module import LessonModule, added, check_heads
from models.learning.lessons import has_target, judge, lesson_of, lessons_of
from models.learning.move_module import MoveModule
from models.learning.optimizers import Muon
from models.learning.value_module import OWNER_MSE, ValueModule, sums_of, with_owner_mean
from models.learning.value_module import added as added_up
from models.nets.build import make_net
from tests.models.nets.test_nets import random_planes

SIZE, POINTS, BATCH = 5, 25, 8
NET: dict[str, Any] = {
    "_target_": "models.nets.DualNet", "planes": 12, "filters": 16, "blocks": 2, "size": SIZE,
    "hidden": 16, "units": 16, "heads": list(ANSWERS), "names_pass": True,
}  # fmt: skip
EQUAL = dict.fromkeys(ANSWERS, 1.0)


def batch_of(count: int = BATCH) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    result = torch.tensor([1.0, -1.0]).repeat(count)[:count]
    return {
        "planes": random_planes(count, 12, SIZE),
        "move": torch.randint(0, POINTS + 1, (count,), generator=generator),
        "outcome": result,
        "result": result,
        "reply": torch.randint(0, POINTS + 1, (count,), generator=generator),
        "owner": torch.randint(0, 2, (count, POINTS), generator=generator) * 2.0 - 1,
        "score": torch.randn(count, generator=generator) * 8,
    }


def module_of(lessons: dict[str, Any], **net: Any) -> LessonModule:
    torch.manual_seed(1)
    return LessonModule(make_net({**NET, **net}), Muon, constant, lessons=lessons)


def constant(optimizer: Any, steps: int) -> Any:
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)


def gradients(module: Learner, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    module.zero_grad()
    module.judge(batch, validating=False)["loss"].backward()
    return {
        name: torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
        for name, weight in module.net.named_parameters()
    }


def test_each_head_learns_a_small_set_by_heart() -> None:
    module, batch = module_of(EQUAL), batch_of()
    optimizer = Muon(module.net, lr=0.02, adam_lr=0.01)
    for _ in range(80):
        optimizer.zero_grad()
        module.judge(batch, validating=False)["loss"].backward()
        optimizer.step()
    module.train()  # the statistics of this batch
    metrics = module.judge(batch, validating=True)
    assert metrics["top1"] == metrics["reply_top1"] == metrics["accuracy"] == 1
    assert max(metrics[name] for name in ("mse", "owner_mse")) < 0.1
    assert metrics["score_mae"] < 2 and metrics["policy_loss"] < 0.2


@pytest.mark.parametrize("answer", [name for name in ANSWERS if name != "policy"])
def test_a_missing_target_changes_nothing_else(answer: str) -> None:
    """All are missing: the gradients are those of a net with that lesson's weight at 0."""
    batch = batch_of()
    target = lesson_of(answer, {}).target
    nothing = -1 if answer == "reply" else float("nan")
    found = gradients(module_of(EQUAL), {**batch, target: torch.full_like(batch[target], nothing)})
    wanted = gradients(module_of({**EQUAL, answer: 0.0}), batch)
    assert all(torch.allclose(found[name], wanted[name], atol=1e-6) for name in found)
    assert all(gradient.isfinite().all() for gradient in found.values())


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_loss_is_the_mean_over_the_targets_that_are_there(answer: str) -> None:
    lesson, batch = lesson_of(answer, {}), batch_of()
    module = module_of(EQUAL).eval()
    some = batch[lesson.target].clone()
    some[3:] = -1 if answer in ("policy", "reply") else float("nan")
    answers = module.net(batch["planes"])[answer]
    found = judge(lesson, answers, {**batch, lesson.target: some}, top5=True)
    wanted = judge(
        lesson, answers[:3], {name: value[:3] for name, value in batch.items()}, top5=True
    )
    assert found.count == 3 and torch.allclose(found.loss, wanted.loss)
    assert found.metrics.keys() == wanted.metrics.keys()
    for name, value in found.metrics.items():
        assert torch.allclose(value, wanted.metrics[name]), name
    nobody = {**batch, lesson.target: torch.full_like(some, some[-1].flatten()[0])}
    assert judge(lesson, answers, nobody, top5=True).loss == 0


def test_logged_means_do_not_depend_on_how_positions_fall_into_batches() -> None:
    module, batch = module_of({**EQUAL, "value": 2.0}).eval(), batch_of()
    batch["result"][[0, 1, 5]] = float("nan")
    batch["score"][2:] = float("nan")
    whole = module.means_of(added({}, module.judge_all(batch, validating=True)))
    sums: dict[str, Tensor] = {}
    for part in (slice(0, 2), slice(2, 3), slice(3, 8)):
        some = {name: value[part] for name, value in batch.items()}
        sums = added(sums, module.judge_all(some, validating=True))
    parts = module.means_of(sums)
    assert whole.keys() == parts.keys()
    assert {"loss", "policy_loss", "top1", "top5", "mse", "score_mae"} <= whole.keys()
    assert all(torch.allclose(whole[name], parts[name], atol=1e-5) for name in whole)
    batch["score"][:] = float("nan")
    assert "score_mae" not in module.means_of(added({}, module.judge_all(batch, validating=True)))


# --- moves, passes and distributions


@pytest.mark.parametrize("loss", ["cross_entropy", "squared"])
def test_a_distribution_of_one_move_is_that_move(loss: str) -> None:
    batch = batch_of()
    logits = module_of(EQUAL).eval().net(batch["planes"])["policy"]
    batch["policy"] = functional.one_hot(batch["move"], POINTS + 1).float()
    lesson, of_all = (
        lesson_of("policy", {"loss": loss, "target": target}) for target in ("move", "policy")
    )
    moves, chances = (judge(each, logits, batch, top5=True) for each in (lesson, of_all))
    assert torch.allclose(moves.loss, chances.loss, atol=1e-6)
    assert moves.metrics.keys() == chances.metrics.keys()
    batch["policy"][2:] = float("nan")
    assert judge(of_all, logits, batch, top5=False).count == 2
    # whether it is learned is said by the lesson, not by what the batch has
    assert torch.equal(judge(lesson, logits, batch, top5=True).loss, moves.loss)
    del batch["policy"]
    assert not has_target(of_all, batch) and has_target(lesson, batch)


def test_the_squared_loss_of_moves_is_that_of_all_chances() -> None:
    logits, move = torch.zeros(1, 4), torch.tensor([2])
    found = judge(lesson_of("policy", {"loss": "squared"}), logits, {"move": move}, top5=False)
    assert found.loss == pytest.approx(3 * 0.25**2 + 0.75**2)


def test_a_pass_as_move_needs_a_net_that_names_it() -> None:
    batch = batch_of()
    batch["move"][0] = POINTS
    module = module_of({"policy": 1}, heads=["policy"], names_pass=False)
    with pytest.raises(Mistake, match=r"passes as moves, and the net names none.*names_pass=true"):
        module.judge(batch, validating=False)
    sure = functional.one_hot(batch["move"], POINTS + 1).float()
    told = {"policy": {"target": "policy"}}
    module = module_of(told, heads=["policy"], names_pass=False)
    with pytest.raises(Mistake, match="give passes a chance"):
        module.judge({**batch, "policy": sure}, validating=False)
    sure[0] = sure[1] = functional.one_hot(torch.tensor(3), POINTS + 1)
    assert module.judge({**batch, "policy": sure}, validating=False)["loss"].isfinite()


def test_a_reply_that_passes_is_missing_to_a_net_that_names_no_passes() -> None:
    batch = batch_of()
    batch["reply"][:] = POINTS
    batch["reply"][0] = 3
    logits = torch.zeros(BATCH, POINTS)
    assert judge(lesson_of("reply", {}), logits, batch, top5=False).count == 1
    assert (
        judge(lesson_of("reply", {}), torch.zeros(BATCH, POINTS + 1), batch, top5=False).count == 8
    )


# --- one loss everywhere


def test_older_modules_have_the_losses_of_lessons() -> None:
    batch = batch_of()
    batch["move"] %= POINTS
    policy = make_net({"_target_": "ResidualPolicyNet", "planes": 12, "filters": 8, "size": SIZE})
    value = make_net({"_target_": "ResidualValueNet", "planes": 12, "filters": 8, "size": SIZE})
    metrics = MoveModule(policy, Muon, constant).eval().judge(batch, validating=True)
    logits = policy(batch["planes"])
    assert torch.allclose(metrics["loss"], functional.cross_entropy(logits, batch["move"]))
    assert list(metrics) == ["loss", "top1", "top5"]
    metrics = ValueModule(value, Muon, constant).eval().judge(batch, validating=True)
    error = (value(batch["planes"]) - batch["outcome"]).square().mean()
    assert torch.allclose(metrics["loss"], error) and torch.allclose(metrics["mse"], error)


def test_a_value_net_tells_of_owners_as_a_mean_over_the_positions_that_have_them() -> None:
    """However they fall into batches, and not at all where no position has any."""
    arguments = {
        "_target_": "ResidualValueNet",
        "planes": 12,
        "filters": 8,
        "blocks": 1,
        "size": SIZE,
    }
    net, batch = make_net({**arguments, "owners": True}), batch_of()
    module = ValueModule(net, Muon, constant, owner_weight=1.0).eval()
    batch["owner"][:5] = torch.nan
    whole = module.judge(batch, validating=True)[OWNER_MSE].item()
    sums: dict[str, Tensor] = {}
    for rows in (slice(0, 3), slice(3, 6), slice(6, 8)):
        part = {name: values[rows] for name, values in batch.items()}
        more = sums_of(module.judge(part, validating=True), part)
        sums = added_up(sums, more)
        assert (OWNER_MSE in with_owner_mean(more)) == bool(rows.stop > 5)
    assert with_owner_mean(sums)[OWNER_MSE].item() == pytest.approx(whole)
    assert with_owner_mean(sums).keys() == {"loss", "mse", "accuracy", OWNER_MSE}


def test_the_loss_of_zero_is_that_of_the_paper() -> None:
    """(z - v)^2 - log p; weight decay is the optimizer's."""
    torch.manual_seed(1)
    net = make_net({"_target_": "ZeroNet", "planes": 12, "uniform": [], "filters": 8, "blocks": 1,
                    "size": SIZE}).eval()  # fmt: skip
    module, batch = LessonModule(net, Muon, constant, lessons={"policy": 1, "value": 1}), batch_of()
    found = net(batch["planes"])
    wanted = (batch["result"] - found["value"]).square() - found["policy"].log_softmax(1)[
        torch.arange(BATCH), batch["move"]
    ]
    assert torch.allclose(module.judge(batch, validating=False)["loss"], wanted.mean())


# --- wrong combinations


@pytest.mark.parametrize(
    ("lessons", "line"),
    [
        ({"policy": -1}, r"lessons\.policy\.weight=-1: a number from 0 up"),
        ({"policy": "much"}, r"weight=much: a number"),
        ({"policy": float("nan")}, r"weight=nan: a number"),
        ({"winner": 1}, r"lessons\.winner: no such answer, there are policy, value"),
        ({"value": {"loss": "huber"}}, r"lessons\.value\.loss=huber: squared"),
        ({"policy": {"target": "reply"}}, r"lessons\.policy\.target=reply: move or policy"),
        ({"reply": {"target": "policy"}}, r"lessons\.reply\.target=policy: reply"),
        ({"value": {"target": "move"}}, r"lessons\.value\.target=move: result or outcome"),
        ({"owner": {"target": ["owner"]}}, r"lessons\.owner\.target=\['owner'\]: owner"),
        ({"value": {"wait": 1}}, r"lessons\.value\.wait: a lesson has weight, target and loss"),
        ({"policy": None}, r"there is none"),
    ],
)
def test_a_lesson_that_can_not_be_is_one_line(lessons: dict[str, Any], line: str) -> None:
    with pytest.raises(Mistake, match=line):
        lessons_of(lessons)


def test_answers_and_lessons_belong_together() -> None:
    with pytest.raises(Mistake, match=r"lessons\.owner: the net does not answer that.*owner=null"):
        check_heads(lessons_of({"policy": 1, "owner": 1}), ("policy",))
    with pytest.raises(Mistake, match=r"the net answers value, and no lesson teaches that"):
        check_heads(lessons_of({"policy": 1}), ("policy", "value"))
    with pytest.raises(Mistake, match=r"the loader gives no owner; it gives planes, move"):
        batch = batch_of()
        del batch["owner"]
        module_of(EQUAL).judge(batch, validating=False)


def test_lessons_say_more_if_asked() -> None:
    lesson = lessons_of({"value": {"weight": 2, "target": "outcome"}})["value"]
    assert (lesson.weight, lesson.target, lesson.loss) == (2.0, "outcome", "squared")
    assert list(lessons_of({"score": 1, "policy": 1})) == ["policy", "score"]
