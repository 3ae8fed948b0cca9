"""Ranks of players by `estimate_rank.py`: from SGF files, and measured on a dataset."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from data.base.errors import Mistake
from data.features.evaluation import Evaluation, Face, Positions
from data.features.feature_set import ALPHAGO48, ZERO17
from data.features.uniform import Known
from data.records.metadata import from_rank, to_rank
from data.records.sgf import ReadOptions, read_games
from models.judging.ranks import MOST
from pipelines import estimate_rank
from pipelines.evaluating.told import NoRanks, check_told, log_likelihoods
from pipelines.ranking import nets as ranked_nets
from pipelines.ranking.held_out import Sample, choose_games, measure, told_of
from pipelines.ranking.options import RankOptions, in_words, ranks_of
from pipelines.ranking.players import game_likelihoods, players_of
from pipelines.ranking.report import show_measured
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.options import OptionError, read
from tests.support.damage import script
from tests.support.net_files import write_nets
from tests.support.ranked_games import POINTS, build, log_policy, play, sgf, write_records
from tests.support.tiny_dataset import make_dataset

LEVELS = [to_rank(name) for name in ("5k", "3k", "1k", "1d", "3d", "5d", "7d", "9d")]


class Ranked:
    """A net that knows strength: it likes what `ranked_games.py` plays.

    It also keeps what it was told last.
    """

    def __init__(self, features: Any = ALPHAGO48):
        takes = frozenset({"black_rank", "white_rank", "source", "year"})
        self.face = Face("ranked", features, 2, 9, frozenset({"policy"}), takes=takes)
        self.name, self.told = "ranked", Known()

    def evaluate(self, positions: Positions) -> Evaluation:
        self.told = known = positions.known
        assert positions.packed.shape[1:] == (POINTS, self.face.features.row_bytes)
        assert known.black_rank is not None and known.white_rank is not None
        own = np.where(positions.to_play > 0, known.black_rank, known.white_rank)
        return Evaluation(policy=np.stack([log_policy(int(rank)) for rank in own]))


def options(**given: Any) -> RankOptions:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("estimate_rank", [])
    return read(RankOptions, {**plain(cfg), "game": "x.sgf", **given})


# --- options


def test_ranks_are_lists_and_rows_of_neighbours() -> None:
    assert [from_rank(rank) for rank in ranks_of("2k-2d")] == ["2k", "1k", "1d", "2d"]
    told = options(ranks=["9p", "3k-1k", "1d", "5d-7d"]).told()
    assert in_words(told) == "3k-1d, 5d-7d, 9p"
    for wrong in ("strong", "3d-2k", "3d-", "0d"):
        with pytest.raises(OptionError, match=r"a rank as 5k, 3d or 9p"):
            options(ranks=[wrong, "9d"])
    with pytest.raises(OptionError, match="two or more"):
        options(ranks=["9d"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"game": None}, "whose rank?"),
        ({"dataset": "a.h5"}, "whose rank?"),
        ({"game": None, "dataset": "a.h5", "fit": "test"}, "fit=test: games of another split"),
        ({"game": None, "dataset": "a.h5", "player": "Lee"}, "player=Lee: with game="),
        ({"source": "home"}, "source=home: one of kgs"),
        ({"temper": 0}, "temper=0: more than 0"),
        ({"level": 1}, "level=1: from 0.01 to 0.999"),
        ({"opponent": "strong"}, "opponent=strong: unknown or same"),
    ],
)
def test_what_can_not_be_asked_is_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as error:
        options(**given)
    assert message in str(error.value) and "\n" not in str(error.value)


# --- likelihoods


def test_a_net_is_told_one_rank_after_another() -> None:
    net, count = Ranked(), 6
    to_play = np.array([1, -1, 1, -1, 1, -1], np.int8)
    packed = np.zeros((count, POINTS, ALPHAGO48.row_bytes), np.uint8)
    positions = Positions(packed, to_play, Known(year=np.full(count, 2015, np.int16)))
    moves = np.array([0, 1, 2, 80, 79, 78])
    found = log_likelihoods(net, positions, moves, LEVELS)
    assert found.shape == (count, len(LEVELS))
    for k, rank in enumerate(LEVELS):
        assert np.allclose(found[:, k], log_policy(rank)[moves], atol=0.01)
    assert net.told.year is not None and set(net.told.year) == {2015}
    assert net.told.black_rank is not None and net.told.black_rank.tolist() == [9, 0] * 3
    log_likelihoods(net, positions, moves, LEVELS, same_opponent=True)
    assert net.told.black_rank is not None and net.told.black_rank.tolist() == [9] * 6


def test_a_move_that_is_impossible_to_the_net_does_not_outweigh_all_others() -> None:
    class Sure(Ranked):
        def evaluate(self, positions: Positions) -> Evaluation:
            policy = np.full((len(positions), POINTS + 1), -np.inf, np.float32)
            policy[:, 0] = 0
            return Evaluation(policy=policy)

    packed = np.zeros((2, POINTS, ALPHAGO48.row_bytes), np.uint8)
    positions = Positions(packed, np.ones(2, np.int8))
    found = log_likelihoods(Sure(), positions, np.array([0, 5]), LEVELS)
    assert np.isfinite(found).all() and found[0].max() < 0 and found[1].min() > -15


def test_nets_without_ranks_or_moves_are_refused() -> None:
    net = Ranked()
    check_told(net)
    net.face = Face("plain", ALPHAGO48, 2, 9, frozenset({"policy"}))
    with pytest.raises(NoRanks, match="plain: takes no ranks as input"):
        check_told(net)
    net.face = Face("value", ALPHAGO48, 2, 9, frozenset({"value"}))
    with pytest.raises(NoRanks, match="value: a net that names moves is wanted"):
        check_told(net)


def test_passes_and_handicap_stones_are_no_choices_of_a_player() -> None:
    text = sgf(";B[aa];B[bb];W[cc];B[];W[dd]", HA="2", PB="a", PW="b", DT="2003-05-06")
    [game] = read_games(text.encode(), source="x.sgf", options=ReadOptions(size=9))
    net = Ranked(ZERO17)
    matrix, colours = game_likelihoods(net, game, LEVELS, options())
    assert len(matrix) == 2 and colours.tolist() == [-1, -1]
    assert net.told.year is not None and set(net.told.year.tolist()) == {2003}
    told = options(year=1990, source="fox")
    game_likelihoods(net, game, LEVELS, told)
    assert net.told.year is not None and net.told.source is not None
    assert net.told.year.tolist() == [1990] * 2 and net.told.source.tolist() == [2] * 2


def test_players_of_several_games_are_put_together_by_name() -> None:
    random = np.random.default_rng(1)
    texts = [
        sgf(play(random, 9, -5), PB="Ann", PW="Bob", BR="9d", WR="5k"),
        sgf(play(random, -5, 9), PB="Bob", PW="Ann", BR="4k"),
        sgf(play(random, 1, 1)),
    ]
    games = [
        read_games(text.encode(), source=f"{k}.sgf", options=ReadOptions(size=9))[0]
        for k, text in enumerate(texts)
    ]
    found = {one.name: one for one in players_of(Ranked(), games, LEVELS, options())}
    assert list(found) == ["Ann", "Bob", "Black of 2.sgf", "White of 2.sgf"]
    assert found["Ann"].games == 2 and found["Ann"].log_likelihoods.shape == (40, len(LEVELS))
    assert found["Bob"].recorded == [-5, -4]
    sums = {name: one.log_likelihoods.sum(0) for name, one in found.items()}
    assert LEVELS[int(sums["Ann"].argmax())] > LEVELS[int(sums["Bob"].argmax())]
    only = players_of(Ranked(), games, LEVELS, options(player="Bob"))
    assert [one.name for one in only] == ["Bob"]
    with pytest.raises(Mistake, match=r"player=Eve: there are Ann, Black of 2\.sgf, Bob"):
        players_of(Ranked(), games, LEVELS, options(player="Eve"))


# --- the script


def run(*overrides: str) -> dict[str, Any]:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return estimate_rank.run(compose("estimate_rank", ["engine=fp32", "threads=1", *overrides]))


@pytest.fixture
def knowing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script asks a net that knows ranks."""
    monkeypatch.setattr(ranked_nets, "open_net", lambda path, **how: Ranked())


