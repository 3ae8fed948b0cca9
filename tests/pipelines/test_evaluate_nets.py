"""`evaluate_model.py` for nets of several answers, of any feature set, and for those told ranks."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.features.evaluation import Positions
from data.features.uniform import Known
from data.records.metadata import to_rank
from models.answering.open import open_net
from models.judging.scores import move_scores
from pipelines import evaluate_model
from pipelines.evaluating.material import band, choose
from pipelines.evaluating.nets import EvaluationError
from pipelines.evaluating.report import facts, tables
from pipelines.shell.configuration import CONF
from pipelines.shell.options import OptionError
from tests.support.net_files import DUAL, write_net, write_nets
from tests.support.ranked_games import build, write_records

ZERO = {**DUAL, "planes": 16, "uniform": ("black_to_play", "komi", "own_rank", "opponent_rank")}
RANKS = [to_rank(name) for name in ("12k", "4k", "3d", "9d", "1p")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Nets, and one set of games as datasets of several kinds."""
    folder = tmp_path_factory.mktemp("made")
    records = write_records(folder / "games", RANKS, games=50, moves=40, passes=True)
    return {
        **write_nets(folder),
        "zero": write_net(folder / "zero.json", ZERO, 9),
        "games": build(records, folder / "games.h5"),
        "zero_games": build(records, folder / "zero.h5", "features=zero17"),
        "with_passes": build(records, folder / "passes.h5", "passes=true"),
    }


def evaluate(output: Path, nets: list[Path], dataset: Path, *how: str) -> dict[str, Any]:
    given = [
        f"checkpoint=[{','.join(map(str, nets))}]", f"dataset={dataset}", f"output={output}",
        "engine=fp32", "threads=1", "device=cpu", "draws=20", "symmetries=1", "plots=false", *how,
    ]  # fmt: skip
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return evaluate_model.run(compose("evaluate_model", given))


def scores(net: dict[str, Any], way: str = "all", group: str = "all") -> dict[str, float]:
    found = net["scores"]["1"][way][group]["scores"]
    return {name: mean["value"] for name, mean in found.items()}


def test_a_net_for_both_is_judged_on_the_positions_of_nets_for_one(
    made: dict[str, Path], tmp_path: Path
) -> None:
    nets = [made[name] for name in ("policy", "value", "dual")]
    result = evaluate(tmp_path / "out", nets, made["games"], "plots=true")
    named = [(net["name"], net["kind"]) for net in result["nets"]]
    assert named == [
        ("policy", "policy"),
        ("value", "value"),
        ("dual", "policy"),
        ("dual", "value"),
    ]
    assert [(one["kind"], one["first"], one["second"]) for one in result["differences"]] == [
        ("policy", "policy", "dual"), ("value", "value", "dual"),
    ]  # fmt: skip
    for kind, score in (("policy", "top1"), ("value", "mse")):
        first, dual = (net for net in result["nets"] if net["kind"] == kind)
        [line] = [one for one in result["differences"] if one["kind"] == kind]
        change = scores(dual)[score] - scores(first)[score]
        assert line["scores"][score]["value"] == pytest.approx(change)
        with (tmp_path / "out" / f"{kind}.csv").open() as lines:
            assert {row["net"] for row in csv.DictReader(lines)} == {kind, "dual"}
    lines = facts(result)
    assert sum("- dual: policy and value, DualNet" in line for line in lines) == 1
    assert sum("50 planes and 4 conditions" in line for line in lines) == 1
    assert sum(line.startswith("- dual: whether it has learned") for line in lines) == 1
    pictures = {path.name for path in (tmp_path / "out").glob("*.png")}
    assert {"moves_by_phase.png", "winners_by_phase.png", "calibration.png"} <= pictures
    assert {"moves_difference.png", "winners_difference.png"} <= pictures


def test_figures_are_those_of_the_answers_to_what_the_file_knows(
    made: dict[str, Path], tmp_path: Path
) -> None:
    result = evaluate(tmp_path / "out", [made["dual"]], made["games"])
    file = DatasetFile(made["games"])
    first, stop = file.split_rows["test"]
    rows = slice(first, stop)
    game, to_play, moves, outcome = (
        file.positions[name][rows] for name in ("game", "to_play", "move", "outcome")
    )
    zeros = np.zeros(len(game), np.int16)
    known = Known(
        file.area_komi[game], file.column("black_rank")[game], file.column("white_rank")[game],
        zeros.astype(np.uint8), zeros,
    )  # fmt: skip
    net = open_net(made["dual"], engine="fp32", device="cpu")
    answers = net.evaluate(Positions(file.positions["planes"][rows], to_play, known))
    assert answers.policy is not None and answers.value is not None
    expected = {k: v.mean() for k, v in move_scores(answers.policy, moves).items()}
    assert scores(result["nets"][0]) == pytest.approx(expected, rel=1e-4)
    assert scores(result["nets"][1])["mse"] == pytest.approx(
        np.mean((answers.value - outcome) ** 2), rel=1e-4
    )


