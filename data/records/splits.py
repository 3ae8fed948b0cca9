"""On which side of the split a game falls: for training, for validation or for tests.

The hash of its opening decides (see `identity.py`), so adding games never moves a game to another
side.
"""

SPLITS = ("train", "validation", "test")


def split_of(opening: int, validation: float, test: float) -> int:
    """Index into `SPLITS`. Only the hash and the fractions decide."""
    share = opening / 2**64
    if share < test:
        return 2
    return 1 if share < test + validation else 0
