"""Optimisers and schedules, as factories that configurations name and modules call."""

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from data.base.errors import Mistake


class Muon(Optimizer):
    """Momentum with orthogonalised updates for matrices (Jordan 2024), AdamW for all other weights.

    A convolution is a matrix [outputs, inputs * window]. `lr` is the rate of the matrices,
    `adam_lr` that of the others.
    """

    def __init__(
        self,
        net: nn.Module,
        *,
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.01,
        adam_lr: float = 0.002,
        betas: tuple[float, float] = (0.9, 0.99),
        eps: float = 1e-8,
    ):
        for name, value in (("lr", lr), ("adam_lr", adam_lr), ("weight_decay", weight_decay)):
            if value < 0:
                raise Mistake(f"{name}={value}: must not be negative")
        matrices, others = split_parameters(net)
        super().__init__(
            [
                {"params": matrices, "lr": lr, "weight_decay": weight_decay, "muon": True},
                {"params": others, "lr": adam_lr, "weight_decay": 0.0, "muon": False},
            ],
            {"momentum": momentum, "betas": tuple(betas), "eps": eps},
        )

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            update = self.muon_step if group["muon"] else self.adam_step
            for weight in group["params"]:
                if weight.grad is not None:
                    update(weight, group, self.state[weight])
        return loss

    def muon_step(self, weight: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        if not state:
            state["momentum"] = torch.zeros_like(weight)
        assert weight.grad is not None
        state["momentum"].lerp_(weight.grad, 1 - group["momentum"])
        direction = weight.grad.lerp(state["momentum"], group["momentum"])  # Nesterov's look ahead
        matrix = orthogonal(direction.flatten(1))
        scale = max(1.0, matrix.shape[0] / matrix.shape[1]) ** 0.5
        weight.mul_(1 - group["lr"] * group["weight_decay"])
        weight.add_(matrix.view_as(weight), alpha=-group["lr"] * scale)

    def adam_step(self, weight: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Take a step of AdamW that divides by `(sqrt(square) + eps) / sqrt(1 - b2**step)`.

        `torch.optim.AdamW` divides by `sqrt(square) / sqrt(1 - b2**step) + eps`. Its weights differ
        from the first step on, so runs would not continue exactly. The names in `state` are those
        of existing checkpoints.
        """
        if not state:
            state["step"] = 0
            state["mean"] = torch.zeros_like(weight)
            state["square"] = torch.zeros_like(weight)
        state["step"] += 1
        b1, b2 = group["betas"]
        state["mean"].lerp_(weight.grad, 1 - b1)
        state["square"].mul_(b2).addcmul_(weight.grad, weight.grad, value=1 - b2)
        size = math.sqrt(1 - b2 ** state["step"]) / (1 - b1 ** state["step"])
        weight.mul_(1 - group["lr"] * group["weight_decay"])
        weight.addcdiv_(
            state["mean"], state["square"].sqrt().add_(group["eps"]), value=-group["lr"] * size
        )


def orthogonal(matrix: Tensor, steps: int = 5) -> Tensor:
    """Return nearly the orthogonal factor of a matrix.

    Newton and Schulz's iteration with Jordan's coefficients, in bfloat16.
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix.to(torch.bfloat16)
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.T
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return (x.T if tall else x).to(matrix.dtype)


def split_parameters(net: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Return the matrices, and all other weights: biases, norms and layers with one output.

    A table of learned numbers is no matrix: most of its rows get no gradient in a step.
    """
    weights = [w for w in net.parameters() if w.requires_grad]
    tables = {id(layer.weight) for layer in net.modules() if isinstance(layer, nn.Embedding)}
    matrices = [w for w in weights if w.ndim >= 2 and w.shape[0] > 1 and id(w) not in tables]
    known = {id(w) for w in matrices}
    return matrices, [w for w in weights if id(w) not in known]


def adamw(
    net: nn.Module,
    *,
    lr: float = 2e-3,
    weight_decay: float = 0.02,
    betas: Iterable[float] = (0.9, 0.99),
) -> Optimizer:
    """AdamW, with weight decay for matrices only."""
    matrices, others = split_parameters(net)
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr, betas=tuple(betas))  # type: ignore[arg-type]


def sgd(
    net: nn.Module, *, lr: float = 0.003, momentum: float = 0.0, weight_decay: float = 0.0
) -> Optimizer:
    """Stochastic gradient descent; the defaults are the paper's."""
    return torch.optim.SGD(
        net.parameters(), lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=momentum > 0
    )


def cosine(
    optimizer: Optimizer, steps: int, *, warmup: float = 0.02, final: float = 0.0
) -> LambdaLR:
    """Linear warm-up, then half a cosine down to `final` of the full rate.

    `warmup` is a share of all steps.
    """
    return LambdaLR(optimizer, partial(cosine_factor, steps=steps, warmup=warmup, final=final))


def cosine_factor(step: int, steps: int, warmup: float, final: float) -> float:
    rising = max(1, round(warmup * steps))
    if step < rising:
        return (step + 1) / rising
    gone = min(1.0, (step - rising) / max(1, steps - rising))
    return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * gone))


def trapezoid(
    optimizer: Optimizer, steps: int, *, warmup: float = 0.01, decay: float = 0.25
) -> LambdaLR:
    """Linear warm-up, a constant rate, then linear decay to 0.

    `warmup` and `decay` are shares of all steps. The constant rate does not depend on the number of
    steps: a run that has not begun to decay can be made longer or shorter.
    """
    return LambdaLR(optimizer, partial(trapezoid_factor, steps=steps, warmup=warmup, decay=decay))


def trapezoid_factor(step: int, steps: int, warmup: float, decay: float) -> float:
    rising = max(1, round(warmup * steps))
    falling = max(1, round(decay * steps))
    return max(0.0, min(1.0, (step + 1) / rising, (steps - step) / falling))


def halving(optimizer: Optimizer, steps: int, *, every: int = 80_000_000) -> LambdaLR:
    """Halve the rate every `every` steps; the paper's 80 million."""
    return LambdaLR(optimizer, partial(halving_factor, every=every))


def halving_factor(step: int, every: int) -> float:
    return 0.5 ** (step // every)
