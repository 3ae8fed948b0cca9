"""Networks that predict the next move: planes -> logits [batch, size * size], point by point.

Planes are [batch, planes, size, size]. `PolicyNet` is the one of the 2016 paper, layer by layer;
`ResidualPolicyNet` learns more in less time. Passing is not among the moves.
"""

import torch
from torch import Tensor, nn

from data.base.errors import Mistake
from data.features.evaluation import POLICY
from models.nets.blocks import PointBias, PointHead, Tower, as_floats
from models.nets.limits import WITH_COLOUR


class PolicyNet(nn.Module):
    """The paper's: one 5x5 layer, 3x3 layers, then 1x1 to one map with a bias for each point.

    `layers` counts all of them. There is no batch norm.
    """

    answers = (POLICY,)
    any_size = True  # answers for smaller boards than it was made for, too

    def __init__(self, planes: int = 48, filters: int = 192, layers: int = 13, size: int = 19):
        super().__init__()
        if planes > WITH_COLOUR:
            raise Mistake(f"planes={planes}: a policy net sees {WITH_COLOUR} at most")
        if layers < 2:
            raise Mistake(
                f"layers={layers}: a policy net has a first and a last layer, and more between them"
            )
        body: list[nn.Module] = [nn.Conv2d(planes, filters, 5, padding=2), nn.ReLU(inplace=True)]
        for _ in range(layers - 2):
            body += [nn.Conv2d(filters, filters, 3, padding=1), nn.ReLU(inplace=True)]
        self.body = nn.Sequential(*body)
        self.last = nn.Conv2d(filters, 1, 1, bias=False)
        self.bias = PointBias(size)
        start_plain(self)

    def forward(self, planes: Tensor) -> Tensor:
        return self.bias(self.last(self.body(as_floats(planes, self.last.weight))))


class ResidualPolicyNet(nn.Module):
    """Stem, residual blocks with batch norm, and a head; blocks and head pool over the board.

    With `symmetric`, the net is equivariant (`symmetric.py`), and `filters` and `hidden` must be
    multiples of 8.
    """

    answers = (POLICY,)
    any_size = True

    def __init__(
        self,
        planes: int = 48,
        filters: int = 64,
        blocks: int = 6,
        size: int = 19,
        hidden: int = 32,
        context: bool = True,
        symmetric: bool = False,
    ):
        super().__init__()
        self.tower = Tower(planes, filters, blocks, context=context, symmetric=symmetric)
        self.head = PointHead(filters, size, hidden=hidden, symmetric=symmetric)

    def forward(self, planes: Tensor) -> Tensor:
        return self.head(self.tower(as_floats(planes, self.head.out.weight)))


def start_plain(net: nn.Module) -> None:
    """Initialise a deep net without norms: He's scale before each ReLU, small first answers."""
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    last = [layer for layer in net.modules() if isinstance(layer, nn.Conv2d | nn.Linear)][-1]
    with torch.no_grad():
        last.weight.mul_(0.1)