@pytest.mark.usefixtures("knowing")
def test_the_ranks_of_a_game_are_shown_with_the_recorded_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "game.sgf"
    random = np.random.default_rng(2)
    path.write_text(sgf(play(random, 9, -9), PB="Ann", PW="Bob [x\\]", BR="9d"))
    result = run(
        "net=x.json", f"game={path}", "ranks=[9k-9d]", "temper=1", f"output={tmp_path / 'o.json'}"
    )
    ann, bob = result["players"]
    assert (ann["name"], ann["recorded"], bob["recorded"]) == ("Ann", "9d", None)
    assert to_rank(ann["looks_like"]) > to_rank(bob["looks_like"])
    assert sum(ann["chances"]) == pytest.approx(1) and ann["moves"] == 20
    assert json.loads((tmp_path / "o.json").read_text())["players"] == result["players"]
    shown = capsys.readouterr().out
    assert "Which rank the moves look like" in shown and "told 9k-9d" in shown
    assert "<- looks like" in shown and "(recorded)" in shown


@pytest.mark.usefixtures("knowing")
def test_a_dataset_tells_how_far_off_estimates_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Players of this dataset play as their rank does, so naming the mean is worse."""
    dataset = build(write_records(tmp_path / "games", [-9, 9]), tmp_path / "r.h5")
    how = [f"dataset={dataset}", "net=x.json", "ranks=[9k-9d]", "games=60"]
    result = run(*how, "fit=train")
    alike, common = result["ways"].values()
    assert result["players"] > 20 and result["fitted"] > 40
    for way in (alike, common):
        assert way["error"] < 0.8 * result["naming_the_mean"]
        assert way["inside"] > 0.75 and 0.1 < way["temper"] < 1.7
        assert way["correlation"] > 0.5
    assert [row["rank"] for row in result["by_rank"]] == ["9k", "9d"]
    assert sum(row["players"] for row in result["by_rank"]) == result["players"]
    shown = capsys.readouterr().out
    assert "always naming the mean" in shown and "By true rank" in shown
    plainly = run(*how, "fit=null", "temper=0.5")
    assert list(plainly["ways"]) == ["all ranks alike"]
    assert plainly["ways"]["all ranks alike"]["temper"] == 0.5


def test_games_of_a_dataset_are_told_their_source_and_year_by_options() -> None:
    known = Known(source=np.array([1, 3], np.uint8), year=np.array([2001, 0], np.int16))
    assert told_of(known, 2, options()) is known
    told = told_of(known, 2, options(source="fox", year=1990))
    assert told.source is not None and told.source.tolist() == [2, 2]
    assert told.year is not None and told.year.tolist() == [1990, 1990]


def test_a_dataset_of_another_size_than_the_net_is_for_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Ranked()
    net.face = replace(net.face, least=19, most=19)
    monkeypatch.setattr(ranked_nets, "open_net", lambda path, **how: net)
    dataset = make_dataset(tmp_path, games=12)
    with pytest.raises(Mistake, match="games of 9x9, the net is for 19x19"):
        run(f"dataset={dataset}", "net=x.json")


def test_a_temper_at_its_limit_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a net to which ranks make next to no difference, and always the right way."""
    count = 20
    rank = np.repeat([-9, 9], count)
    sums = np.where(rank[:, None] == np.array([-9, 9]), 0.01, 0.0)
    sample = Sample(sums, np.full(2 * count, 30), rank, count)
    given = options(game=None, dataset="x.h5", ranks=["9k", "9d"])
    result = measure(sample, sample, [-9, 9], given)
    show_measured(result)
    assert result["ways"]["all ranks alike"]["temper"] == pytest.approx(MOST)
    shown = capsys.readouterr().out
    assert "(at its limit)" in shown and "no more than 10 is tried" in shown


