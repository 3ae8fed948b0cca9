"""Dirichlet noise for the priors of a root, drawn by the random numbers of a game."""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import next_share

LEAST = 1e-12  # what a share of 0 counts as under a logarithm


@kernel
def add_noise(priors, share, alpha, state):
    """Mix noise into `priors` float64 [moves], in place: (1 - share) * prior + share * noise.

    The noise is Dirichlet-distributed with the parameter alpha / moves for every move.
    """
    count = len(priors)
    noise = np.empty(count)
    total = 0.0
    for k in range(count):
        noise[k] = gamma(alpha / count, state)
        total += noise[k]
    for k in range(count):
        own = noise[k] / total if total > 0 else 1.0 / count
        priors[k] = (1 - share) * priors[k] + share * own


@kernel
def gamma(shape, state):
    """Draw from a gamma distribution of scale 1 (Marsaglia and Tsang, 2000)."""
    boost = 1.0
    if shape < 1:
        boost = max(LEAST, np.float64(next_share(state))) ** (1 / shape)
        shape += 1
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = normal(state)
        v = (1 + c * x) ** 3
        if v > 0:
            u = max(LEAST, np.float64(next_share(state)))
            if np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v):
                return boost * d * v


@kernel
def normal(state):
    """Draw from the standard normal distribution (Box and Muller)."""
    radius = np.sqrt(-2 * np.log(max(LEAST, np.float64(next_share(state)))))
    return radius * np.cos(2 * np.pi * np.float64(next_share(state)))
