"""Networks: what they are, how they learn, how they answer.

    nets         the networks as plain torch modules
    files        cards, checkpoints, checksums; where weights are opened
    learning     Lightning modules, optimisers, exact resuming
    answering    engines and `open_net`, the door to a net
    exporting    ONNX and int8
    judging      scores of answers

Each room may import those above it; `learning` and `answering` are strangers.

Public names are imported when they are first used, so `import models` does not load torch.
"""

from typing import TYPE_CHECKING

from data.base.lazy import lazy

if TYPE_CHECKING:
    from models.answering.open import open_net

__all__ = ["open_net"]

__getattr__, __dir__ = lazy(__name__, {"open_net": "answering.open"})
