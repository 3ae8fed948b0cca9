"""`PatternNet`: a softmax over moves, linear in pattern features.

The rollout policy and the tree policy of the 2016 paper are such nets. A feature is the index of a
weight, int32 [batch, slots, size, size] (`data/patterns/vocabulary.py`). The logit of a move is the
sum of its weights. The words that the indices stand for are buffers of the net, so a checkpoint
always holds them beside the weights.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from data.features.evaluation import POLICY
from data.patterns.files import PatternWeights
from data.patterns.vocabulary import KINDS, PatternError, Words, first_of_slots
from models.nets.limits import UNLIKELY


class PatternNet(nn.Module):
    """`arounds`, `responses` and `shapes` count the words; `take_words` sets the words."""

    answers = (POLICY,)
    input_kind = "patterns"  # and not planes

    def __init__(
        self, kind: str = "rollout", arounds: int = 0, responses: int = 0, shapes: int = 0
    ):
        super().__init__()
        self.kind = kind
        self.slots = KINDS.get(kind, 0)
        sizes = {"arounds": arounds, "responses": responses, "shapes": shapes}
        self.weight = nn.Parameter(torch.zeros(int(first_of_slots(kind, sizes)[-1])))
        for name, count in sizes.items():
            self.register_buffer(f"words_{name}", torch.zeros(count, dtype=torch.int64))

    def take_words(self, words: Words) -> None:
        for name in words.sizes():
            getattr(self, f"words_{name}").copy_(torch.from_numpy(getattr(words, name)))

    def words(self) -> Words:
        return Words(
            *(getattr(self, f"words_{name}").numpy() for name in ("arounds", "responses", "shapes"))
        )

    def forward(self, features: Tensor) -> Tensor:
        if features.shape[1] != self.slots:
            raise PatternError(
                f"features of {features.shape[1]} slots; a {self.kind} policy has {self.slots}"
            )
        numbers = features.permute(0, 2, 3, 1).flatten(1, 2)  # the order in memory
        weights = functional.embedding(numbers, self.weight[:, None], padding_idx=0)
        return weights.sum((2, 3)).masked_fill(numbers[..., 0] == 0, UNLIKELY)

    def patterns(self, about: dict[str, object] | None = None) -> PatternWeights:
        weights = self.weight.detach().numpy().copy()
        weights[0] = 0
        return PatternWeights(
            self.kind, self.words(), weights.astype(np.float32), dict(about or {})
        )
