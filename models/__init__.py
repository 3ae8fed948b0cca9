"""Networks: what they are, how they learn, how they answer.

Public names are imported when they are first used, so `import models` does not load torch.
"""

from typing import TYPE_CHECKING

from data.base.lazy import lazy

if TYPE_CHECKING:
    from models.answering.inference import open_net

__all__ = ["open_net"]

__getattr__, __dir__ = lazy(__name__, {"open_net": "answering.inference"})
