"""`LiveEngine`: answers of a net that goes on learning.

    engine = LiveEngine(net, card, precision="bf16", threads=2)
    engine.take(net)                 copies the weights; the net learns on, the engine does not

The engine computes with ordinary layers and folded norms, as every `TorchEngine` does. `take`
writes the new weights into them, which costs as much as reading the weights once.
"""

from typing import Any

from models.answering.engines import TorchEngine
from models.files.card import Card


class LiveEngine(TorchEngine):
    def __init__(self, net: Any, card: Card, **options: Any):
        super().__init__(net, card, **options)
        self.folds = folds_of(net, card)
        self.take(net)

    def take(self, net: Any) -> None:
        """Answer with the weights that `net` has now."""
        import torch

        from models.nets.symmetric import plain_state

        with torch.no_grad():
            state = plain_state(net)
            for conv, norm, eps in self.folds:
                scale = state[f"{norm}.weight"] / (state[f"{norm}.running_var"] + eps).sqrt()
                bias = state.get(f"{conv}.bias", 0) - state[f"{norm}.running_mean"]
                state[f"{conv}.weight"] = state[f"{conv}.weight"] * scale[:, None, None, None]
                state[f"{conv}.bias"] = state[f"{norm}.bias"] + bias * scale
            for name, value in self.net.state_dict().items():
                value.copy_(state[name])


def folds_of(net: Any, card: Card) -> list[tuple[str, str, float]]:
    """Return the names of convolutions, and of the norms folded into them with their epsilon."""
    from torch import nn

    from models.nets.build import plain_net

    plain = plain_net(net, card.net)[0]
    found = []
    for name, module in plain.named_modules():
        if isinstance(module, nn.Sequential):
            for k in range(len(module) - 1):
                norm = module[k + 1]
                if isinstance(module[k], nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                    found.append((f"{name}.{k}", f"{name}.{k + 1}", norm.eps))
    return found
