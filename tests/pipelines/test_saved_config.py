"""References in saved configurations: circles and what multiplies are refused before it is
resolved.
"""

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from pipelines.shell.saved_config import SavedConfigError, check_references


def check(**values: Any) -> None:
    check_references(Path("composed.yaml"), OmegaConf.create(values))


def test_references_of_a_run_pass() -> None:
    check(
        output="a",
        steps="${first:${positions},${group.steps}}",
        positions=3,
        group={"a": "${.steps}", "steps": "${..positions}"},
    )
    check(
        short="${short:${direction}}",
        direction="min",
        seed="${oc.select:other,0}",
        whole="${short}/b",
        group={"a": "${short}"},
    )
    check(dataset=r"games/\${here}/a.h5")


@pytest.mark.parametrize(
    "values",
    [
        {"a": "${a}"},
        {"a": "${b}", "b": "${c}", "c": "${a}"},
        {"a": {"b": "${..a}"}},
        {"a": ["${a}"]},
        {"a": "${oc.select:b,1}", "b": "${oc.select:a,1}"},
    ],
)
def test_circles_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(SavedConfigError, match=r"composed.yaml: damaged, .* refers to itself"):
        check(**values)


@pytest.mark.parametrize("levels", [14, 24, 3_000])
@pytest.mark.parametrize("pair", ["${%s}${%s}", "${times:${%s},${%s}}", "${.%s}${.%s}"])
def test_references_that_multiply_are_refused(levels: int, pair: str) -> None:
    values: dict[str, Any] = {f"a{k}": pair % (f"a{k + 1}", f"a{k + 1}") for k in range(levels)}
    with pytest.raises(
        SavedConfigError, match="no configuration of a run, its references multiply"
    ):
        check(**values, **{f"a{levels}": "x"})


@pytest.mark.parametrize("name", ["a[0]", "[a]"])
def test_what_is_no_key_is_refused(name: str) -> None:
    with pytest.raises(SavedConfigError, match="which is no key"):
        check(value=f"${{{name}}}", a=[1])