@pytest.mark.slow
def test_a_net_that_learns_ranks_finds_moves_likeliest_at_their_true_rank(tmp_path: Path) -> None:
    records = write_records(tmp_path / "games", [-9, -4, 1, 5, 9], games=800, moves=40)
    dataset = build(records, tmp_path / "r.h5")
    small = [f"model.net.{key}" for key in ("filters=16", "blocks=2", "hidden=8", "units=16")]
    how = [
        "model=dual_resnet", f"dataset={dataset}", *small, "loader.targets=[result]",
        "loader.extras=[black_to_play,komi,own_rank,opponent_rank]", "positions=60000",
        "validate_every=30000", "loader.batch_size=64", "threads=1", "trainer.accelerator=cpu",
    ]  # fmt: skip
    learned = tmp_path / "run" / "checkpoints" / "best.ckpt"
    run_script("train_model", *how, f"output={tmp_path / 'run'}")
    judge = [f"checkpoint={learned}", f"dataset={dataset}", "engine=fp32", "draws=5", "plots=false"]
    told = "ranks=[9k,4k,1d,5d,9d]"
    run_script("evaluate_model", *judge, told, f"output={tmp_path / 'judged'}")
    metrics = json.loads((tmp_path / "judged" / "metrics.json").read_text())
    rows = metrics["nets"][0]["told"]["rows"]
    found = np.array([row["log_likelihood"] for row in rows])  # [true, unknown and told]
    right = found[np.arange(5), 1 + np.arange(5)]
    assert right.mean() > found[:, 0].mean() and (right >= found[:, 1:].mean(1)).all()
    assert found[0, 1] > found[0, 5] + 0.03 and found[4, 5] > found[4, 1] + 0.03
    result = run(f"net={learned}", f"dataset={dataset}", "ranks=[9k-9d]", "games=40")
    assert all(way["error"] < result["naming_the_mean"] for way in result["ways"].values())


