"""Packed planes expanded to bytes, each position turned by a symmetry on the way.

A packed position is uint8 [points, row_bytes], one bit a plane (see `feature_set.py`). The point
that comes to q under symmetry k is `backward[k, q]`, so turning costs nothing: it is the order in
which points are read. Batches are NHWC: the planes of a point stand beside each other, which for
torch is channels-last.
"""

import numpy as np

from data.base.jit import kernel

# uint8 [256, 8]: what a byte expands to
BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)


@kernel
def expand(packed, slots, turns, backward, uniform, out):
    """Position slots[i] of `packed`, turned by turns[i], to out[i].

    `uniform` uint8 [positions, extras] has the uniform planes of each position of `packed`. They
    become the last planes of `out` uint8 [batch, points, planes]. Before them come as many stored
    planes as there is room for, from the first one on.
    """
    extras = uniform.shape[1]
    planes = out.shape[2] - extras
    whole = np.uint64(planes >> 3)
    rest = np.uint64(planes & 7)
    for i in range(np.uint64(len(slots))):
        slot = np.uint64(slots[i])
        turn = np.uint64(turns[i])
        for q in range(np.uint64(out.shape[1])):
            p = np.uint64(backward[turn, q])
            for j in range(whole):
                spread(packed[slot, p, j], out, i, q, np.uint64(8) * j)
            for b in range(rest):
                out[i, q, np.uint64(8) * whole + b] = BITS[packed[slot, p, whole], b]
        if extras:
            fill(uniform, slot, i, np.uint64(planes), out)


@kernel
def fill(uniform, slot, i, c, out):
    """Write the uniform planes from c on.

    In the loop over points above they would cost a quarter of its time, even where there are none.
    """
    for e in range(np.uint64(uniform.shape[1])):
        value = uniform[slot, e]
        for q in range(np.uint64(out.shape[1])):
            out[i, q, c + e] = value


@kernel
def spread(byte, out, i, q, c):
    """Write eight planes from c on.

    All are read before any is written; else the compiler does not make one load and one store.
    """
    b0, b1, b2, b3 = BITS[byte, 0], BITS[byte, 1], BITS[byte, 2], BITS[byte, 3]
    b4, b5, b6, b7 = BITS[byte, 4], BITS[byte, 5], BITS[byte, 6], BITS[byte, 7]
    out[i, q, c], out[i, q, c + np.uint64(1)] = b0, b1
    out[i, q, c + np.uint64(2)], out[i, q, c + np.uint64(3)] = b2, b3
    out[i, q, c + np.uint64(4)], out[i, q, c + np.uint64(5)] = b4, b5
    out[i, q, c + np.uint64(6)], out[i, q, c + np.uint64(7)] = b6, b7
