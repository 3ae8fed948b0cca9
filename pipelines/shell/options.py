"""From the values of a configuration to frozen dataclasses: each value is compared with the type
of its field first.

    make(Filters, {"min_moves": 30, "players": "Ann"}, "filters")   ->   Filters(min_moves=30, players=("Ann",))

YAML reads `2001` as a number where a date is meant, and one name or number where a list of them
may stand; both are understood.
"""

import json
from dataclasses import fields
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


class OptionError(ValueError):
    """A value is not of the type that its option has, or there is no such option."""


def make(kind: type[T], values: Any, where: str) -> T:
    """An instance of the dataclass; `where` is the name of the group of options."""
    if not isinstance(values, dict):
        raise OptionError(
            f"{where}={show(values)}: a group of options is expected, such as {where}.{names(kind)[0]}=..."
        )
    hints = get_type_hints(kind)
    for name in values:
        if name not in names(kind):
            raise OptionError(
                f"{where}.{name}: there is no such option; there are {', '.join(names(kind))}"
            )
    return kind(
        **{name: convert(value, hints[name], f"{where}.{name}") for name, value in values.items()}
    )


def names(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


def convert(value: Any, hint: Any, name: str) -> Any:
    """The value as what the annotation says; `name` is what the user calls it."""
    hints = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    for one in hints:
        if one is type(None):
            if value is None:
                return None
        elif get_origin(one) is Literal:
            if value in get_args(one):
                return value
        elif get_origin(one) is tuple:
            items = value if isinstance(value, list) else [value]
            kind = get_args(one)[0]
            if items and all(
                is_word(item) if kind is str else type(item) is kind for item in items
            ):
                return tuple(kind(item) for item in items)
        elif one is str and is_word(value):
            return str(value)
        elif one is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        elif type(value) is one:
            return value
    raise OptionError(
        f"{name}={show(value)}: {' or '.join(describe(one) for one in hints)} is expected"
    )


def is_word(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def describe(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(get_args(hint))
    if get_origin(hint) is tuple:
        return "a list of words" if get_args(hint)[0] is str else "a list of whole numbers"
    words = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a word",
        type(None): "null",
    }
    return words.get(hint, str(hint))


def show(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
