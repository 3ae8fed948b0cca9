"""Random numbers for compiled loops: xorshift with its state as an argument, and two hashes.

    state = new_state(seed, worker)     # uint64 [1], one for each thread
    point = next_below(state, 361)

The same seed and worker give the same numbers, so that a search can be repeated move for move.
"""

import numpy as np

from data.base.jit import kernel

STEP = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64: 2^64 divided by the golden ratio


def new_state(seed: int, worker: int = 0) -> np.ndarray:
    """Random state for one thread. It is never 0, where xorshift stays.

    Neighbouring seeds and workers get states that are far apart.
    """
    words = np.random.SeedSequence([seed, worker]).generate_state(1, np.uint64)
    return np.maximum(words, np.uint64(1))


@kernel
def xorshift(word):
    """One round of xorshift on a uint64."""
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    return word


@kernel
def next_below(state, n):
    """Draw an integer below n, by a multiplication instead of a division."""
    state[0] = xorshift(state[0])
    return ((state[0] >> np.uint64(32)) * n) >> np.uint64(32)


@kernel
def next_share(state):
    """Draw a float32 from 0 up to, but not including, 1."""
    state[0] = xorshift(state[0])
    return np.float32(np.int64(state[0] >> np.uint64(40))) * np.float32(1.0 / 16777216.0)


@kernel
def scatter(key):
    """Hash a uint64 for an open table. Nothing overflows where this runs interpreted.

    It takes three rounds: after one, small keys have not reached the upper bits.
    """
    for _ in range(3):
        key = xorshift(key)
    return key


@kernel
def mix(x):
    """Hash a uint64 (the finaliser of SplitMix64): each input bit changes each output bit."""
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