def test_a_net_of_another_feature_set_is_judged_alike_on_stored_and_replayed_planes(
    made: dict[str, Path], tmp_path: Path
) -> None:
    replayed = evaluate(tmp_path / "a", [made["zero"], made["dual"]], made["games"])
    stored = evaluate(tmp_path / "b", [made["zero"], made["dual"]], made["zero_games"])
    assert replayed["nets"][0]["inputs"] == "18 planes of zero17 and 2 conditions"
    for one, other in zip(replayed["nets"], stored["nets"], strict=True):
        assert one["name"] == other["name"]
        assert scores(one) == pytest.approx(scores(other), rel=1e-5)


def test_rows_of_passes_are_no_positions(made: dict[str, Path], tmp_path: Path) -> None:
    with_passes = DatasetFile(made["with_passes"])
    assert with_passes.passes and len(with_passes) > len(DatasetFile(made["games"]))
    for kind in ("policy", "value"):
        one, other = (
            choose(DatasetFile(made[name]), "test", kind, None, 0)
            for name in ("games", "with_passes")
        )
        assert len(one.rows) == len(other.rows) and (one.rank == other.rank).all()
    one, other = (
        evaluate(tmp_path / name, [made["dual"]], made[name]) for name in ("games", "with_passes")
    )
    assert scores(one["nets"][0]) == pytest.approx(scores(other["nets"][0]))


# --- ranks


def test_ranks_are_divided_into_bands() -> None:
    bands = {
        "30k": "30k-20k", "20k": "30k-20k", "19k": "19k-15k", "10k": "14k-10k", "9k": "9k-5k",
        "5k": "9k-5k", "4k": "4k-1k", "1k": "4k-1k", "1d": "1d", "9d": "9d", "1p": "pro",
        "9p": "pro", "unknown": "unknown",
    }  # fmt: skip
    assert {rank: band(rank) for rank in bands} == bands


