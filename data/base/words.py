"""Numbers with their nouns, as messages show them."""


def count_of(count: int, noun: str) -> str:
    """`1 game`, `3,214 games`, `0 games`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
