"""The parts of the modern networks: convolutions with batch norm, residual blocks, heads.

Activations are [batch, channels, size, size], channels-last in memory. Only `PointBias` depends on
the size of the board, and it fits smaller ones too. Batch norm stands directly behind each
convolution, so that it can be folded away on export. With `symmetric`, layers are those of
`symmetric.py`; modules keep their names, so the state of one kind can be turned into the other's.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from data.base.errors import Mistake
from models.nets.limits import WITH_COLOUR
from models.nets.symmetric import (
    SymmetricConv,
    SymmetricLinear,
    SymmetricNorm,
    SymmetricSpread,
    SymmetricSum,
)

SCORE_SCALE = 10.0  # the unit of a score as input: a mean of 0.1, which is 36 points of 361
KOMI_SCALE = 6.0  # points
EARLY_PASS = -4.0  # the logit of a pass in a new net


def as_floats(planes: Tensor, like: Tensor) -> Tensor:
    """Return the loader's planes (uint8) in the type that the first convolution computes with."""
    device = planes.device.type
    return planes.to(
        torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else like.dtype
    )


class PointBias(nn.Module):
    """Adds a learned number for each point: [batch, 1, size, size] -> [batch, size * size].

    A point of a smaller board gets the number of the point that is as far from its two nearest
    edges.
    """

    def __init__(self, size: int):
        super().__init__()
        self.size = size
        self.bias = nn.Parameter(torch.zeros(size * size))

    def forward(self, x: Tensor) -> Tensor:
        side = x.shape[-1]
        # an exported net takes all sizes
        if not torch.compiler.is_exporting() and side == self.size:
            return x.flatten(1) + self.bias
        line = torch.arange(side, device=x.device)
        line = torch.where(2 * line < side, line, line + self.size - side)
        return (x[:, 0] + self.bias.view(self.size, self.size)[line][:, line]).flatten(1)


class ConvNorm(nn.Sequential):
    """Convolution and batch norm.

    `gain` is the initial scale of the norm: with 0, a residual branch begins as the identity.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        *,
        gain: float = 1.0,
        symmetric: bool = False,
        lift: bool = False,
    ):
        if symmetric:
            super().__init__(
                SymmetricConv(inputs, outputs, kernel, lift=lift), SymmetricNorm(outputs)
            )
        else:
            super().__init__(
                nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False),
                nn.BatchNorm2d(outputs),
            )
        nn.init.constant_(self[1].weight, gain)  # type: ignore[arg-type]


class PooledBias(nn.Module):
    """Adds a bias to each channel, computed from the mean and maximum of all channels.

    So every point depends on the whole board. With `conditions`, that many numbers that hold for
    the whole board are inputs, too; their weights begin at 0.
    """

    def __init__(self, channels: int, *, symmetric: bool = False, conditions: int = 0):
        super().__init__()
        self.mean = (
            SymmetricLinear(channels, channels) if symmetric else nn.Linear(channels, channels)
        )
        self.maximum = (
            SymmetricLinear(channels, channels) if symmetric else nn.Linear(channels, channels)
        )
        for linear in (self.mean, self.maximum):
            nn.init.zeros_(linear.weight)
            nn.init.zeros_(linear.bias)
        self.conditions = spread(conditions, channels, symmetric=symmetric) if conditions else None

    def forward(self, x: Tensor, conditions: Tensor | None = None) -> Tensor:
        bias = self.mean(x.mean((2, 3))) + self.maximum(x.amax((2, 3)))
        if self.conditions is not None and conditions is not None:
            bias = bias + self.conditions(conditions.to(bias.dtype))
        return x + bias[:, :, None, None]


def spread(numbers: int, channels: int, *, symmetric: bool) -> nn.Module:
    """Return a layer from numbers to channels whose weights begin at 0."""
    layer = (
        SymmetricSpread(numbers, channels)
        if symmetric
        else nn.Linear(numbers, channels, bias=False)
    )
    nn.init.zeros_(layer.weight)
    return layer


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut; with `context`, a `PooledBias` between them."""

    def __init__(
        self,
        channels: int,
        *,
        context: bool = False,
        symmetric: bool = False,
        conditions: int = 0,
    ):
        super().__init__()
        self.first = ConvNorm(channels, channels, 3, symmetric=symmetric)
        self.context = (
            PooledBias(channels, symmetric=symmetric, conditions=conditions)
            if context
            else nn.Identity()
        )
        self.second = ConvNorm(channels, channels, 3, gain=0.0, symmetric=symmetric)

    def forward(self, x: Tensor, conditions: Tensor | None = None) -> Tensor:
        y = self.first(x)
        if isinstance(self.context, PooledBias):
            y = self.context(y, conditions)
        return functional.relu_(x + self.second(functional.relu_(y)))


class Tower(nn.Sequential):
    """5x5 stem and residual blocks: [batch, planes, size, size] -> [batch, filters, size, size].

    With `context`, every second block has a `PooledBias`, which takes the conditions as inputs.
    """

    def __init__(
        self,
        planes: int,
        filters: int,
        blocks: int,
        *,
        context: bool = True,
        symmetric: bool = False,
        conditions: int = 0,
    ):
        if planes > WITH_COLOUR:
            raise Mistake(
                f"planes={planes}: a tower sees {WITH_COLOUR} at most; "
                "komi is for the head of value_resnet"
            )
        stem = nn.Sequential(
            ConvNorm(planes, filters, 5, symmetric=symmetric, lift=True), nn.ReLU(inplace=True)
        )
        super().__init__(
            stem,
            *(
                ResidualBlock(
                    filters,
                    context=context and k % 2 == 1,
                    symmetric=symmetric,
                    conditions=conditions,
                )
                for k in range(blocks)
            ),
        )

    def forward(self, x: Tensor, conditions: Tensor | None = None) -> Tensor:
        x = self[0](x)
        for k in range(1, len(self)):
            x = self[k](x, conditions)
        return x


