"""Scores against their definitions, intervals by games, and `evaluate_model.py` from datasets and
nets to files.
"""

import csv
import json
from contextlib import closing
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import open_dict

from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.features.evaluation import Face
from data.features.feature_set import ALPHAGO48
from models.answering.open import open_net
from models.judging.scores import (
    BINS,
    Draws,
    Summary,
    calibrate,
    difference,
    differences_by,
    move_scores,
    phase_name,
    phases,
    rank_curve,
    value_scores,
)
from models.nets.build import make_net
from pipelines import evaluate_model
from pipelines.drawing.labels import Labels, obstacles, overlap
from pipelines.evaluating.material import choose, training_mean
from pipelines.evaluating.nets import EvaluationError
from pipelines.evaluating.output import without_nan
from pipelines.evaluating.positions import PositionReader
from pipelines.evaluating.report import about_split, tables
from pipelines.shell.configuration import CONF
from pipelines.shell.environment import ROOT
from pipelines.shell.mistakes import explain
from tests.support.tiny_nets import (
    KOMI_VALUE,
    PLAIN_POLICY,
    POLICY,
    judged_dataset,
    tiny_net,
    write_checkpoint,
)


def answers(count: int = 200, points: int = 25, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities with many ties, and moves."""
    rng = np.random.default_rng(seed)
    logits = rng.integers(-3, 3, (count, points)).astype(np.float32)
    return logits - np.log(np.exp(logits).sum(1, keepdims=True)), rng.integers(0, points, count)


def test_move_scores_are_those_of_a_sorted_list():
    log_probabilities, moves = answers()
    scores = move_scores(log_probabilities, moves)
    for k, (row, move) in enumerate(zip(log_probabilities, moves, strict=True)):
        order = sorted(range(len(row)), key=lambda point: (-row[point], point))
        rank = order.index(move) + 1
        assert scores["mean_rank"][k] == rank
        assert scores["top1"][k] == (move == row.argmax())
        assert scores["top5"][k] == (move in order[:5])
        assert scores["log_loss"][k] == pytest.approx(-np.log(np.exp(row[move])), rel=1e-5)


def test_a_net_that_knows_nothing_is_not_rewarded_for_it():
    flat = np.full((25, 25), -np.log(25), np.float32)
    scores = move_scores(flat, np.arange(25))
    assert scores["top1"].mean() == 1 / 25 and scores["top5"].mean() == 5 / 25
    assert scores["mean_rank"].mean() == 13 and scores["log_loss"].mean() == pytest.approx(
        np.log(25)
    )


def test_value_scores_are_their_definitions():
    rng = np.random.default_rng(1)
    values, outcomes = rng.uniform(-1, 1, 100).astype(np.float32), rng.choice([-1, 1], 100)
    values[:4] = 0
    scores = value_scores(values, outcomes, 0.1)
    for k in range(100):
        assert scores["mse"][k] == pytest.approx((float(values[k]) - outcomes[k]) ** 2)
        assert scores["mse_quarter"][k] == pytest.approx(
            ((float(values[k]) + 1) / 2 - (outcomes[k] + 1) / 2) ** 2
        )
        assert scores["floor"][k] == pytest.approx((0.1 - outcomes[k]) ** 2)
        assert scores["accuracy"][k] == (
            0.5 if values[k] == 0 else float(values[k] * outcomes[k] > 0)
        )


def test_calibration_counts_what_happened():
    rng = np.random.default_rng(2)
    values, outcomes = rng.uniform(-1, 1, 500).astype(np.float32), rng.choice([-1, 1], 500)
    values[0], values[1] = 1, -1
    found = calibrate(values, outcomes)
    gap = 0.0
    for k in range(BINS):
        inside = [
            i for i in range(500) if k == min(BINS - 1, int((1 + float(values[i])) / 2 * BINS))
        ]
        assert found.positions[k] == len(inside)
        assert found.predicted[k] == pytest.approx(
            np.mean([(1 + float(values[i])) / 2 for i in inside])
        )
        assert found.happened[k] == pytest.approx(np.mean([outcomes[i] > 0 for i in inside]))
        gap += abs(found.predicted[k] - found.happened[k]) * len(inside) / 500
    assert found.error == pytest.approx(gap)


def test_a_net_that_says_what_happens_is_calibrated():
    rng = np.random.default_rng(3)
    chance = rng.uniform(0, 1, 100_000)
    outcomes = np.where(rng.uniform(size=100_000) < chance, 1, -1)
    assert calibrate(2 * chance - 1, outcomes).error < 0.01
    assert calibrate(np.where(outcomes > 0, 0.0, -0.2), outcomes).error > 0.3


def test_phases_are_thirty_plies_each():
    assert phases(np.array([0, 29, 30, 299, 300, 700])).tolist() == [0, 0, 1, 9, 10, 10]
    assert [phase_name(k) for k in (0, 1, 9, 10)] == ["0-29", "30-59", "270-299", "300+"]


def test_rank_curve_is_a_cumulative_share():
    np.testing.assert_allclose(
        rank_curve(np.array([1, 1, 2, 5, 80]), 6), [0.4, 0.6, 0.6, 0.6, 0.8, 0.8]
    )


def summary(
    games: int = 12, seed: int = 4, draws: int = 300
) -> tuple[Summary, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    game = np.repeat(np.arange(games), rng.integers(1, 30, games))
    score = rng.uniform(size=len(game)) + game / games
    return Summary({"a": score, "b": score**2}, game, games, Draws(games, draws, 7)), game, score


def test_means_by_group_are_means_and_groups_may_be_empty():
    made, game, score = summary()
    group = np.arange(len(game)) % 3
    found = made.by(group, {0: "zero", 1: "one", 2: "two", 9: "none"})
    assert list(found) == ["zero", "one", "two"]
    for k, name in enumerate(found):
        assert found[name].scores["a"].value == pytest.approx(score[group == k].mean())
        assert found[name].positions == (group == k).sum()
        assert found[name].games == len(set(game[group == k].tolist()))
    assert made.of().scores["b"].value == pytest.approx((score**2).mean())


def test_intervals_are_quantiles_of_means_over_drawn_games():
    made, game, score = summary()
    means = []
    for times in made.draws.times:
        drawn = [score[game == k] for k in range(made.count) for _ in range(times[k])]
        means.append(np.concatenate(drawn).mean())
    found = made.of().scores["a"]
    np.testing.assert_allclose((found.low, found.high), np.quantile(means, [0.025, 0.975]))
    assert (made.draws.times.sum(1) == made.count).all()


def test_positions_of_a_game_are_no_independent_witnesses():
    """Whole games that go well or badly: drawing positions would give an interval that is a tenth
    as wide as it should be.
    """
    rng = np.random.default_rng(5)
    games, plies = 100, 100
    score = np.repeat(rng.choice([0.0, 1.0], games), plies)
    by_game = (
        Summary({"a": score}, np.repeat(np.arange(games), plies), games, Draws(games, 1000, 0))
        .of()
        .scores["a"]
    )
    some = rng.integers(0, len(score), (1000, len(score)))
    low, high = np.quantile(score[some].mean(1), [0.025, 0.975])
    assert by_game.high - by_game.low == pytest.approx(10 * (high - low), rel=0.2)
    assert by_game.high - by_game.low == pytest.approx(2 * 1.96 * 0.5 / games**0.5, rel=0.15)


def test_one_game_has_no_interval():
    made, game, _ = summary()
    alone = made.of(game == 3)
    assert alone.games == 1 and np.isnan(alone.scores["a"].low) and alone.scores["a"].value > 0


def test_differences_are_drawn_together():
    made, game, score = summary()
    better = Summary({"a": score + 0.01, "b": score**2}, game, made.count, made.draws)
    found = difference(made, better).scores
    assert found["a"].value == pytest.approx(0.01) and found["a"].high - found["a"].low < 1e-9
    assert found["b"].value == found["b"].low == found["b"].high == 0


def test_differences_of_a_group_are_those_of_its_positions_alone():
    """Of each sample of games, the mean over the group of one net minus that of the other."""
    made, game, score = summary()
    rng = np.random.default_rng(5)
    group, other = rng.integers(0, 3, len(game)), score + rng.normal(0.02, 0.3, len(game))
    theirs = Summary({"a": other, "b": score**2}, game, made.count, made.draws)
    found = differences_by(made, theirs, group, {0: "first", 2: "last", 7: "none"})
    assert list(found) == ["first", "last"]
    for name, k in (("first", 0), ("last", 2)):
        here = group == k
        assert found[name].positions == here.sum()
        assert found[name].games == len(set(game[here]))
        gap = np.bincount(game[here], (other - score)[here], made.count)
        count = np.bincount(game[here], minlength=made.count)
        sampled = [(times @ gap) / (times @ count) for times in made.draws.times]
        mean = found[name].scores["a"]
        assert mean.value == pytest.approx((other - score)[here].mean())
        assert [mean.low, mean.high] == pytest.approx(np.quantile(sampled, [0.025, 0.975]))
    alone = difference(made, theirs, game == 3)
    assert alone.games == 1 and np.isnan(alone.scores["a"].low)


def test_the_same_seed_draws_the_same_games():
    assert (Draws(20, 5, 1).times == Draws(20, 5, 1).times).all() and (
        Draws(20, 5, 1).times != Draws(20, 5, 2).times
    ).any()


# --- which positions


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Path:
    return judged_dataset(tmp_path_factory.mktemp("data") / "games.h5", games=90, shares=(0.5, 0.1))


def test_whole_games_of_the_split_are_chosen(dataset):
    file = DatasetFile(dataset)
    first, stop = file.split_rows["test"]
    everything = choose(file, "test", "policy", None, 0)
    assert (
        everything.rows.tolist() == list(range(first, stop))
        and everything.of_positions == stop - first
    )
    some = choose(file, "test", "policy", 200, 0)
    assert 200 <= len(some.rows) < 200 + 41 and (np.diff(some.rows) > 0).all()
    game = file.positions["game"][:]
    for number in set(game[some.rows].tolist()):
        assert (game[some.rows] == number).sum() == (game == number).sum()
    assert len(set(game[some.rows].tolist())) == some.games == some.game[-1] + 1
    assert choose(file, "test", "policy", 200, 1).rows.tolist() != some.rows.tolist()
    assert choose(file, "test", "policy", 200, 0).rows.tolist() == some.rows.tolist()


def test_what_is_known_of_positions_is_that_of_their_games(dataset):
    file = DatasetFile(dataset)
    found = choose(file, "test", "policy", 150, 3)
    game = file.positions["game"][:][found.rows]
    np.testing.assert_array_equal(found.handicap, file.games["handicap"][:][game] > 0)
    np.testing.assert_array_equal(found.phase, file.positions["ply"][:][found.rows] // 30)
    assert [found.sources[k] for k in found.source] == [
        text.partition("!")[0] for text in file.column("source")[game]
    ]


def test_values_are_judged_where_the_outcome_may_teach(dataset):
    file = DatasetFile(dataset)
    found = choose(file, "test", "value", None, 0)
    game = file.positions["game"][:]
    first, stop = file.split_rows["test"]
    wanted = [
        row
        for row in range(first, stop)
        if file.games["value"][game[row]] and file.games["winner"][game[row]]
    ]
    assert found.rows.tolist() == wanted
    train = range(*file.split_rows["train"])
    outcomes = [
        int(file.positions["outcome"][row]) for row in train if file.games["value"][game[row]]
    ]
    assert training_mean(file) == pytest.approx(np.mean([z for z in outcomes if z]))


def test_sources_can_be_chosen_by_a_word(dataset):
    file = DatasetFile(dataset)
    found = choose(file, "test", "policy", None, 0, source=["kgs"])
    assert found.sources == ("games/kgs.zip",) and 0 < len(found.rows) < len(
        choose(file, "test", "policy", None, 0).rows
    )
    with pytest.raises(DatasetError, match="no games from a source with fox"):
        choose(file, "test", "policy", None, 0, source=["fox"])


def test_a_dataset_with_flipped_bytes_is_read_or_refused_in_one_line(tmp_path):
    """Wherever they are. Few games, so that descriptions are a good part of the file."""
    whole = judged_dataset(
        tmp_path / "whole.h5", games=9, longest=9, shares=(0.4, 0.3)
    ).read_bytes()
    rng = np.random.default_rng(4)
    face = Face("any", ALPHAGO48, 2, 19, frozenset({"policy"}))
    refused = 0
    for trial in range(200):
        content = bytearray(whole)
        at = int(rng.integers(len(whole)))
        for k in range(at, min(at + 8, len(whole))):
            content[k] = rng.integers(256)
        path = tmp_path / f"{trial}.h5"  # HDF5 would not look again at a file that is open
        path.write_bytes(content)
        try:
            file = DatasetFile(path)
            reader = PositionReader(file, face)
            for kind in ("policy", "value"):
                rows = choose(file, "test", kind, 100, 0).rows
                assert len(rows) == sum(len(some) for some, _ in reader.batches(rows, 64))
            training_mean(file)
        except (DatasetError, OSError) as error:
            message = explain(error)
            assert message and "\n" not in message, (at, message)
            refused += 1
    assert 20 < refused < 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("split_rows", "{}"), ("split_rows", "[1, 2]"), ("split_games", '{"train": [0,1], "validation": [1, 0], "test": [1, 2]}'),
        ("config", "3"), ("sources", "null"), ("planes", "{"), ("schema", "one"), ("size", "nine"), ("config", None),
    ],
)  # fmt: skip
def test_a_damaged_description_is_refused(dataset, tmp_path, name, value):
    path = tmp_path / "damaged.h5"
    path.write_bytes(dataset.read_bytes())
    with h5py.File(path, "a") as file:
        del file.attrs[name]
        if value is not None:
            file.attrs[name] = value
    with pytest.raises(DatasetError, match="its description is damaged") as caught:
        DatasetFile(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_column_is_named(dataset, tmp_path):
    path = tmp_path / "less.h5"
    path.write_bytes(dataset.read_bytes())
    with h5py.File(path, "a") as file:
        del file["games/winner"], file["positions"]
    file = DatasetFile(path)
    with pytest.raises(DatasetError, match="games/winner is missing or damaged"):
        file.column("winner")
    with pytest.raises(DatasetError, match="positions is missing or damaged"):
        _ = file.positions


@pytest.mark.parametrize("path", [5, None, ["a.h5"], True])
def test_what_is_no_path_is_no_dataset(path):
    with pytest.raises(DatasetError, match="the path of one file is expected"):
        DatasetFile(path)


# --- the pipeline


def evaluate(output: Path, *overrides: str) -> dict:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose(
            "evaluate_model",
            [f"output={output}", "threads=1", "device=cpu", "draws=50", *overrides],
        )
    with open_dict(cfg):
        return evaluate_model.run(cfg)


def test_nets_that_may_have_learned_from_the_games_are_named() -> None:
    held = {"test": 0.1, "validation": 0.2}
    nets = [
        {"name": name, "held_out": share}
        for name, share in (("a", 0.1), ("b", 0.05), ("c", None), ("d", 0.3))
    ]
    data, *told = about_split("test", held, nets)
    assert "no game of the test split" in data
    assert [line.split(":")[0] for line in told] == [
        "a",
        "WARNING, b",
        "c",
        "d",
    ] and "is not told" in told[2]
    assert [line.split(":")[0] for line in about_split("validation", held, nets)][1] == "WARNING, a"
    assert "is not told" in list(about_split("test", {"test": None}, nets))[1]
    assert len(list(about_split("train", held, nets))) == 1


def test_what_a_net_kept_away_from_is_what_all_that_it_began_with_did(tmp_path: Path) -> None:
    from pipelines.training.assemble import held_out

    class Data:
        def held_out(self, *splits: str) -> float:
            return 0.1

    net = tiny_net(POLICY)[0]
    shares = {"less": 0.05, "more": 0.3, "unknown": None}
    paths = {
        name: write_checkpoint(tmp_path / f"{name}.ckpt", net, POLICY, held_out=share)
        for name, share in shares.items()
    }
    assert held_out(Data(), None) == held_out(Data(), paths["more"]) == 0.1
    assert held_out(Data(), paths["less"]) == held_out(Data(), str(paths["less"])) == 0.05
    assert held_out(Data(), paths["unknown"]) is None
    assert open_net(paths["less"], device="cpu").card.compute["held_out"] == 0.05


def test_nets_that_know_the_symmetries_are_asked_once_and_all_that_is_said_counts_weights_alike(
    tmp_path, dataset
):
    """The card says it, and so does a checkpoint; who asks for more gets more."""
    symmetric = {**POLICY, "symmetric": True}
    paths = [
        write_checkpoint(tmp_path / f"{name}.ckpt", tiny_net(arguments)[0], arguments)
        for name, arguments in (("knows", symmetric), ("learns", POLICY))
    ]
    how = [
        f"checkpoint=[{paths[0]},{paths[1]}]",
        f"dataset={dataset}",
        "engine=fp32",
        "plots=false",
        "draws=5",
        "device=cpu",
    ]
    result = evaluate(tmp_path / "out", *how)
    assert [list(net["scores"]) for net in result["nets"]] == [["1"], ["1", "2", "4", "8"]]
    assert [entry["symmetries"] for entry in result["differences"]] == ["1"]
    assert "weights to learn (" in result["nets"][0]["learned"]
    assert "to learn" not in result["nets"][1]["learned"]
    again = evaluate(tmp_path / "again", *how, "symmetries=[2]")
    assert [list(net["scores"]) for net in again["nets"]] == [["2"], ["2"]]


def test_positions_are_judged_by_the_rank_of_who_moved(tmp_path):
    path = judged_dataset(tmp_path / "ranked.h5", games=60)
    with h5py.File(path, "r+") as file:
        count = len(file["games/value"])
        for name, ranks in (("black_rank", [6, -3, 0]), ("white_rank", [6, 11, 7])):
            file["games"][name][:] = np.resize(np.array(ranks, np.int8), count)
    with closing(DatasetFile(path)) as file:
        material = choose(file, "train", "policy", None, 0)
        group, names = material.groups["rank"]
        assert list(names.values()) == ["3k", "6d", "7d", "1p", "unknown"]
        game, to_play = (file.positions[name][:][material.rows] for name in ("game", "to_play"))
        expected = np.where(
            to_play > 0,
            np.resize(["6d", "3k", "unknown"], count)[game],
            np.resize(["6d", "1p", "7d"], count)[game],
        )
    assert [names[number] for number in group] == expected.tolist()
    checkpoint = write_checkpoint(tmp_path / "net.ckpt", tiny_net(POLICY)[0], POLICY)
    result = evaluate(
        tmp_path / "out",
        f"checkpoint={checkpoint}",
        f"dataset={path}",
        "split=train",
        "symmetries=1",
        "plots=false",
        "draws=5",
    )
    [table] = [table for table in tables(result, "policy") if "By rank" in str(table.title)]
    assert list(table.columns[0].cells) == ["3k", "6d", "7d", "1p", "unknown"]
    assert "net,1,rank,1p," in (tmp_path / "out" / "policy.csv").read_text()


def test_games_of_programs_are_not_set_beside_figures_of_people(tmp_path):
    path = judged_dataset(tmp_path / "programs.h5", games=60)
    with h5py.File(path, "r+") as file:
        file["games/black_rank"][:] = file["games/white_rank"][:] = 0
    checkpoint = write_checkpoint(tmp_path / "net.ckpt", tiny_net(POLICY)[0], POLICY)
    result = evaluate(
        tmp_path / "out", f"checkpoint={checkpoint}", f"dataset={path}", "symmetries=1", "draws=5"
    )
    assert {path.name for path in (tmp_path / "out").glob("*.png")} == {
        "moves_by_phase.png",
        "move_ranks.png",
    }
    assert not [table for table in tables(result, "policy") if "rank of" in str(table.title)]


def test_labels_of_close_points_cover_neither_each_other_nor_the_curves(tmp_path):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5))
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    labels, x = Labels(axes, "white"), np.arange(5)
    for k in range(2):
        axes.plot(x, x + 0.15 * k, "o-")
        axes.set_xlim(-1, 5)
        for point in (0, 2, 4):
            labels.add(point, point + 0.15 * k, f"{point}.{k}", "black")
    figure.draw_without_rendering()
    labels.place()
    boxes = [text.get_window_extent() for text in axes.texts]
    samples = np.concatenate(list(obstacles(axes)))
    assert [text.get_text() for text in axes.texts] == [text for _, _, text, _ in labels.wanted]
    for k, box in enumerate(boxes):
        assert not any(overlap(box, other) for other in boxes[:k])
        assert not ((samples > (box.x0, box.y0)) & (samples < (box.x1, box.y1))).all(1).any()


def test_the_pipeline_finds_what_the_definitions_say(tmp_path, dataset):
    checkpoints = []
    for name, arguments in (("first", POLICY), ("second", PLAIN_POLICY), ("third", KOMI_VALUE)):
        checkpoints.append(
            write_checkpoint(
                tmp_path / name / "checkpoints" / "best.ckpt", tiny_net(arguments)[0], arguments
            )
        )
    paths = ",".join(map(str, checkpoints))
    how = [
        f"checkpoint=[{paths}]",
        f"dataset={dataset}",
        "engine=fp32",
        "symmetries=[1,2]",
        "batch_size=64",
    ]
    result = evaluate(tmp_path / "out", *how)
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert made == {"metrics.json", "policy.csv", "value.csv", "comparison.md", "moves_by_phase.png", "move_ranks.png",
                    "moves_difference.png", "symmetries.png", "comparison.png", "winners_by_phase.png", "calibration.png"}  # fmt: skip
    written = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert written == json.loads(json.dumps(without_nan(result)))
    assert [net["name"] for net in result["nets"]] == ["first", "second", "third"]

    file = DatasetFile(dataset)
    first, stop = file.split_rows["test"]
    packed = file.positions["planes"][first:stop]
    planes = torch.from_numpy(
        np.unpackbits(packed, axis=2).transpose(0, 2, 1).reshape(-1, 48, 9, 9).copy()
    )
    moves = torch.from_numpy(file.positions["move"][first:stop].astype(np.int64))
    with torch.no_grad():
        logits = tiny_net(POLICY)[0](planes)
    scores = result["nets"][0]["scores"]["1"]["all"]["all"]["scores"]
    assert scores["top1"]["value"] == pytest.approx(
        (logits.argmax(1) == moves).float().mean().item(), abs=2e-3
    )
    assert scores["log_loss"]["value"] == pytest.approx(
        torch.nn.functional.cross_entropy(logits, moves).item(), rel=1e-4
    )
    assert scores["top1"]["low"] <= scores["top1"]["value"] <= scores["top1"]["high"]
    [one, two] = [entry for entry in result["differences"] if entry["first"] == "first"]
    assert one["second"] == "second" and (one["symmetries"], two["symmetries"]) == ("1", "2")

    with (tmp_path / "out" / "policy.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    main = next(r for r in rows if (r["net"], r["symmetries"], r["by"]) == ("first", "1", "all"))
    assert (
        float(main["top1"]) == pytest.approx(scores["top1"]["value"], rel=1e-4)
        and int(main["positions"]) == stop - first
    )
    assert {r["group"] for r in rows if r["by"] == "source"} == {"games/kgs.zip", "games/pro.zip"}
    text = (tmp_path / "out" / "comparison.md").read_text()
    assert (
        "games, test, all games" in text
        and "| 57.0 |" in text
        and "16 filters" in text
        and str(tmp_path) not in text
    )


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["symmetries=[3]"], "symmetries=[3]: some of 1, 2, 4, 8"),
        (["positions=0"], "positions=0: at least 1 is possible"),
        (["positions=1.5"], "positions=1.5: a whole number, at least 1 or null is expected"),
        (["checkpoint=null"], "checkpoint=null: a list of words is expected"),
        (["checkpoint=[a,[b]]"], 'checkpoint=["a", ["b"]]: a list of words is expected'),
        (["checkpoint=[a,b,c,d,e]"], "one to four nets, not 5"),
        (["checkpoint=5"], "5.json: there is no such card"),
        (["symmetries=[[1]]"], "symmetries=[[1]]: a list of whole numbers or null is expected"),
        (["symmetries=[1,true]"], "symmetries=[1, true]: a list of whole numbers"),
        (["source=5"], "no games from a source with 5 in its name"),
        (["source=[null]"], "source=[null]: a list of words or null is expected"),
        (["dataset=5"], "5: there is no such file"),
        (["dataset=[a,b]"], 'dataset=["a", "b"]: a word is expected'),
        (["output=null"], "output=null: a word is expected"),
        (["output=pyproject.toml"], "output=pyproject.toml: a file, a folder is expected"),
        (["threads=-1"], "threads=-1: at least 0 is possible"),
        (["plots=3"], "plots=3: true or false is expected"),
        (["names=[a,b]"], "names=['a', 'b']: as many as there are nets, 1"),
        (["split=moon"], "no split 'moon'"),
        (["checkpoint=nowhere.ckpt"], "nowhere.ckpt: there is no such checkpoint"),
        (["dataset=nowhere.h5"], "nowhere.h5: there is no such file"),
        (["engine=int8"], "export_model.py makes one"),
    ],
)
def test_what_can_not_be_judged_is_said_in_one_line(
    tmp_path, dataset, overrides, words, monkeypatch
):
    monkeypatch.chdir(ROOT)
    checkpoint = write_checkpoint(tmp_path / "net.ckpt", tiny_net(POLICY)[0], POLICY)
    with pytest.raises(ValueError) as caught:
        evaluate(tmp_path / "out", f"checkpoint={checkpoint}", f"dataset={dataset}", *overrides)
    message = explain(caught.value)
    assert message and words in message and "\n" not in message
    assert not (tmp_path / "out").exists()


def test_numbers_are_words_where_words_are_wanted(tmp_path, dataset, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_checkpoint(tmp_path / "5", tiny_net(POLICY)[0], POLICY).rename(tmp_path / "7.ckpt")
    (tmp_path / "6").write_bytes(dataset.read_bytes())
    result = evaluate(
        Path("8"),
        "checkpoint=7.ckpt",
        "dataset=6",
        "output=9",
        "symmetries=1",
        "names=3",
        "plots=false",
    )
    assert [net["name"] for net in result["nets"]] == ["3"] and list(
        result["nets"][0]["scores"]
    ) == ["1"]
    assert (tmp_path / "9" / "metrics.json").is_file()


def random_checkpoint(path: Path, arguments: dict) -> Path:
    """Of a net that has learned nothing."""
    net = make_net(arguments)
    state = {f"net.{name}": value for name, value in net.state_dict().items()}
    config = {"model": {"net": arguments}, "size": arguments["size"]}
    torch.save({"state_dict": state, "hyper_parameters": config, "global_step": 1}, path)
    return path


def test_a_net_for_another_board_is_refused(tmp_path, dataset):
    for name, arguments, sizes in (
        (
            "papers",
            {
                "_target_": "models.nets.ValueNet",
                "planes": 49,
                "filters": 8,
                "layers": 4,
                "units": 8,
                "size": 19,
            },
            "19x19",
        ),
        ("free", {**POLICY, "size": 7}, "2x2 to 7x7"),
    ):
        path = random_checkpoint(tmp_path / f"{name}.ckpt", arguments)
        with pytest.raises(
            EvaluationError, match=rf"a net for {sizes} boards, those of .* are 9x9"
        ):
            evaluate(tmp_path / "out", f"checkpoint={path}", f"dataset={dataset}")


def test_a_net_of_any_board_is_judged_on_smaller_ones_and_the_report_says_for_which_it_is(
    tmp_path, dataset
):
    path = random_checkpoint(tmp_path / "net.ckpt", {**POLICY, "size": 13})
    result = evaluate(
        tmp_path / "out", f"checkpoint={path}", f"dataset={dataset}", "symmetries=1", "plots=false"
    )
    assert result["nets"][0]["boards"] == "2x2 to 13x13" and result["dataset"]["size"] == 9
    text = (tmp_path / "out" / "comparison.md").read_text()
    assert "boards of 9x9" in text and "for boards of 2x2 to 13x13" in text


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_the_report_says_of_splits_what_is_true_of_them(tmp_path, dataset, split):
    """That a net has not learned from these games is no truth of a training split."""
    path = random_checkpoint(tmp_path / "net.ckpt", PLAIN_POLICY)
    evaluate(
        tmp_path / "out",
        f"checkpoint={path}",
        f"dataset={dataset}",
        f"split={split}",
        "symmetries=1",
        "plots=false",
    )
    text = (tmp_path / "out" / "comparison.md").read_text()
    assert ("have learned from them" in text) == (split == "train")
    assert ("is in the training split" in text) == (split != "train")
    assert (f"no game of the {split} split" in text) == (split != "train")
