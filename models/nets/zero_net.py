"""The nets of AlphaGo Zero and of the AlphaZero notes: a policy with a pass, and a value.

    planes -> {"policy": logits [batch, points + 1], "value": [batch], -1 lost .. +1 won}

Records seldom have passes as moves. A net that learns from moves without them would give passes no
chance, so it has no logit for them (`names_pass=False`): whether to pass is left to the search.

`ZeroNet` is AlphaGo Zero's (Silver and others 2017), with any depth and width. `SmallZeroNet` is
the sample net of the AlphaZero notes. Both have linear layers over all points, so they fit boards
of one size. Uniform planes are planes like others.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from data.base.errors import Mistake
from data.features.evaluation import POLICY, VALUE
from models.nets.blocks import KOMI_SCALE, ConvNorm, ResidualBlock, as_floats
from models.nets.conditions import points_of_komi

TAKEN = ("black_to_play", "white_to_play", "komi")


class ZeroBase(nn.Module):
    """What both nets share: how planes come in, and which answers go out."""

    answers = (POLICY, VALUE)
    names_pass = True  # where nothing else is said
    any_size = False

    def __init__(self, planes: int, uniform: Sequence[str], size: int, names_pass: bool):
        super().__init__()
        if wrong := [name for name in uniform if name not in TAKEN]:
            raise Mistake(
                f"{str(wrong[0])[:40]}: this net takes {', '.join(TAKEN)}; "
                "dual_resnet takes ranks, source and year, too"
            )
        self.inputs = planes + len(uniform)
        self.komi = planes + list(uniform).index("komi") if "komi" in uniform else None
        self.points = size * size
        self.names_pass = names_pass
        self.moves = self.points + names_pass

    def planes_in(self, planes: Tensor, like: Tensor) -> Tensor:
        """Return all planes as floats, with komi in a unit of its own."""
        if self.komi is None:
            return as_floats(planes, like)
        komi = points_of_komi(planes[:, self.komi : self.komi + 1]) / KOMI_SCALE
        before, behind = planes[:, : self.komi], planes[:, self.komi + 1 :]
        return as_floats(torch.cat([before.float(), komi, behind.float()], 1), like)


class ZeroNet(ZeroBase):
    """3x3 convolution, residual blocks, and the two heads of AlphaGo Zero.

    The policy head has 2 maps and a linear layer. The value head has 1 map, `units` hidden units
    and a tanh. Batch norm and ReLU stand behind each convolution.
    """

    def __init__(
        self,
        planes: int = 16,
        uniform: Sequence[str] = ("black_to_play",),
        filters: int = 256,
        blocks: int = 19,
        size: int = 19,
        units: int = 256,
        names_pass: bool = True,
    ):
        super().__init__(planes, uniform, size, names_pass)
        stem = nn.Sequential(ConvNorm(self.inputs, filters, 3), nn.ReLU(inplace=True))
        self.tower = nn.Sequential(stem, *(ZeroBlock(filters) for _ in range(blocks)))
        self.policy_maps = ConvNorm(filters, 2, 1)
        self.policy = nn.Linear(2 * self.points, self.moves)
        self.value_maps = ConvNorm(filters, 1, 1)
        self.hidden = nn.Linear(self.points, units)
        self.value = nn.Linear(units, 1)

    def forward(self, planes: Tensor) -> dict[str, Tensor]:
        maps = self.tower(self.planes_in(planes, self.policy.weight))
        policy = self.policy(functional.relu_(self.policy_maps(maps)).flatten(1))
        units = self.hidden(functional.relu_(self.value_maps(maps)).flatten(1))
        return {
            POLICY: policy,
            VALUE: torch.tanh(self.value(functional.relu_(units)).squeeze(1)),
        }


class ZeroBlock(ResidualBlock):
    """AlphaGo Zero's residual block, whose norms all begin at 1."""

    def __init__(self, channels: int):
        super().__init__(channels)
        nn.init.ones_(self.second[1].weight)  # type: ignore[arg-type]


class SmallZeroNet(ZeroBase):
    """Three 3x3 layers of 32, 64 and 128 maps, without norms, and two heads.

    The policy head has 4 maps, the value head 2 maps and 64 hidden units.
    """

    def __init__(
        self,
        planes: int = 16,
        uniform: Sequence[str] = ("black_to_play",),
        size: int = 9,
        names_pass: bool = True,
    ):
        super().__init__(planes, uniform, size, names_pass)
        body: list[nn.Module] = []
        widths = (self.inputs, 32, 64, 128)
        for inputs, outputs in pairwise(widths):
            body += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(inplace=True)]
        self.body = nn.Sequential(*body)
        self.policy_maps = nn.Conv2d(128, 4, 1)
        self.policy = nn.Linear(4 * self.points, self.moves)
        self.value_maps = nn.Conv2d(128, 2, 1)
        self.hidden = nn.Linear(2 * self.points, 64)
        self.value = nn.Linear(64, 1)

    def forward(self, planes: Tensor) -> dict[str, Tensor]:
        maps = self.body(self.planes_in(planes, self.policy.weight))
        policy = self.policy(functional.relu_(self.policy_maps(maps)).flatten(1))
        units = self.hidden(functional.relu_(self.value_maps(maps)).flatten(1))
        return {
            POLICY: policy,
            VALUE: torch.tanh(self.value(functional.relu_(units)).squeeze(1)),
        }
