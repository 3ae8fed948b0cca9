"""Datasets of every feature set, with rows of passes and without: built, read, checked, shown."""

import json
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from data.build.manifest import make_manifest, stamp_of
from data.build.options import BuildError, BuildOptions, GameOptions
from data.dataset.check import verify
from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.layout import DatasetError
from data.dataset.positions import read_labels
from data.dataset.rows import Rows
from data.dataset.sample import take_sample
from data.dataset.summary import summarise
from data.features.encoders import ReplayEncoder, encoder_of
from data.features.feature_set import ALPHAGO48, FEATURE_SETS, ZERO17, ZERO18
from data.features.uniform import SOURCES
from data.game.coords import PASS
from pipelines.dataset.build_options import build_options
from pipelines.drawing.text_boards import feature_lines
from pipelines.inspect_dataset import run
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.console import console
from tests.support.builds import build_here, edited, rows_of
from tests.support.own_games import collect, write_zip

KINDS = {  # features, passes, layout, augment
    "alphago48": (ALPHAGO48, False, "packed", "none"),
    "alphago48 passes": (ALPHAGO48, True, "packed", "none"),
    "zero17": (ZERO17, False, "packed", "none"),
    "zero18 passes": (ZERO18, True, "packed", "none"),
    "zero17 plain": (ZERO17, False, "plain", "all"),
}
PACKED = [name for name in KINDS if "plain" not in name]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sets")
    write_zip(folder / "games.zip", collect(12))
    made = {}
    for name, (features, passes, layout, augment) in KINDS.items():
        made[name] = folder / f"{name}.h5"
        options = {"features": features, "passes": passes, "layout": layout, "augment": augment}
        build_here(folder / "games.zip", made[name], **options)
    return made


@pytest.fixture
def copy(files, tmp_path):
    def of(name: str) -> Path:
        path = tmp_path / "copy.h5"
        path.write_bytes(files[name].read_bytes())
        return path

    return of


@pytest.mark.parametrize("name", PACKED)
def test_rows_are_what_a_board_shows(files, name):
    features, passes, *_ = KINDS[name]
    file = DatasetFile(files[name])
    assert (file.features, file.passes) == (features, passes)
    rows = file.positions
    planes, moves, plies = rows["planes"][:], rows["move"][:], rows["ply"][:]
    games, encoder, at = Games(file), encoder_of(features), 0
    for game in range(len(games)):
        for packed, move, colour, ply in rows_of(games.record(game), encoder, passes):
            assert (moves[at], plies[at], rows["to_play"][at]) == (move, ply, colour)
            assert (rows["game"][at], np.array_equal(planes[at], packed)) == (game, True), at
            at += 1
    assert at == len(file) == file.first_row[-1]
    assert ((moves == PASS).sum() > 5) == passes
    assert np.array_equal(ReplayEncoder(features, games).packed(rows["game"][:], plies), planes)
    labels = read_labels(file, np.arange(len(file)))
    assert np.array_equal(labels["move"], moves)


@pytest.mark.parametrize("name", KINDS)
def test_every_file_is_sound_and_a_flipped_bit_is_named(files, copy, name):
    rows = Rows(DatasetFile(files[name]))
    verdict = verify(rows, sample=None)
    assert verdict.sound and verdict.recomputed == rows.count, verdict.problems
    path = copy(name)
    features = KINDS[name][0]
    with edited(path) as file:
        if rows.plain:
            file["states"][100, features.planes - 1, 0, 0] ^= 1
        else:
            file["positions/planes"][100, 0, -1] ^= 1
    verdict = verify(Rows(DatasetFile(path)), sample=None)
    assert verdict.count == 1
    assert f"{features.plane_names[-1]} at A9" in verdict.problems[0]


def test_a_pass_is_refused_where_no_row_may_be_one(copy):
    path = copy("alphago48")
    with edited(path) as file:
        file["positions/move"][7] = PASS
    with pytest.raises(DatasetError, match="move of row 7 is 361, which is not possible"):
        read_labels(DatasetFile(path), np.arange(20))
    path = copy("zero18 passes")
    with edited(path) as file:
        file["positions/move"][7] = 81
    with pytest.raises(DatasetError, match="move of row 7 is 81, which is not possible"):
        read_labels(DatasetFile(path), np.arange(20))


def test_other_planes_are_refused_with_both_lists(copy):
    path = copy("zero17")
    with edited(path) as file:
        file.attrs["planes"] = json.dumps(["moon", *ZERO17.plane_names])
    with pytest.raises(DatasetError) as raised:
        DatasetFile(path)
    assert "17 (moon, own:0), this program 16 (own:0, own:1)" in str(raised.value)
    with edited(path) as file:
        file.attrs["feature_set"] = "zero19"
    with pytest.raises(DatasetError, match="features=zero19, this program knows alphago48, "):
        DatasetFile(path)
    with edited(path) as file:
        del file.attrs["feature_set"]
    with pytest.raises(DatasetError, match="this program's alphago48: it has 17"):
        DatasetFile(path)