def run_script(name: str, *arguments: str) -> None:
    done = subprocess.run(script(name, *arguments), capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr


def test_games_of_rare_ranks_are_drawn_as_often_as_others() -> None:
    class File:
        path, games, split_games = Path("x"), ("black_rank", "white_rank"), {"test": (10, 2010)}
        first_row = np.arange(2011) * 5
        ranks = np.where(np.arange(2010) % 100 == 0, -5, 9)

        def column(self, name: str, first: int, stop: int) -> np.ndarray:
            return np.zeros(stop - first, int) if name[0] == "w" else self.ranks[first:stop]

    def rare(**given: Any) -> int:
        found = choose_games(File(), "test", options(games=20, **given))  # type: ignore[arg-type]
        assert len(set(found.tolist())) == 20 and (np.diff(found) > 0).all()
        return int((File.ranks[found] == -5).sum())

    assert np.mean([rare(seed=seed) for seed in range(30)]) == pytest.approx(8, abs=1.5)
    assert np.mean([rare(seed=seed, balanced=False) for seed in range(30)]) < 1


def test_without_a_net_that_takes_ranks_one_line_says_so(tmp_path: Path) -> None:
    files = write_nets(tmp_path)
    (tmp_path / "game.sgf").write_text(sgf(";B[aa];W[bb]"))
    for net, message in (("plain", "takes no ranks"), ("value", "a net that names moves")):
        with pytest.raises(NoRanks, match=message):
            run(f"net={files[net]}", f"game={tmp_path / 'game.sgf'}")
    result = run(f"net={files['dual']}", f"game={tmp_path / 'game.sgf'}")
    assert [one["moves"] for one in result["players"]] == [1, 1]


@pytest.mark.usefixtures("knowing")
def test_games_without_moves_and_files_without_games_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty.sgf").write_text(sgf(""))
    (tmp_path / "large.sgf").write_text("(;GM[1]SZ[19];B[aa])")
    (tmp_path / "illegal.sgf").write_text(sgf(";B[aa];W[aa]"))
    for name, message in (
        ("empty", "the game has no moves"),
        ("large", "19x19, the net is for 2x2 to 9x9"),
        ("illegal", "move 2: "),
        ("nowhere", "there is no such file"),
    ):
        with pytest.raises(Mistake, match=message) as error:
            run("net=x.json", f"game={tmp_path / name}.sgf")
        assert "\n" not in str(error.value)


def test_a_dataset_without_ranks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked_nets, "open_net", lambda path, **how: Ranked())
    dataset = make_dataset(tmp_path, games=12)
    with pytest.raises(Mistake, match="no game of the split validation tells a player's rank"):
        run(f"dataset={dataset}", "net=x.json")
    with h5py.File(dataset, "r+") as file:
        del file["games/black_rank"]
    with pytest.raises(Mistake, match="tells no ranks"):
        run(f"dataset={dataset}", "net=x.json")