def test_tables_by_rank_go_from_kyu_to_professionals(
    made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipelines.evaluating import report

    result = evaluate(tmp_path / "out", [made["policy"]], made["games"])

    def shown() -> list[tuple[str, list[str]]]:
        return [
            (str(table.title), list(table.columns[0].cells))
            for table in tables(result, "policy")
            if "rank" in str(table.title)
        ]

    [(_, ranks)] = shown()
    assert ranks == ["12k", "4k", "3d", "9d", "1p"]
    monkeypatch.setattr(report, "LISTED", 4)
    [(title, bands)] = shown()
    assert "in bands" in title and bands == ["14k-10k", "4k-1k", "3d", "9d", "pro"]


def test_what_a_net_is_told_is_known_unknown_or_a_rank(
    made: dict[str, Path], tmp_path: Path
) -> None:
    found = {
        told: evaluate(tmp_path / told, [made["dual"], made["policy"]], made["games"], *how)
        for told, how in (
            ("known", []),
            ("unknown", ["conditions=unknown"]),
            ("9d", ["conditions=9d"]),
        )
    }
    losses = {told: scores(result["nets"][0])["log_loss"] for told, result in found.items()}
    assert len({round(loss, 6) for loss in losses.values()}) == 3
    others = {round(scores(result["nets"][2])["log_loss"], 9) for result in found.values()}
    assert len(others) == 1
    assert any("told of players: 9d" in line for line in facts(found["9d"]))
    assert found["9d"]["nets"][2]["conditions"] is None


def test_a_matrix_of_told_and_true_ranks(made: dict[str, Path], tmp_path: Path) -> None:
    unknown = ["conditions=unknown", "ranks=[5k,9d]"]
    result = evaluate(tmp_path / "out", [made["dual"], made["policy"]], made["games"], *unknown)
    told = result["nets"][0]["told"]
    assert told["told"] == ["unknown", "5k", "9d"] and "told" not in result["nets"][2]
    assert [row["strength"] for row in told["rows"]] == ["14k-10k", "4k-1k", "3d", "9d", "pro"]
    counts = np.array([row["positions"] for row in told["rows"]])
    # no game of this dataset tells source or year, so nothing is known in the first column
    for score, sign in (("top1", 1), ("log_loss", -1)):
        key = "top1" if score == "top1" else "log_likelihood"
        first = np.array([row[key][0] for row in told["rows"]])
        assert sign * (counts * first).sum() / counts.sum() == pytest.approx(
            scores(result["nets"][0])[score], rel=1e-4
        )
    shown = [table for table in tables(result, "policy") if "what it was told" in str(table.title)]
    assert len(shown) == 2 and len(shown[0].columns) == 5


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (["conditions=strong"], "conditions=strong: known, unknown, or a rank"),
        (["ranks=[9d,strong]"], "ranks=strong: a rank is expected"),
        (["against=test"], "against=test: another split than split=test"),
        (["plies=[90]"], r"plies=\[90\]: the first and the last ply"),
        (["plies=[149,90]"], r"plies=\[149, 90\]: the first and the last ply"),
        (["conditions=9d"], "conditions=9d: no net takes ranks as input"),
        (["ranks=[9d]"], r"ranks=\['9d'\]: no net takes ranks as input"),
    ],
)
def test_what_nets_can_not_be_told_is_one_line(
    how: list[str], message: str, made: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises((OptionError, EvaluationError), match=message) as error:
        evaluate(tmp_path / "out", [made["policy"], made["plain"]], made["games"], *how)
    assert "\n" not in str(error.value) and not (tmp_path / "out").exists()


# --- two splits


def test_two_splits_stand_beside_each_other_with_their_gap(
    made: dict[str, Path], tmp_path: Path
) -> None:
    both = evaluate(tmp_path / "both", [made["dual"]], made["games"], "against=train")
    train = evaluate(tmp_path / "train", [made["dual"]], made["games"], "split=train")
    for one, other in zip(both["nets"], train["nets"], strict=True):
        assert one["against"]["phase"] == other["scores"]["1"]["phase"]
    [table] = [one for one in tables(both, "value") if "against" in str(one.title)]
    assert list(table.columns[0].cells) == ["all", "0-29", "30-59"]
    heads = [str(column.header) for column in table.columns]
    assert heads[3:6] == ["error\ntest", "error\ntrain", "gap\ntest - train"]
    gap = (
        scores(both["nets"][1], "phase", "0-29")["mse"]
        - scores(train["nets"][1], "phase", "0-29")["mse"]
    )
    assert list(table.columns[5].cells)[1].startswith(f"{gap:+.3f} ±")
    text = (tmp_path / "both" / "comparison.md").read_text()
    assert "## dual, value: games of test against games of train" in text


# --- two nets


@pytest.fixture(scope="module")
def paired(made: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    output = tmp_path_factory.mktemp("paired")
    nets = [made[name] for name in ("value", "dual")]
    return evaluate(output, nets, made["games"], "plies=[10,24]") | {"output": output}


def test_two_nets_are_compared_by_part_of_the_game(
    made: dict[str, Path], paired: dict[str, Any]
) -> None:
    [entry] = paired["differences"]
    assert (entry["first"], entry["second"], entry["kind"]) == ("value", "dual", "value")
    first, second = (net for net in paired["nets"] if net["kind"] == "value")
    for way, groups in (
        ("phase", entry["phase"]), ("plies", entry["plies"]), ("all", {"all": entry}),
    ):  # fmt: skip
        assert list(groups) == list(first["scores"]["1"][way])
        for name, group in groups.items():
            whole = first["scores"]["1"][way][name]
            assert (group["positions"], group["games"]) == (whole["positions"], whole["games"])
            gap = scores(second, way, name)["mse"] - scores(first, way, name)["mse"]
            mean = group["scores"]["mse"]
            assert mean["value"] == pytest.approx(gap) and mean["low"] <= mean["high"]
    file = DatasetFile(made["games"])
    ply = file.positions["ply"][slice(*file.split_rows["test"])]
    assert entry["plies"]["10-24"]["positions"] == int(((ply >= 10) & (ply <= 24)).sum())


def test_a_certain_difference_is_marked(paired: dict[str, Any]) -> None:
    [entry] = paired["differences"]
    [table] = [one for one in tables(paired, "value") if "excludes 0" in str(one.title)]
    assert str(table.title).startswith("dual - value, value")
    assert list(table.columns[0].cells) == ["0-29", "30-59", "10-24", "all"]
    groups = [*entry["phase"].values(), *entry["plies"].values(), entry]
    means = [group["scores"]["mse"] for group in groups]
    certain = [mean["low"] > 0 or mean["high"] < 0 for mean in means]
    assert [cell.endswith("*") for cell in table.columns[3].cells] == certain
    first = f"{means[0]['low']:+.3f} to {means[0]['high']:+.3f}"
    assert next(iter(table.columns[4].cells)) == first
    text = (paired["output"] / "comparison.md").read_text()
    assert "## dual - value, value, on the same positions" in text and first in text
    assert ",plies,10-24," in (paired["output"] / "value.csv").read_text()


def test_a_net_differs_from_itself_by_nothing(made: dict[str, Path], tmp_path: Path) -> None:
    result = evaluate(tmp_path / "out", [made["value"], made["value"]], made["games"])
    [entry] = result["differences"]
    for group in (*entry["phase"].values(), entry):
        assert group["scores"]["mse"] == {"value": 0, "low": 0, "high": 0}
    [table] = [one for one in tables(result, "value") if "excludes 0" in str(one.title)]
    assert not any(cell.endswith("*") for cell in table.columns[3].cells)


def test_plies_that_no_position_has_are_one_line(made: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError, match="no chosen position of the split test has plies from 90"
    ):
        evaluate(tmp_path / "out", [made["value"]], made["games"], "plies=[90,149]")
