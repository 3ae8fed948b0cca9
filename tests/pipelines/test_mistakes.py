"""A mistake of the user is one line and exit code 2, a mistake of the program keeps its traceback."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.utils import instantiate
from omegaconf import DictConfig

from data.base.errors import Mistake
from pipelines.shell.mistakes import explain
from pipelines.shell.options import OptionError
from pipelines.shell.script import script
from pipelines.training.log import MetricsError, MetricsFile, last_validation


class OwnError(Mistake):
    pass


class OddValue(ValueError):
    pass


def raised(error: BaseException) -> Callable[[], Any]:
    def work() -> None:
        raise error

    return work


BUGS: list[tuple[Callable[[], Any], type[Exception]]] = [
    (lambda: json.loads("{"), json.JSONDecodeError),
    (lambda: b"\xff".decode("utf-8"), UnicodeDecodeError),
    (lambda: int("x"), ValueError),
    (raised(OddValue("odd")), OddValue),
    (lambda: {}["key"], KeyError),
    (lambda: 1 // 0, ZeroDivisionError),
    (raised(RuntimeError("lost")), RuntimeError),
]
MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (raised(OwnError("game.sgf: no game")), "game.sgf: no game"),
    (raised(OptionError("size=1: from 2 to 19 is possible")), "size=1: from 2 to 19 is possible"),
    (lambda: Path("/nowhere/x").read_text(), "No such file or directory: /nowhere/x"),
    (raised(MemoryError("8 GB")), "there is not enough memory (8 GB)"),
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Callable[[], Any]], None]:
    """Runs a script whose body is the given function."""
    monkeypatch.setattr(sys, "argv", ["pipelines/measure_speed.py"])
    monkeypatch.chdir(tmp_path)

    def start(body: Callable[[], Any]) -> None:
        @script("measure_speed")
        def main(cfg: DictConfig) -> None:
            body()

        GlobalHydra.instance().clear()
        main()

    return start


@pytest.mark.parametrize(("body", "kind"), BUGS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_bug_keeps_its_traceback(
    body: Callable[[], Any], kind: type[Exception], run: Callable[[Callable[[], Any]], None]
) -> None:
    with pytest.raises(kind) as caught:
        run(body)
    assert type(caught.value) is kind and explain(caught.value) is None


@pytest.mark.parametrize(("body", "line"), MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(
    body: Callable[[], Any],
    line: str,
    run: Callable[[Callable[[], Any]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stop:
        run(body)
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"measure_speed: {line}\n"


class Described:
    """What a configuration describes: refuses a value, or has a bug."""

    def __init__(self, size: int):
        if size < 0:
            raise ValueError(f"size={size}: at least 0 is possible")
        if size > 10:
            raise OwnError(f"size={size}: too large")
        json.loads("{")


def explained(**values: Any) -> str | None:
    with pytest.raises(Exception) as caught:
        instantiate({"net": {"_target_": f"{__name__}.Described", **values}})
    return explain(caught.value)


def test_values_of_a_configuration_that_an_object_refuses_are_one_line() -> None:
    assert explained(size=-1) == "net: size=-1: at least 0 is possible"
    assert explained(size=11) == "net: size=11: too large"
    assert "unexpected keyword argument 'sizes'" in str(explained(size=1, sizes=1))
    assert explained(size=5) is None, "a bug of the object"


@pytest.mark.parametrize(
    "text", ["step,positions,val/loss\n1,16,x\n", "a,b\n1,2\n", "step\nx\n", "step,a\n1,2,3,4\n"]
)
def test_damaged_metrics_are_a_mistake(text: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(text)
    with pytest.raises(MetricsError, match=r"metrics\.csv: damaged"):
        last_validation(path)
    with pytest.raises(MetricsError, match=r"metrics\.csv: damaged"):
        MetricsFile(str(path), 16).resume_at(5)
    path.write_bytes(b"step\n\xff\n")
    with pytest.raises(MetricsError):
        last_validation(path)
