"""Packed planes as arrays of planes, and back.

Packed planes are uint8 [..., points, row_bytes], point by point: bit `7 - p % 8` of byte `p // 8`
is plane p, which is what NumPy's `unpackbits` makes of it.
"""

import numpy as np


def unpack(packed: np.ndarray, size: int, planes: int) -> np.ndarray:
    """uint8 [..., points, row_bytes] to uint8 [..., planes, size, size]."""
    bits = np.unpackbits(packed, axis=-1, count=planes)
    return np.ascontiguousarray(
        np.moveaxis(bits.reshape(*packed.shape[:-2], size, size, planes), -1, -3)
    )


def pack(planes: np.ndarray) -> np.ndarray:
    """uint8 [..., planes, size, size] to uint8 [..., points, row_bytes]: undoes `unpack`."""
    count = planes.shape[-3]
    points = np.moveaxis(planes, -3, -1).reshape(*planes.shape[:-3], -1, count)
    return np.packbits(points, axis=-1)
