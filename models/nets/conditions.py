"""`Conditions`: the uniform inputs of a net as one short vector, [batch, numbers].

    black_to_play, white_to_play    1 or 0
    komi                            points that the player to move is given, in units of 6
    own_rank, opponent_rank         4 learned numbers for each rank, one table for both
    source                          4 learned numbers for each source
    year                            known or not, a straight line, and a step at 2017

In 2017, programs began to change how people play. What is unknown, code 0, gives zeros, so a net
answers without conditions as if all of them were unknown. The tables have a row for every byte.
Those of ranks begin as smooth functions of strength: a rank that no game teaches is then still
near its neighbours.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from data.base.errors import Mistake
from data.features.uniform import NO_KOMI, UNIFORM
from models.nets.blocks import KOMI_SCALE

BYTES = 256
FIRST_DAN, FIRST_PRO, LAST_RANK = 31, 41, 49  # codes of `data/features/uniform.py`
MIDDLE_YEAR, YEARS, PROGRAMS_YEAR = 180, 60, 218  # less 1799: 1979, and 2017
TABLES = {"own_rank": "rank", "opponent_rank": "rank", "source": "source"}
NUMBERS = {"own_rank": 4, "opponent_rank": 4, "source": 4, "year": 3}  # 1 for all others


def columns(uniform: Sequence[str]) -> dict[str, slice]:
    """Return where the numbers of each plane are in the vector."""
    found, at = {}, 0
    for name in uniform:
        found[name] = slice(at, at := at + NUMBERS.get(name, 1))
    return found


class Conditions(nn.Module):
    """`uniform` names the planes in their order. The input is [batch, planes]: their bytes."""

    def __init__(self, uniform: Sequence[str]):
        super().__init__()
        if wrong := [name for name in uniform if name not in UNIFORM]:
            raise Mistake(f"{str(wrong[0])[:40]}: no such input, there are {', '.join(UNIFORM)}")
        if len(set(uniform)) < len(uniform):
            raise Mistake(f"{', '.join(uniform)}: each input once")
        self.uniform = tuple(uniform)
        self.numbers = sum(NUMBERS.get(name, 1) for name in uniform)
        self.tables = nn.ModuleDict()
        if {"own_rank", "opponent_rank"} & set(uniform):
            self.tables["rank"] = table(strengths())
        if "source" in uniform:
            self.tables["source"] = table(torch.randn(BYTES, NUMBERS["source"]))

    def forward(self, codes: Tensor) -> Tensor:
        return torch.cat([self.of(name, codes[:, k]) for k, name in enumerate(self.uniform)], 1)

    def of(self, name: str, code: Tensor) -> Tensor:
        """Return the numbers of one plane, [batch, numbers]."""
        if name in TABLES:
            weight = self.tables[TABLES[name]].weight
            assert isinstance(weight, Tensor)
            return functional.embedding(code.long(), weight, padding_idx=0)
        code = code.float()
        if name == "komi":
            return points_of_komi(code)[:, None] / KOMI_SCALE
        if name != "year":
            return code[:, None]
        known = 1 - torch.relu(1 - code)  # 1, but 0 for code 0
        line, step = (code - MIDDLE_YEAR) / YEARS, torch.tanh((code - PROGRAMS_YEAR) / 5)
        return torch.stack([known, known * line, known * step], 1)


def points_of_komi(code: Tensor) -> Tensor:
    """Return the points that the player to move is given, from the byte of the plane."""
    return (code.float() - NO_KOMI) / 2


def table(weight: Tensor) -> nn.Embedding:
    """Return a table of learned numbers that begins so. Row 0, unknown, is zeros and stays so."""
    made = nn.Embedding(weight.shape[0], weight.shape[1], padding_idx=0)
    with torch.no_grad():
        made.weight.copy_(weight)
        made.weight[0].zero_()
    return made


def strengths() -> Tensor:
    """Return [codes, 4]: known, strength in tens of ranks, its square, professional or not.

    A professional of 1p counts as 7 dan, 9p as 9.4.
    """
    code = torch.arange(BYTES, dtype=torch.float32)
    pro = ((code >= FIRST_PRO) & (code <= LAST_RANK)).float()
    known = ((code > 0) & (code <= LAST_RANK)).float()
    strength = torch.where(pro > 0, 7 + (code - FIRST_PRO) * 0.3, code - FIRST_DAN + 1) / 10
    return torch.stack([known, known * strength, known * strength.square(), pro], 1)
