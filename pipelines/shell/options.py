"""From the values of a configuration to frozen dataclasses: each value is compared with the type
of its field first.

    make(Filters, {"min_moves": 30, "players": "Ann"}, "filters")   ->   Filters(min_moves=30, players=("Ann",))

A script has one dataclass with all its options: types and ranges stand there and nowhere else.

    @dataclass(frozen=True)
    class Options:
        games: Annotated[int, AtLeast(1)]
        share: Annotated[float, Between(0, 1)] | None
        level: Literal["low", "high"]
        limits: Limits                             # a group: a dataclass of its own

    options = read(Options, plain(cfg))            # keys of `cfg` that are no fields are left alone

What two options say together is checked in `__post_init__`, which raises `OptionError`. Defaults
and explanations stand in `conf/<script>.yaml`, from which `--help` is made.

YAML reads `2001` as a number where a date is meant, and one name or number where a list of them
may stand; both are understood.
"""

import json
import math
from dataclasses import dataclass, fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from data.base.errors import Mistake

T = TypeVar("T")


class OptionError(Mistake):
    """A value is not of the type that its option has, or there is no such option."""


@dataclass(frozen=True)
class Range:
    """The numbers that are allowed: from `low` to `high`, `low` itself excluded if `above`."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False

    def allows(self, number: float) -> bool:
        return (self.low < number if self.above else self.low <= number) and number <= self.high

    def __str__(self) -> str:
        low = f"{'more than' if self.above else 'at least'} {self.low:,g}"
        if math.isinf(self.high):
            return low
        if math.isinf(self.low):
            return f"at most {self.high:,g}"
        return (
            f"{low} and at most {self.high:,g}"
            if self.above
            else f"from {self.low:,g} to {self.high:,g}"
        )


def AtLeast(low: float) -> Range:
    return Range(low)


def Above(low: float, most: float = math.inf) -> Range:
    return Range(low, most, above=True)


def Between(low: float, high: float) -> Range:
    return Range(low, high)


def read(kind: type[T], values: dict[str, Any]) -> T:
    """Return the options of a script from its whole configuration.

    Keys of the configuration that are no fields of `kind` belong to others and are left alone.
    """
    return make(kind, {name: values[name] for name in names(kind) if name in values}, "")


def make(kind: type[T], values: Any, where: str) -> T:
    """Return an instance of the dataclass; `where` is the name of the group of options, or ''."""
    if not isinstance(values, dict):
        example = f"{where}.{names(kind)[0]}=..."
        raise OptionError(
            f"{where}={show(values)}: a group of options is expected, such as {example}"
        )
    hints = get_type_hints(kind, include_extras=True)
    prefix = f"{where}." if where else ""
    for name in values:
        if name not in names(kind):
            known = ", ".join(names(kind))
            raise OptionError(f"{prefix}{name}: there is no such option; there are {known}")
    return kind(
        **{name: convert(value, hints[name], prefix + name) for name, value in values.items()}
    )


def names(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


def convert(value: Any, hint: Any, name: str) -> Any:
    """Return the value as the annotation says; `name` is what the user calls it.

    Raises `OptionError` if it has another type or is out of range.
    """
    hints = get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)
    for one in hints:
        allowed = [note for note in getattr(one, "__metadata__", ()) if isinstance(note, Range)]
        bare = get_args(one)[0] if get_origin(one) is Annotated else one
        if is_dataclass(bare) and isinstance(value, dict):
            return make(bare, value, name)  # type: ignore[arg-type]
        fits, converted = as_kind(value, bare)
        if not fits:
            continue
        for range_ in allowed:
            numbers = converted if isinstance(converted, tuple) else (converted,)
            if not all(range_.allows(number) for number in numbers):
                raise OptionError(f"{name}={show(value)}: {range_} is possible")
        return converted
    expected = " or ".join(describe(one) for one in hints)
    raise OptionError(f"{name}={show(value)}: {expected} is expected")


def as_kind(value: Any, hint: Any) -> tuple[bool, Any]:
    """Whether a value is of a type, and the value as that type has it."""
    if hint is type(None):
        return value is None, None
    if get_origin(hint) is Literal:
        return value in get_args(hint), value
    if get_origin(hint) is tuple:
        items = value if isinstance(value, list | tuple) else [value]
        kind = get_args(hint)[0]
        converted = [as_kind(item, kind) for item in items]
        fits = bool(items) and all(fit for fit, _ in converted)
        return fits, tuple(item for _, item in converted)
    if hint is str:
        return is_word(value), str(value)
    if hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return (True, float(value)) if number and math.isfinite(value) else (False, value)
    return type(value) is hint, value


def is_word(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def describe(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        bare, *notes = get_args(hint)
        limits = [str(note) for note in notes if isinstance(note, Range)]
        return ", ".join([describe(bare), *limits])
    if get_origin(hint) is Literal:
        return " or ".join(str(value) for value in get_args(hint))
    if get_origin(hint) is tuple:
        kinds = {str: "words", int: "whole numbers", float: "numbers"}
        return f"a list of {kinds.get(get_args(hint)[0], 'values')}"
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