def test_what_is_known_of_games_comes_with_the_file(files):
    file = DatasetFile(files["zero17"])
    servers = file.column("server")
    assert set(servers) == {"tournament", ""}, "games between professionals with an event"
    games = np.arange(file.game_count)[::-1]
    known = file.known(games)
    both = np.minimum(known.black_rank, known.white_rank) > 10
    assert np.array_equal(known.source, np.where(both, 1 + SOURCES.index("tournament"), 0))
    assert known.year.tolist() == [int(date[:4]) for date in file.column("date")[games]]
    assert np.array_equal(known.komi, file.area_komi[games], equal_nan=True)


def test_a_build_with_other_planes_or_passes_never_uses_what_is_there(files, tmp_path):
    source, output = files["zero17"].parent / "games.zip", files["zero17"]
    for other in ({"features": ZERO18}, {"features": ZERO17, "passes": True}, {}):
        with pytest.raises(BuildError, match=r"was made from something else .*(features|passes)"):
            build_here(source, output, **other)
    games = [GameOptions(), GameOptions(passes=True)]
    stamps = {
        stamp_of(make_manifest(BuildOptions(("x",), tmp_path / "x.h5", each, features), []))
        for each in games
        for features in FEATURE_SETS.values()
    }
    assert len(stamps) == 6
    with pytest.raises(BuildError, match="passes=true goes with layout=packed"):
        build_here(source, tmp_path / "x.h5", passes=True, layout="plain")


def test_the_script_takes_both_options():
    keys = ["source=x", "output=y", "features=zero17", "passes=true"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        options = build_options(plain(compose("build_dataset", overrides=keys)))
    assert (options.features, options.games.passes) == (ZERO17, True)


# --- shown


def said(*overrides: str) -> str:
    with console.capture() as capture, initialize_config_dir(str(CONF), version_base="1.3"):
        run(compose("inspect_dataset", overrides=list(overrides)))
    return capture.get()


@pytest.mark.parametrize("name", KINDS)
def test_the_counts_name_the_set(files, name):
    features, passes, *_ = KINDS[name]
    about = summarise(Rows(DatasetFile(files[name])))
    assert about["about"]["features"] == features.name
    assert about["servers"].keys() == {"tournament", "unknown"}
    text = said(f"dataset={files[name]}")
    assert f"{features.planes} planes of {features.name}" in text
    assert ("passes have rows" in text) == passes


def test_a_row_of_a_pass_is_shown_as_one(files, tmp_path):
    file = DatasetFile(files["zero18 passes"])
    row = int(np.flatnonzero(file.positions["move"][:] == PASS)[0])
    sheet, sgf = tmp_path / "sheet.png", tmp_path / "game.sgf"
    text = said(f"dataset={file.path}", f"sample={row}", f"png={sheet}", f"sgf={sgf}")
    assert "the move is a pass" in text and " pass;" in text
    assert sheet.read_bytes().startswith(b"\x89PNG") and "C[The sample: " in sgf.read_text()


def test_digits_and_letters_tell_how_long_stones_stayed():
    turns = np.array(  # points by turns ago
        [[1, 1, 1, 1, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0],
         [0, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1],
         [1, 0, 1, 0, 0, 0, 0, 0], [0, 1, 0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]],
        np.uint8,
    )  # fmt: skip
    planes = np.concatenate([turns.T.reshape(8, 3, 3), np.zeros((8, 3, 3), np.uint8)])
    lines = feature_lines(planes, ["own", "opponent"], 80, features=ZERO18, ascii_only=True)
    assert lines[-6:] == ["own", "7 0 2", "a c g", "! ! .", "", "opponent: nowhere"]


def test_a_position_with_history_is_drawn_by_how_long_stones_stayed(files):
    rows = Rows(DatasetFile(files["zero17"]))
    row = 30
    sample = take_sample(rows, row)
    assert sample.problem == ""
    text = said(f"dataset={rows.file.path}", f"sample={row}", "planes=[own,opponent]")
    assert "a letter: it is gone" in text
    colour = int(sample.to_play > 0)
    assert f"black_to_play: {colour} everywhere" in text
    assert "own:3" in said(f"dataset={rows.file.path}", f"sample={row}", "planes=own:3")
    before = take_sample(rows, row - 1)
    assert sample.last_move() == (None if before.ply < sample.ply - 1 else before.move)
