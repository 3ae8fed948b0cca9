"""Arguments of commands: from words to colours, points and numbers.

A word that does not fit raises `GtpError` with one sentence.
"""

import math

from data.base.errors import Mistake
from data.game.coords import BLACK, WHITE, CoordinateError, from_gtp

MAX_KOMI = 1000.0
COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}


class GtpError(Mistake):
    """A command can't be carried out; the controller gets the message."""


def one(arguments: list[str], what: str) -> str:
    if len(arguments) != 1:
        raise GtpError(f"syntax error: {what} is expected")
    return arguments[0]


def colour(text: str) -> int:
    if text.lower() not in COLOURS:
        raise GtpError(f"syntax error: {text[:20]} is no colour")
    return COLOURS[text.lower()]


def vertex(text: str, size: int) -> int:
    try:
        return from_gtp(text, size)
    except CoordinateError as error:
        raise GtpError(f"invalid vertex: {error}") from None


def whole(text: str) -> int:
    if not (text.isascii() and text.lstrip("-").isdigit() and len(text) < 10):
        raise GtpError(f"syntax error: {text[:20]} is no whole number")
    return int(text)


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise GtpError(f"syntax error: {text[:20]} is no number")
    return value


def numbers(arguments: list[str], count: int, names: str) -> list[float]:
    if len(arguments) != count:
        raise GtpError(f"syntax error: {names} expected")
    return [number(text) for text in arguments]


def take(words: list[str], key: str) -> str:
    """Remove and return the next word, the value of `key`."""
    if not words:
        raise GtpError(f"syntax error: {key} wants a value")
    return words.pop(0)
