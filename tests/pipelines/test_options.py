"""The options of a script as a typed dataclass: types, ranges, lists, groups, and what is said of
values that do not fit.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.base.errors import Mistake
from pipelines.shell.options import (
    Above,
    AtLeast,
    Below,
    Between,
    Open,
    OptionError,
    Range,
    convert,
    describe,
    make,
    read,
)


@dataclass(frozen=True)
class Limits:
    most: Annotated[int, AtLeast(1)] = 8
    share: Annotated[float, Below(1, 0)] = 0.5


@dataclass(frozen=True)
class Net(Open):
    filters: Annotated[int, AtLeast(1)] = 8


@dataclass(frozen=True)
class Options:
    games: Annotated[int, AtLeast(1)]
    komi: float = 7.5
    level: Literal["low", "middle", "high"] = "low"
    boards: tuple[Annotated[int, Between(2, 19)], ...] = (19,)
    name: str | None = None
    limits: Limits = field(default_factory=Limits)
    net: Net | None = None

    def __post_init__(self) -> None:
        if self.level == "high" and self.games < 10:
            raise OptionError(f"level=high games={self.games}: at least 10 games are wanted")


def said(values: dict[str, Any]) -> str:
    """What is said of options that do not fit."""
    with pytest.raises(OptionError) as caught:
        read(Options, {"games": 10, **values})
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_configuration_becomes_one_object_and_other_keys_are_left_alone() -> None:
    options = read(
        Options,
        {"games": 3, "komi": 7, "boards": 9, "limits": {"most": 2}, "name": 2001, "hydra": {}},
    )
    assert options == Options(3, 7.0, boards=(9,), limits=Limits(2), name="2001")
    assert isinstance(options.komi, float)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"games": 0}, "games=0: at least 1 is possible"),
        ({"games": 1.5}, "games=1.5: a whole number, at least 1 is expected"),
        ({"games": True}, "games=true: a whole number, at least 1 is expected"),
        ({"games": None}, "games=null: a whole number, at least 1 is expected"),
        ({"komi": math.nan}, "komi=nan: a finite number is expected"),
        ({"komi": -math.inf}, "komi=-inf: a finite number is expected"),
        ({"komi": "much"}, "komi=much: a number is expected"),
        ({"level": "top"}, "level=top: low, middle or high is expected"),
        ({"boards": [9, 20]}, "boards=[9, 20]: from 2 to 19 is possible"),
        ({"boards": []}, "boards=[]: a list of whole numbers, from 2 to 19 is expected"),
        ({"boards": [[9]]}, "boards=[[9]]: a list of whole numbers, from 2 to 19 is expected"),
        ({"name": ""}, "name=: a word or null is expected"),
        ({"name": False}, "name=false: a word or null is expected"),
        ({"limits": {"most": 0}}, "limits.most=0: at least 1 is possible"),
        ({"limits": {"share": 1}}, "limits.share=1: from 0 to below 1 is possible"),
        ({"limits": {"least": 0}}, "limits.least: there is no such option; there are most, share"),
        ({"limits": 5}, "limits=5: a group of options is expected, such as limits.most=..."),
        ({"limits": None}, "limits=null: a group of options is expected, such as limits.most=..."),
        ({"net": {"filters": 0}}, "net.filters=0: at least 1 is possible"),
        ({"level": "high", "games": 9}, "level=high games=9: at least 10 games are wanted"),
    ],
)
def test_a_value_that_does_not_fit_is_one_line(values: dict[str, Any], message: str) -> None:
    assert said(values) == message


def test_a_missing_option_is_named() -> None:
    with pytest.raises(OptionError, match=r"games is missing: say games=\.\.\."):
        read(Options, {"komi": 7})
    with pytest.raises(OptionError, match=r"there is no such option; there are games, komi, "):
        make(Options, {"games": 3, "kommi": 7}, "")


def test_an_open_group_leaves_the_keys_of_others_alone() -> None:
    assert read(Options, {"games": 1, "net": {"filters": 16, "blocks": "?"}}).net == Net(16)
    assert read(Options, {"games": 1, "net": None}).net is None


def test_options_are_mistakes_of_the_user() -> None:
    assert issubclass(OptionError, Mistake)


def test_true_is_no_number_and_a_number_is_no_choice_of_another_type() -> None:
    assert convert(1, Literal[1, 2, 4, 8], "symmetries") == 1
    for value in (True, 1.0, "1", [1]):
        with pytest.raises(OptionError, match="1, 2, 4 or 8 is expected"):
            convert(value, Literal[1, 2, 4, 8], "symmetries")


def test_paths_are_absolute_and_know_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert convert("a/b.h5", Path, "dataset") == tmp_path / "a" / "b.h5"
    assert convert("~/b.h5", Path, "dataset") == Path.home() / "b.h5"
    assert convert(["a", 2024], tuple[Path, ...], "source") == (tmp_path / "a", tmp_path / "2024")
    with pytest.raises(OptionError, match="dataset=null: a path is expected"):
        convert(None, Path, "dataset")


@pytest.mark.parametrize(
    ("range_", "text"),
    [
        (AtLeast(1), "at least 1"),
        (Above(0), "more than 0"),
        (Above(0, 1), "more than 0 and at most 1"),
        (Between(-1, 1), "from -1 to 1"),
        (Below(1, 0), "from 0 to below 1"),
        (Below(1), "less than 1"),
        (Range(high=5), "at most 5"),
        (AtLeast(10_000), "at least 10,000"),
    ],
)
def test_a_range_says_what_it_allows(range_: Range, text: str) -> None:
    assert str(range_) == text
    assert describe(Annotated[int, range_]) == f"a whole number, {text}"


NUMBERS = st.floats(-1e6, 1e6) | st.integers(-(10**6), 10**6)


@given(NUMBERS, NUMBERS, st.booleans(), st.booleans(), NUMBERS)
def test_a_range_allows_what_lies_between_its_ends(
    low: float, high: float, above: bool, below: bool, number: float
) -> None:
    allowed = Range(low, high, above, below).allows(number)
    assert allowed == (
        (number > low or (number == low and not above))
        and (number < high or (number == high and not below))
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
HINTS = [
    int,
    float,
    bool,
    str,
    Path,
    int | None,
    Literal["a", 1, True],
    tuple[str, ...],
    tuple[Annotated[float, Between(0, 1)], ...] | None,
    Annotated[int, AtLeast(1)] | None,
    Limits,
    Net | None,
]


@given(VALUES, st.sampled_from(HINTS))
def test_any_value_is_converted_or_refused_in_one_line(value: Any, hint: Any) -> None:
    """What was converted is converted again to the same."""
    try:
        converted = convert(value, hint, "key")
    except OptionError as error:
        assert str(error).startswith("key")
        return
    if not isinstance(converted, Limits | Net):
        assert (
            convert(str(converted) if isinstance(converted, Path) else converted, hint, "key")
            == converted
        )


@given(st.integers(), st.integers(-100, 100))
def test_whole_numbers_keep_their_type_and_their_range(value: int, low: int) -> None:
    hint = Annotated[int, AtLeast(low)]
    if value < low:
        with pytest.raises(OptionError, match=rf"key={value}: at least {low} is possible"):
            convert(value, hint, "key")
    else:
        assert convert(value, hint, "key") == value
