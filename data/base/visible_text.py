"""Text from outside, made safe to show: `visible`."""

import unicodedata

# Unicode's categories: controls, formats such as turning the direction, surrogates; line separators
HIDDEN = ("C", "Zl", "Zp")


def visible(text: str, keep: str = "") -> str:
    """The text with invisible and terminal-steering characters spelled out: `\\x1b`, `\\u202e`.

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
