"""`report_zero.py`: the page of a run at any time, several runs compared, and mistakes."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from matplotlib.image import imread

from pipelines import report_zero
from pipelines.drawing.compared import together
from pipelines.drawing.learning import running_mean
from pipelines.shell.configuration import CONF
from pipelines.shell.options import OptionError
from pipelines.zero.report import MatchReport
from pipelines.zero.telling.page import strength
from tests.support import made_up_run
from tests.support.damage import run_watched, script


def reported(*overrides: str) -> dict[str, Any]:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return report_zero.run(compose("report_zero", list(overrides)))


@pytest.mark.parametrize(("rounds", "charts"), [(0, 0), (1, 8), (50, 16)])
def test_the_page_of_a_run_at_any_time(
    tmp_path: Path, rounds: int, charts: int, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made_up_run.write(tmp_path / "run", rounds)
    (folder / "config.yaml").write_text("size: 9\nrounds: 80\n")
    found = reported(f"run={folder}")
    page, said = (folder / "report.md").read_text(), capsys.readouterr().out
    assert (found["rounds"], found["charts"], found["warnings"]) == (rounds, charts, {})
    assert (folder / "report.png").exists() == (charts > 0) == ("](report.png)" in page)
    if charts:
        height, width, _ = imread(folder / "report.png").shape
        assert width > 2000 and height == pytest.approx(160 * (0.9 + 3 * charts / 4), abs=2)
    assert "| `explained_before` | " in page
    if rounds == 50:
        assert "50 of 80 rounds, 25,600 games" in said and "| GNU Go level 10 | 5 |" in page
        assert "self-play 8" in said and "policy_loss" in said
    assert not list(folder.glob(".tmp-*"))


def test_rounds_without_numbers_have_a_page_without_a_picture(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rounds.csv").write_text("round,games\n0,10\n")
    assert reported(f"run={tmp_path / 'a'}")["charts"] == 0
    reported(f"run=[{tmp_path / 'a'},{tmp_path / 'b'}]", f"output={tmp_path / 'page'}")
    for name in ("a", "page"):
        assert (tmp_path / name / "report.md").is_file()
        assert not (tmp_path / name / "report.png").exists()


def test_warnings_stand_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.zero.telling.page.draw", lambda told, path: 0)
    folder = made_up_run.write(tmp_path / "run", 12)
    text = (folder / "rounds.csv").read_text().splitlines()
    place = text[0].split(",").index("black_wins")
    cells = [line.split(",") for line in text]
    for row in cells[-2:]:
        row[place] = "0.9"
    (folder / "rounds.csv").write_text("\n".join(",".join(row) for row in cells) + "\n")
    assert list(reported(f"run={folder}", f"output={tmp_path / 'page'}")["warnings"]) == ["komi"]
    assert "- Black wins 90%" in (tmp_path / "page" / "report.md").read_text()


def test_runs_are_compared_after_equal_core_hours(tmp_path: Path) -> None:
    for name, seed, pace in (("a1", 1, 2.0), ("a2", 2, 2.0), ("b1", 3, 0.5)):
        made_up_run.write(tmp_path / name, 40 if name == "b1" else 60, seed, pace)
    runs = ",".join(str(tmp_path / name) for name in ("a1", "a2", "b1"))
    found = reported(f"run=[{runs}]", "label=[fast,fast,slow]", f"output={tmp_path / 'page'}")
    shorter = made_up_run.rounds(40, 3, 0.5)[-1].core_hours
    assert found["core_hours"] == pytest.approx(shorter, rel=1e-4)
    fast, slow = found["tables"][found["core_hours"]]
    assert fast[:2] == ["fast", "2"] and slow[:2] == ["slow", "1"]
    assert " of 40; runs " in fast[3] and slow[3].endswith(" of 20")
    assert float(fast[3].partition("%")[0]) > float(slow[3].partition("%")[0])
    page = (tmp_path / "page" / "report.md").read_text()
    assert "## After " in page and (tmp_path / "page" / "report.png").is_file()


def test_runs_whose_folders_have_one_name_are_told_apart(tmp_path: Path) -> None:
    """They are no seeds of one run, whose games may be counted together."""
    folders = [made_up_run.write(tmp_path / name / "run", 12) for name in ("a", "b")]
    runs = ",".join(map(str, folders))
    found = reported(f"run=[{runs}]", f"output={tmp_path / 'page'}")
    rows = found["tables"][found["core_hours"]]
    assert [row[:2] for row in rows] == [["a/run", "1"], ["b/run", "1"]]
    with pytest.raises(OptionError, match=r"a/run is named twice"):
        reported(f"run=[{runs},{folders[0]}/../run]", f"output={tmp_path / 'page'}")


def test_the_page_says_how_the_net_fared_as_black_and_how_many_games_count() -> None:
    match = MatchReport(
        10, "gnugo", 10, 400, 20, 15, 1, 1.0,
        as_black=10, won_as_black=8, lost_as_black=1, different=18, faults=2,
    )  # fmt: skip
    head, (row,) = strength([match])
    shown = dict(zip(head, row, strict=True))
    assert shown["as Black"] == "8 of 10, 1 lost" and shown["different"] == "18 of 20; 2 faults"
    older = dict(
        zip(head, strength([MatchReport(10, "gnugo", 10, 4, 2, 1, 0, 1.0)])[1][0], strict=True)
    )
    assert older["as Black"] == older["different"] == ""


def test_means_over_runs_are_of_all_runs_at_every_point() -> None:
    import numpy as np

    first = (np.array([0.0, 10.0]), np.array([0.0, 10.0]))
    second = (np.array([2.0, 6.0]), np.array([4.0, 4.0]))
    at, values = together([first, second])
    assert (at[0], at[-1]) == (2, 6)
    assert np.allclose(values[0], at) and np.allclose(values[1], 4)
    steps = np.array([0.0, 1.0, 5.0, 3.0])
    assert np.allclose(running_mean(steps, 1), [0, 2, 3, 4])
    assert np.array_equal(running_mean(steps, 0), steps)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run=[a,b]"], "say output=FOLDER"),
        (["run=[a,b]", "label=[x]", "output=c"], "label: 1 of them for 2 runs"),
    ],
)
def test_several_runs_want_a_folder_and_a_label_each(arguments: list[str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        reported(*arguments)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("round,games\n0,1\n1,x\n", "rounds.csv: damaged (line 3: games='x' is no number)"),
        (None, "no folder of a run of train_zero.py"),
    ],
)
def test_a_damaged_folder_is_one_clear_line(tmp_path: Path, damage: str | None, said: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    if damage is not None:
        (folder / "rounds.csv").write_text(damage)
    outcome = run_watched([*script("report_zero"), "run"], cwd=tmp_path)
    assert outcome.kind == "refused", outcome
    assert (
        said in outcome.err and outcome.err.count("\n") == 1 and sys.executable not in outcome.err
    )
    assert not (folder / "report.md").exists()
