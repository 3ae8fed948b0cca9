"""A net as safetensors: its weights as they are, or in 16 bits."""

from typing import Any


def to_safetensors(net: Any, *, half: bool = False) -> bytes:
    """Return the file; with `half`, weights have 16 bits each."""
    from safetensors.torch import save

    state = {
        name: value.half() if half and value.is_floating_point() else value
        for name, value in net.state_dict().items()
    }
    return save({name: value.contiguous() for name, value in state.items()})
