"""Networks that predict the winner: planes -> values [batch], -1 to +1 for the player to move.

Planes are [batch, planes, size, size]. `ValueNet` is the one of the 2016 paper, layer by layer; it
takes 49 planes, the last of which is the colour to move. `ResidualValueNet` has the tower of
`ResidualPolicyNet` and can start from the weights of one.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from data.base.errors import Mistake
from data.features.evaluation import VALUE
from data.features.uniform import NO_KOMI
from models.nets.blocks import PointHead, Tower, ValueHead, as_floats
from models.nets.limits import WITH_COLOUR, WITH_KOMI
from models.nets.policy_net import start_plain


class ValueNet(nn.Module):
    """The paper's: the policy net's layers and one more, 1x1 to one map, 256 units, tanh."""

    answers = (VALUE,)

    def __init__(
        self,
        planes: int = 49,
        filters: int = 192,
        layers: int = 14,
        units: int = 256,
        size: int = 19,
    ):
        super().__init__()
        if planes > WITH_COLOUR:
            raise Mistake(
                f"planes={planes}: the paper's value net has {WITH_COLOUR}; "
                "value_resnet takes komi, too"
            )
        if layers < 4:
            raise Mistake(
                f"layers={layers}: a value net has at least 5x5, 1x1, "
                "the hidden units and a layer between"
            )
        body: list[nn.Module] = [nn.Conv2d(planes, filters, 5, padding=2), nn.ReLU(inplace=True)]
        for _ in range(layers - 3):  # layers 2 to 12 of the paper, whose 13th and 14th follow
            body += [nn.Conv2d(filters, filters, 3, padding=1), nn.ReLU(inplace=True)]
        self.body = nn.Sequential(*body)
        self.map = nn.Conv2d(filters, 1, 1)
        self.hidden = nn.Linear(size * size, units)
        self.out = nn.Linear(units, 1)
        start_plain(self)

    def forward(self, planes: Tensor) -> Tensor:
        # ReLU here: the paper leaves it open
        x = functional.relu_(self.map(self.body(as_floats(planes, self.map.weight))))
        return torch.tanh(self.out(functional.relu_(self.hidden(x.flatten(1)))).squeeze(1))


class ResidualValueNet(nn.Module):
    """The tower of the residual policy net, and a head that pools over the board.

    Fits boards of any size up to `size`.

    - With 50 planes the last one is komi, which decides close games; the head takes it as input.
    - With `owners` the net also predicts the owner of each point; the head takes their sum.
    - With `moves` it also predicts the next move, so that the tower keeps what a policy net
      learned. This serves training only; exported files are without it.
    """

    answers = (VALUE,)
    any_size = True  # answers for smaller boards than it was made for, too

    def __init__(
        self,
        planes: int = 49,
        filters: int = 64,
        blocks: int = 4,
        size: int = 19,
        hidden: int = 32,
        units: int = 64,
        dropout: float = 0.0,
        context: bool = True,
        symmetric: bool = False,
        owners: bool = False,
        moves: bool = False,
    ):
        super().__init__()
        if planes > WITH_KOMI:
            raise Mistake(
                f"planes={planes}: there are {WITH_KOMI}, with the colour to move and komi"
            )
        self.seen = min(planes, WITH_COLOUR)
        self.tower = Tower(self.seen, filters, blocks, context=context, symmetric=symmetric)
        self.head = ValueHead(
            filters,
            hidden=hidden,
            units=units,
            dropout=dropout,
            symmetric=symmetric,
            owners=owners,
            komi=planes == WITH_KOMI,
        )
        self.moves = PointHead(filters, size, symmetric=symmetric) if moves else None

    def forward(self, planes: Tensor) -> Tensor:
        return self.head(*self.inputs(planes))[0]

    def all_answers(self, planes: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return values, owners and move logits; None for those that the net does not predict.

        Owners are [batch, points], from -1 to +1 for the player to move; logits [batch, points].
        """
        maps, komi = self.inputs(planes)
        value, owner = self.head(maps, komi)
        return value, owner, None if self.moves is None else self.moves(maps)

    def inputs(self, planes: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the inputs of the heads: the tower's maps, and komi for the player to move."""
        maps = self.tower(as_floats(planes[:, : self.seen], self.head.out.weight))
        return maps, (planes[:, -1, 0, 0].float() - NO_KOMI) / 2 if self.head.takes_komi else None
