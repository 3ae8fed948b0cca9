"""Text for people: `count_of` for numbers with their nouns, `visible` for text from strangers."""

import unicodedata

# Unicode's categories that show nothing: controls and formats, line and paragraph separators
HIDDEN = ("C", "Zl", "Zp")


def count_of(count: int, noun: str) -> str:
    """`1 game`, `3,214 games`, `0 games`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def visible(text: str, keep: str = "") -> str:
    """Spell out every character that shows nothing or steers a terminal, as `\\x1b` or `\\u202e`.

    Characters in `keep` are left alone.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character in keep or not is_hidden(character) else spelled(character)
        for character in text
    )


def is_hidden(character: str) -> bool:
    return unicodedata.category(character).startswith(HIDDEN)


def spelled(character: str) -> str:
    return (
        character.encode("ascii", "backslashreplace").decode()
        if ord(character) > 127
        else f"\\x{ord(character):02x}"
    )
