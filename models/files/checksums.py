"""Checksums of weights: they tell whether two files hold the same net, whatever their formats."""

import hashlib
from collections.abc import Mapping
from typing import Any

import torch

from data.patterns.files import PatternWeights
from data.patterns.vocabulary import as_arrays


def checksum(state: Mapping[str, Any]) -> str:
    """Return the checksum of the weights of a net with ordinary layers, by name.

    It is the same for a checkpoint and for the files that were exported from it.
    """
    digest = hashlib.sha256()
    for name in sorted(state):
        value = torch.as_tensor(state[name]).detach().cpu().contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        if value.numel():  # torch has no bytes of an empty tensor
            digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def checksum_of_patterns(patterns: PatternWeights) -> str:
    return checksum({"weights": patterns.weights.astype("float32"), **as_arrays(patterns.words)})
