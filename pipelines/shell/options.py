"""Read the options of a script: from the values of a configuration to one frozen dataclass.

A script has one dataclass with all its options. Types and ranges stand there and nowhere else:

    @dataclass(frozen=True)
    class Options:
        games: Annotated[int, AtLeast(1)]
        share: Annotated[float, Between(0, 1)] | None
        level: Literal["low", "high"]
        boards: tuple[Annotated[int, Between(2, 19)], ...]    # one value stands for a list of one
        output: Path                                          # absolute, `~` is the home folder
        limits: Limits                                        # a group: a dataclass of its own

    options = read(Options, plain(cfg))            # keys of `cfg` that are no fields are left alone

`make(Limits, {"games": 3}, "limits")` reads one group. What two options say together is checked in
`__post_init__`, which raises `OptionError`. Defaults and explanations stand in
`conf/<script>.yaml`, from which `--help` is made.

YAML reads `2001` as a number where a date or a name is meant: a whole number is a word, too.
"""

import json
import math
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from data.base.errors import Mistake

T = TypeVar("T")


class OptionError(Mistake):
    """A value is not of the type that its option has, or there is no such option."""


class Open:
    """A base of groups that have more keys than are checked here.

    The other keys belong to the object that the group describes, such as a net.
    """


# --- ranges


@dataclass(frozen=True)
class Range:
    """The numbers that are allowed, from `low` to `high`.

    `above` excludes `low` itself, `below` excludes `high` itself.
    """

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False

    def allows(self, number: float) -> bool:
        """Whether the number is in the range."""
        high_enough = self.low < number if self.above else self.low <= number
        low_enough = number < self.high if self.below else number <= self.high
        return high_enough and low_enough

    def __str__(self) -> str:
        if not self.above and not math.isinf(self.low) and not math.isinf(self.high):
            return f"from {self.low:,g} to {'below ' * self.below}{self.high:,g}"
        low = f"{'more than' if self.above else 'at least'} {self.low:,g}"
        high = f"{'less than' if self.below else 'at most'} {self.high:,g}"
        return " and ".join(
            [low] * (not math.isinf(self.low)) + [high] * (not math.isinf(self.high))
        )


def AtLeast(low: float) -> Range:
    """`low` and all numbers above it."""
    return Range(low)


def Above(low: float, most: float = math.inf) -> Range:
    """Numbers above `low`, without `low` itself, up to `most`."""
    return Range(low, most, above=True)


def Between(low: float, high: float) -> Range:
    """Numbers from `low` to `high`, both included."""
    return Range(low, high)


def Below(high: float, least: float = -math.inf) -> Range:
    """Numbers from `least` to `high`, without `high` itself."""
    return Range(least, high, below=True)


# --- groups


def read(kind: type[T], values: dict[str, Any]) -> T:
    """Return the options of a script from its whole configuration.

    Keys of the configuration that are no fields of `kind` belong to others and are left alone.
    """
    return make(kind, known(kind, values), "")


def make(kind: type[T], values: Any, where: str) -> T:
    """Return an instance of the dataclass; `where` is the name of the group of options, or ''.

    Raises `OptionError` for a key that is unknown or missing, and for a value that does not fit.
    """
    if not isinstance(values, dict):
        raise OptionError(f"{where}={show(values)}: {group_expected(kind, where)}")
    hints = get_type_hints(kind, include_extras=True)
    prefix = f"{where}." if where else ""
    if issubclass(kind, Open):
        values = known(kind, values)
    for name in values:
        if name not in names(kind):
            there = ", ".join(names(kind))
            raise OptionError(f"{prefix}{name}: there is no such option; there are {there}")
    for name in required(kind):
        if name not in values:
            raise OptionError(f"{prefix}{name} is missing: say {prefix}{name}=...")
    return kind(
        **{name: convert(value, hints[name], prefix + name) for name, value in values.items()}
    )


