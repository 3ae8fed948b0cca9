"""`DualNet`: one tower and several answers.

    answer   from                                          shape
    policy   the maps; a logit for each move               [batch, points or points + 1]
    value    the maps' means and maxima, owners, komi      [batch], -1 lost .. +1 won
    owner    the maps; the expected owner of each point    [batch, points], -1 .. +1
    reply    as policy, of the opponent's next move        as policy
    score    owners and komi, corrected as value decides   [batch], points ahead at the end

All are from the view of the player to move. Tower and policy head are those of
`ResidualPolicyNet`, so its weights can start this net. Uniform planes do not pass through the
tower: they are conditions (`conditions.py`), added as a bias wherever pooled channels are.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from data.base.errors import Mistake
from data.features.evaluation import ANSWERS, OWNER, POLICY, REPLY, SCORE, VALUE
from models.nets.blocks import (
    ConvNorm,
    PointHead,
    Tower,
    about_score,
    as_floats,
    numbers_about_score,
    pooled_layers,
    spread,
)
from models.nets.conditions import Conditions, points_of_komi
from models.nets.symmetric import SymmetricSum

SCORE_UNIT = 10.0  # points


class DualNet(nn.Module):
    """`planes` counts stored planes; `uniform` names the planes behind them.

    `hidden` is the width of the heads that name moves, `units` that of all others. With
    `symmetric`, the net is equivariant, and all three widths are multiples of 8.
    """

    any_size = True  # answers for smaller boards than it was made for, too

    def __init__(
        self,
        planes: int = 48,
        uniform: Sequence[str] = (),
        filters: int = 64,
        blocks: int = 6,
        size: int = 19,
        hidden: int = 32,
        units: int = 64,
        heads: Sequence[str] = (POLICY, VALUE),
        names_pass: bool = False,
        context: bool = True,
        symmetric: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.answers = answers_in_order(heads)
        self.names_pass = names_pass
        self.planes = planes
        self.conditions = Conditions(uniform) if len(uniform) else None
        self.komi = list(uniform).index("komi") if "komi" in uniform else None
        numbers = self.conditions.numbers if self.conditions is not None else 0
        self.tower = Tower(
            planes, filters, blocks, context=context, symmetric=symmetric, conditions=numbers
        )
        self.outlook = None
        if {VALUE, OWNER, SCORE} & set(self.answers):  # maps that these share
            self.outlook = ConvNorm(filters, units, 1, symmetric=symmetric)
        about = numbers_about_score(owner=OWNER in self.answers, komi=self.komi is not None)
        self.heads = nn.ModuleDict()
        for name in self.answers:
            if name in (POLICY, REPLY):
                self.heads[name] = PointHead(
                    filters,
                    size,
                    hidden=hidden,
                    symmetric=symmetric,
                    conditions=numbers,
                    names_pass=names_pass,
                )
            elif name == OWNER:
                self.heads[name] = OwnerHead(units, symmetric=symmetric)
            else:
                self.heads[name] = NumberHead(
                    units, about, numbers, dropout=dropout, symmetric=symmetric
                )

    def forward(self, planes: Tensor) -> Tensor | dict[str, Tensor]:
        found = self.all_answers(planes)
        return found if len(self.answers) > 1 else found[self.answers[0]]

    def all_answers(self, planes: Tensor) -> dict[str, Tensor]:
        uniform = planes[:, self.planes :, :1, :1].flatten(1)
        conditions = self.conditions(uniform) if self.conditions is not None else None
        weight = self.tower[0][0][0].weight  # type: ignore[index]
        maps = self.tower(as_floats(planes[:, : self.planes], weight), conditions)
        found = {
            name: self.heads[name](maps, conditions)
            for name in (POLICY, REPLY)
            if name in self.heads
        }
        if self.outlook is not None:
            maps = functional.relu_(self.outlook(maps))
            komi = None if self.komi is None else points_of_komi(uniform[:, self.komi])
            found |= self.outlooks(maps, komi, conditions)
        return {name: found[name] for name in self.answers}

    def outlooks(
        self, maps: Tensor, komi: Tensor | None, conditions: Tensor | None
    ) -> dict[str, Tensor]:
        """Return who owns what, who wins, and by how much."""
        found: dict[str, Tensor] = {}
        owner = None
        if OWNER in self.heads:
            owner = found[OWNER] = self.heads[OWNER](maps)
        about = about_score(owner, komi)
        if VALUE in self.heads:
            found[VALUE] = torch.tanh(self.heads[VALUE](maps, about, conditions))
        if SCORE in self.heads:
            found[SCORE] = SCORE_UNIT * self.heads[SCORE](maps, about, conditions)
            if owner is not None:
                # the sum of all points would teach owners more than their own lesson does; what
                # the head makes of them, `about`, teaches them as it does for a value
                found[SCORE] = found[SCORE] + (owner.detach() if self.training else owner).sum(1)
            if komi is not None:
                found[SCORE] = found[SCORE] + komi
        return found


class OwnerHead(nn.Module):
    """The expected owner of each point: [batch, channels, size, size] -> [batch, points]."""

    def __init__(self, channels: int, *, symmetric: bool = False):
        super().__init__()
        self.out = (
            SymmetricSum(channels, 1, maps=True, bias=False)
            if symmetric
            else nn.Conv2d(channels, 1, 1, bias=False)
        )

    def forward(self, x: Tensor) -> Tensor:
        # in float32: in bf16, points that are nearly sure would count as certain
        return torch.tanh(self.out(x).flatten(1).float())


class NumberHead(nn.Module):
    """One number without bounds: [batch, channels, size, size] -> [batch].

    Its inputs are the mean and the maximum of each channel, what owners and komi say about the
    score (`about_score`), and the conditions. Layers are called as in `ValueHead`.
    """

    def __init__(
        self,
        channels: int,
        about: int,
        conditions: int,
        *,
        dropout: float = 0.0,
        symmetric: bool = False,
    ):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.mean, self.maximum = pooled_layers(channels, channels, symmetric=symmetric)
        self.score = nn.Linear(about, channels) if about else None
        self.conditions = spread(conditions, channels, symmetric=False) if conditions else None
        self.out = nn.Linear(channels, 1)
        with torch.no_grad():
            self.out.weight.mul_(0.1)  # begin near 0

    def forward(
        self, x: Tensor, about: Tensor | None = None, conditions: Tensor | None = None
    ) -> Tensor:
        units = self.mean(self.dropout(x.mean((2, 3)))) + self.maximum(self.dropout(x.amax((2, 3))))
        if self.score is not None and about is not None:
            units = units + self.score(about.to(units.dtype))
        if self.conditions is not None and conditions is not None:
            units = units + self.conditions(conditions.to(units.dtype))
        return self.out(self.dropout(functional.relu_(units))).squeeze(1).float()


def answers_in_order(heads: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the heads in the order of `ANSWERS`. Raises `Mistake`."""
    names = list(heads)
    if not names or any(name not in ANSWERS for name in names) or len(set(names)) < len(names):
        raise Mistake(f"heads={ascii(names)[:60]}: one or more of {', '.join(ANSWERS)}, each once")
    return tuple(name for name in ANSWERS if name in names)