class PointHead(nn.Module):
    """A logit for each point: [batch, filters, size, size] -> [batch, size * size].

    With `names_pass` there is one more behind them, for a pass. It begins low, as a pass is rare.
    """

    def __init__(
        self,
        filters: int,
        size: int,
        *,
        hidden: int = 32,
        symmetric: bool = False,
        conditions: int = 0,
        names_pass: bool = False,
    ):
        super().__init__()
        self.hidden = ConvNorm(filters, hidden, 1, symmetric=symmetric)
        self.context = PooledBias(hidden, symmetric=symmetric, conditions=conditions)
        self.out = (
            SymmetricSum(hidden, 1, maps=True, bias=False)
            if symmetric
            else nn.Conv2d(hidden, 1, 1, bias=False)
        )
        self.bias = PointBias(size)
        self.names_pass = names_pass
        if names_pass:
            self.pass_mean, self.pass_maximum = pooled_layers(hidden, 1, symmetric=symmetric)
            for layer in (self.pass_mean, self.pass_maximum):
                nn.init.zeros_(layer.weight)  # type: ignore[arg-type]
                nn.init.constant_(layer.bias, EARLY_PASS / 2)  # type: ignore[arg-type]

    def forward(self, x: Tensor, conditions: Tensor | None = None) -> Tensor:
        x = functional.relu_(self.context(self.hidden(x), conditions))
        points = self.bias(self.out(x))
        if not self.names_pass:
            return points
        passing = self.pass_mean(x.mean((2, 3))) + self.pass_maximum(x.amax((2, 3)))
        return torch.cat([points, passing.to(points.dtype)], 1)


def pooled_layers(
    channels: int, units: int, *, symmetric: bool = False
) -> tuple[nn.Module, nn.Module]:
    """Return the layers from means and from maxima of channels to invariant units."""
    if symmetric:
        return (
            SymmetricSum(channels, units, maps=False, bias=True),
            SymmetricSum(channels, units, maps=False, bias=True),
        )
    return nn.Linear(channels, units), nn.Linear(channels, units)


class ValueHead(nn.Module):
    """One number: [batch, filters, size, size] -> [batch], from -1 to +1.

    Its inputs are global mean and max pooling. With `owners` there is a second answer, the expected
    owner of each point, [batch, points]; its mean, the score, becomes an input. With `komi`, the
    points that the player to move is given, [batch], are an input. With both, so is the estimated
    lead divided by its standard deviation: a lead of five is much at the end and little before.
    """

    def __init__(
        self,
        filters: int,
        *,
        hidden: int = 32,
        units: int = 64,
        dropout: float = 0.0,
        symmetric: bool = False,
        owners: bool = False,
        komi: bool = False,
    ):
        super().__init__()
        self.hidden = ConvNorm(filters, hidden, 1, symmetric=symmetric)
        self.dropout = nn.Dropout(dropout)
        self.mean, self.maximum = pooled_layers(hidden, units, symmetric=symmetric)
        self.out = nn.Linear(units, 1)
        with torch.no_grad():
            self.out.weight.mul_(0.1)  # begin near 0
        self.owner: nn.Module | None = None
        if owners:
            self.owner = (
                SymmetricSum(hidden, 1, maps=True, bias=False)
                if symmetric
                else nn.Conv2d(hidden, 1, 1, bias=False)
            )
        self.takes_komi = komi
        if inputs := numbers_about_score(owner=owners, komi=komi):
            self.score = nn.Linear(inputs, units)

    def forward(self, x: Tensor, komi: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        x = functional.relu_(self.hidden(x))
        units = self.mean(self.dropout(x.mean((2, 3)))) + self.maximum(self.dropout(x.amax((2, 3))))
        owner = None
        if self.owner is not None:
            # in float32: in bf16, points that are nearly sure would count as certain
            owner = torch.tanh(self.owner(x).flatten(1).float())
        if (about := about_score(owner, komi)) is not None:
            units = units + self.score(about.to(units.dtype))
        return torch.tanh(self.out(self.dropout(functional.relu_(units))).squeeze(1)), owner


def about_score(owner: Tensor | None, komi: Tensor | None) -> Tensor | None:
    """Return what owners and komi say about the score, float [batch, 1 or 3].

    These are the score alone, komi alone, or score, lead in standard deviations, and komi.
    """
    if owner is None:
        return None if komi is None else komi[:, None] / KOMI_SCALE
    score = SCORE_SCALE * owner.mean(1)
    if komi is None:
        return score[:, None]
    lead = owner.sum(1) + komi
    doubt = torch.sqrt(1 + (1 - owner.square()).sum(1))
    return torch.stack([score, lead / doubt, komi / KOMI_SCALE], 1)


def numbers_about_score(*, owner: bool, komi: bool) -> int:
    """Return how many numbers `about_score` gives."""
    return 2 * (owner and komi) + (owner or komi)