def known(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    """Return those values that are fields of the dataclass."""
    return {name: values[name] for name in names(kind) if name in values}


def names(kind: type) -> list[str]:
    """Return the names of the fields of a dataclass."""
    return [field.name for field in fields(kind)]


def required(kind: type) -> list[str]:
    """Return the names of the fields without a default."""
    return [
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    ]


def group_expected(kind: type, where: str) -> str:
    """Return what is said of a value in the place of a group."""
    return f"a group of options is expected, such as {where}.{names(kind)[0]}=..."


# --- values


def convert(value: Any, hint: Any, name: str) -> Any:
    """Return the value as the annotation says; `name` is what the user calls it.

    Raises `OptionError` if it has another type or is out of range.
    """
    for one in alternatives(hint):
        bare, _ = unwrapped(one)
        if is_dataclass(bare) and isinstance(value, dict):
            return make(bare, value, name)  # type: ignore[arg-type]
        fits, converted = as_kind(value, bare)
        if not fits:
            continue
        if outside := first_refusal(value, one):
            raise OptionError(f"{name}={show(value)}: {outside} is possible")
        return converted
    raise OptionError(f"{name}={show(value)}: {expected(value, hint, name)}")


def alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the one type that it is."""
    return get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)


def unwrapped(hint: Any) -> tuple[Any, list[Range]]:
    """Return the type inside `Annotated`, and the ranges that stand beside it."""
    if get_origin(hint) is not Annotated:
        return hint, []
    bare, *notes = get_args(hint)
    return bare, [note for note in notes if isinstance(note, Range)]


def first_refusal(value: Any, hint: Any) -> Range | None:
    """Return the first range that the value, or a value of a list, is not in."""
    bare, ranges = unwrapped(hint)
    if get_origin(bare) is tuple:
        ranges = [*ranges, *unwrapped(get_args(bare)[0])[1]]
    numbers = value if isinstance(value, list | tuple) else [value]
    refusals = (one for number in numbers for one in ranges if not one.allows(number))
    return next(refusals, None)


def as_kind(value: Any, hint: Any) -> tuple[bool, Any]:
    """Whether a value is of a type, and the value as that type has it."""
    if hint is Any:
        return True, value
    if hint is type(None):
        return value is None, None
    if get_origin(hint) is Literal:
        # 1 == 1.0 == True, but only one of them is meant
        return any(type(value) is type(one) and value == one for one in get_args(hint)), value
    if get_origin(hint) is tuple:
        items = value if isinstance(value, list | tuple) else [value]
        kind, _ = unwrapped(get_args(hint)[0])
        converted = [as_kind(item, kind) for item in items]
        fits = bool(items) and all(fit for fit, _ in converted)
        return fits, tuple(item for _, item in converted)
    if hint is str:
        return is_word(value), str(value)
    if hint is Path:
        return is_word(value), Path(str(value)).expanduser().absolute() if is_word(value) else value
    if hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return (True, float(value)) if number and math.isfinite(value) else (False, value)
    return type(value) is hint, value


def is_word(value: Any) -> bool:
    """Whether a value may be a name: a text that is not empty, or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


# --- messages


def expected(value: Any, hint: Any, name: str) -> str:
    """Return what should have been said instead of the value."""
    groups = [one for one in alternatives(hint) if is_dataclass(one)]
    if groups:
        return group_expected(groups[0], name)  # type: ignore[arg-type]
    if isinstance(value, float) and not math.isfinite(value):
        return "a finite number is expected"
    return f"{' or '.join(describe(one) for one in alternatives(hint))} is expected"


def describe(hint: Any) -> str:
    """Return a type in the words of a message, such as `a whole number, at least 1`."""
    bare, ranges = unwrapped(hint)
    if ranges:
        return ", ".join([describe(bare), *map(str, ranges)])
    if get_origin(hint) is Literal:
        *most, last = map(str, get_args(hint))
        return f"{', '.join(most)} or {last}" if most else last
    if get_origin(hint) is tuple:
        kinds = {str: "words", int: "whole numbers", float: "numbers", Path: "paths"}
        item, limits = unwrapped(get_args(hint)[0])
        return ", ".join([f"a list of {kinds.get(item, 'values')}", *map(str, limits)])
    words = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a word",
        Path: "a path",
        type(None): "null",
    }
    return words.get(hint, str(hint))


def show(value: Any) -> str:
    """Return a value as the user may have typed it."""
    if isinstance(value, float):
        return str(value)
    return value if isinstance(value, str) else json.dumps(value, default=str)
