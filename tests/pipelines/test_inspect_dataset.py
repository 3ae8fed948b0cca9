"""inspect_dataset.py on small datasets of random games: what it shows, what it writes, and that it
finds what is wrong.
"""

import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (registers the filter)
import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from data.base import digests
from data.base.errors import Mistake
from data.build.builder import build
from data.build.executors import Executor
from data.build.options import BuildOptions, GameOptions
from data.dataset.check import verify
from data.dataset.layout import DatasetError
from data.dataset.rows import Rows, open_dataset
from data.dataset.sample import take_sample
from data.features.feature_set import ALPHAGO48
from data.game import symmetry
from data.game.coords import PASS, from_gtp, to_sgf
from data.records.record import GameRecord
from data.records.sgf import ReadOptions, read_games
from pipelines.drawing.text_boards import (
    NONE,
    SEVERAL,
    NoSuchPlane,
    bar,
    feature_lines,
    feature_names,
    feature_values,
    shades,
    side_by_side,
)
from pipelines.inspect_dataset import run
from pipelines.shell.configuration import CONF
from pipelines.shell.console import console
from pipelines.shell.environment import ROOT
from pipelines.shell.options import OptionError
from tests.support.boards import play_randomly
from tests.support.builds import edited, reseal

SIZE, GAMES = 9, 24
LAYOUTS = {"packed": ("packed", "none"), "plain": ("plain", "none"), "turned": ("plain", "all")}


class Quiet:
    def say(self, text): ...
    def begin(self, what, total, unit): ...
    def advance(self, done, **counts): ...
    def end(self): ...


def random_game(number: int) -> str:
    from data.game.board import Board

    rng = np.random.default_rng(number)
    board = Board(SIZE, ko="simple")
    setup, colours = "", "BW"
    if number % 4 == 0:
        setup, colours = "HA[2]AB[cc][gg]", "WB"
        board.setup(black=[20, 60])
        board.to_play = -1
    moves = list(play_randomly(board, rng, int(rng.integers(20, 60)), pass_chance=0.03))
    nodes = "".join(f";{colours[k % 2]}[{to_sgf(move, SIZE)}]" for k, move in enumerate(moves))
    result = ("B+3.5", "W+R", "Void", "W+T")[number % 4]
    names = f"PB[古力 {number}]PW[[w\\] {number}]BR[6d]WR[3k]DT[2020-01-02]"
    return f"(;GM[1]SZ[{SIZE}]KM[{6.5 - number % 3}]RE[{result}]{names}{setup}{nodes})"


@pytest.fixture(scope="module")
def datasets(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inspect")
    (folder / "games").mkdir()
    for number in range(GAMES):
        (folder / "games" / f"{number:03d}.sgf").write_text(random_game(number), encoding="utf-8")
    made = {}
    for name, (layout, augment) in LAYOUTS.items():
        made[name] = folder / f"{name}.h5"
        games = GameOptions(read=ReadOptions(size=SIZE), validation=0.2, test=0.2)
        build(
            BuildOptions(
                (str(folder / "games"),),
                made[name],
                games,
                layout=layout,
                augment=augment,
                executor=Executor(workers=1),
            ),
            Quiet(),
        )
    return made


@pytest.fixture
def damaged(datasets, tmp_path):
    """A copy to spoil: `damaged('packed')` opened for writing by name."""

    def copy(name: str) -> Path:
        path = tmp_path / f"{name}.h5"
        path.write_bytes(datasets[name].read_bytes())
        return path

    return copy


def inspect(*overrides: str) -> dict:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return run(compose("inspect_dataset", overrides=list(overrides)))


def said(*overrides: str) -> tuple[dict, str]:
    with console.capture() as capture:
        found = inspect(*overrides)
    return found, capture.get()


def rows_of(path: Path) -> Rows:
    return Rows(open_dataset(path))


# --- counts


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_summary_counts_what_is_in_the_file(datasets, name):
    found, text = said(f"dataset={datasets[name]}")
    summary = found["summary"]
    records = [
        read_games(random_game(number).encode(), source="", options=ReadOptions(size=SIZE))[0]
        for number in range(GAMES)
    ]
    played = sum(int((record.moves != PASS).sum()) for record in records)
    assert summary["games"] == GAMES and summary["positions"] == played
    assert (
        summary["rows"]
        == played * (8 if name == "turned" else 1)
        == sum(split["rows"] for split in summary["splits"].values())
    )
    assert summary["komi"] == {"6.5": 8, "5.5": 8, "4.5": 8} and summary["handicap"] == {
        "0": 18,
        "2": 6,
    }
    assert summary["results"] == {"points": 6, "resignation": 6, "time": 6, "void": 6}
    assert summary["ranks"] == {"10k-1k": 24, "6d": 24}
    heat = np.bincount(np.concatenate([record.moves for record in records]), minlength=362)
    assert np.array_equal(np.ravel(summary["heat"]["all"]), heat[: SIZE**2])
    assert sum(map(sum, summary["moves_by_line"].values())) == sum(
        len(record.moves) for record in records
    )
    assert sum(counts[5] for counts in summary["moves_by_line"].values()) == heat[PASS]
    for word in (
        "train",
        "validation",
        "Komi",
        "6.5",
        str(datasets[name]),
        f"layout {LAYOUTS[name][0]}",
        "bytes a position",
    ):
        assert word in text


def test_counting_needs_neither_numba_nor_matplotlib(datasets):
    code = f"""
import sys
from pipelines.inspect_dataset import run
from hydra import compose, initialize_config_dir
with initialize_config_dir({str(CONF)!r}, version_base="1.3"):
    run(compose("inspect_dataset", overrides=["dataset={datasets["packed"]}"]))
assert not {{"numba", "matplotlib", "torch"}} & set(sys.modules)
"""
    subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60, stdout=subprocess.DEVNULL
    )


# --- one position


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_sample_is_the_row_of_the_file_and_agrees_with_its_game(datasets, name):
    rows = rows_of(datasets[name])
    for row in (0, 1, rows.count // 2, rows.count - 1):
        sample = take_sample(rows, row)
        assert sample.problem == "" and sample.row == row and sample.split == rows.split_of(row)
        move = int(sample.record.moves[sample.ply])
        assert symmetry.forward(SIZE)[sample.symmetry, move] == sample.move
        assert (
            sample.to_play == sample.record.colours[sample.ply]
            and sample.outcome == sample.to_play * sample.record.winner
        )
        assert sample.colours().flat[sample.move] == 0


def test_the_sample_is_drawn_with_its_move_its_facts_and_its_planes(datasets):
    found, text = said(f"dataset={datasets['packed']}", "sample=30")
    sample = take_sample(rows_of(datasets["packed"]), 30)
    assert found["sample"]["move"] == sample.move and found["sample"]["game"] == sample.game
    assert f"({'X' if sample.to_play > 0 else 'O'})" in text
    assert (
        sample.record.black_name in text
        and sample.record.white_name in text
        and sample.record.source in text
    )
    last = next(line for line in text.splitlines() if line.startswith("move "))
    assert from_gtp(last.split(";")[0].split()[-1], SIZE) == sample.move
    for feature in feature_names("all"):
        assert feature in text


def test_planes_can_be_chosen(datasets):
    base = (f"dataset={datasets['packed']}", "sample=30")
    assert "liberties" not in said(*base, "planes=none")[1]
    _, text = said(*base, "planes=[liberties:3,own]")
    assert "liberties:3" in text and "own" in text and "opponent" not in text
    with pytest.raises(NoSuchPlane, match="planes=libertes: all, none, or a list of own, "):
        inspect(*base, "planes=libertes")


def test_a_random_sample_comes_from_its_split_and_again_with_its_seed(datasets):
    rows = rows_of(datasets["turned"])
    for split in ("train", "validation", "test"):
        first, stop = rows.bounds(split)
        chosen = [rows.choose("random", split, seed) for seed in range(20)]
        assert all(first <= row < stop for row in chosen) and len(set(chosen)) > 1
        assert rows.choose("random", split, 3) == rows.choose("random", split, 3)


def test_the_exported_game_is_the_samples_game_with_its_move_marked(datasets, tmp_path):
    path = tmp_path / "deeper" / "game.sgf"
    found = inspect(f"dataset={datasets['turned']}", "sample=301", f"sgf={path}", "planes=none")[
        "sample"
    ]
    text = path.read_text(encoding="utf-8")
    record = read_games(text.encode(), source="", options=ReadOptions(size=SIZE))[0]
    stored = take_sample(rows_of(datasets["turned"]), 301).record
    assert isinstance(record, GameRecord)
    assert np.array_equal(record.moves, stored.moves) and np.array_equal(
        record.setup_point, stored.setup_point
    )
    assert (
        record.black_name == stored.black_name
        and record.komi == stored.komi
        and record.result == stored.result
    )
    moves = [node for node in text.split(";") if node[:2] in ("B[", "W[")]
    assert "CR[" in moves[found["ply"]] and "row 301" in moves[found["ply"]]
    assert text.count("CR[") == 1


@pytest.mark.filterwarnings("error")  # no font here may know the players' names
def test_the_sheet_is_a_picture_that_shows_board_and_planes(datasets, tmp_path):
    from matplotlib.image import imread

    path = tmp_path / "sheet.png"
    inspect(f"dataset={datasets['turned']}", "sample=100", f"png={path}", "planes=none")
    assert path.read_bytes().startswith(b"\x89PNG")
    image = imread(path)
    assert image.shape[0] > 1000 and image.shape[1] > 2000
    # wood, stones, paper, cells
    assert len(np.unique(np.round(image[..., :3], 1).reshape(-1, 3), axis=0)) > 20
    assert [entry.name for entry in tmp_path.iterdir()] == ["sheet.png"]  # no temporary file


def test_every_plane_has_a_tile_of_its_own():
    from pipelines.drawing.plane_sheet import arrange

    tiles = arrange(ALPHAGO48)
    assert sorted(plane for _, _, plane, _ in tiles) == list(range(48))
    assert len({(row, column) for row, column, _, _ in tiles}) == 48
    assert {name for _, _, _, name in tiles} == set(ALPHAGO48.plane_names)


# --- verify


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("how", (["rows=50", "seed=1"], ["rows=all"], ["split=test"]))
def test_a_built_dataset_is_sound(datasets, name, how):
    found, text = said(f"dataset={datasets[name]}", "verify=true", *how)
    verdict = found["verdict"]
    assert verdict["sound"], verdict["problems"]
    rows = rows_of(datasets[name])
    first, stop = rows.bounds("test")
    assert (
        verdict["recomputed"]
        == {"rows=50": 50, "rows=all": rows.count, "split=test": min(1000, stop - first)}[how[0]]
    )
    assert text.count("\n") == 1 and "sound" in text


def test_a_flipped_bit_of_the_planes_is_found_and_named(damaged):
    path = damaged("packed")
    with edited(path) as file:
        planes = file["positions/planes"]
        row = planes[77]
        row[40, 0] ^= 0x80  # plane `own`, in the middle of the board
        planes[77] = row
    verdict = verify(rows_of(path), sample=None)
    assert (
        verdict.count == 1
        and "row 77" in verdict.problems[0]
        and "own at E5" in verdict.problems[0]
    )
    assert take_sample(rows_of(path), 77).problem and not take_sample(rows_of(path), 76).problem


@pytest.mark.parametrize("name", ("plain", "turned"))
@pytest.mark.parametrize("value", (3, None))
def test_a_changed_byte_of_the_states_is_found(damaged, name, value):
    """Also one that is true as well, but not 1."""
    path = damaged(name)
    with edited(path) as file:
        states = file["states"]
        states[77, 3, 4, 4] = value if value is not None else 1 - states[77, 3, 4, 4]
    verdict = verify(rows_of(path), sample=None)
    assert (
        verdict.count == 1
        and "row 77" in verdict.problems[0]
        and "ones at E5" in verdict.problems[0]
    )


SPOILED = {
    "packed": {
        "positions/move": "row 5: move is",
        "positions/ply": "row 5: ply is",
        "positions/game": "row 5: game is",
        "positions/to_play": "row 5: to_play is",
        "positions/outcome": "row 5: outcome is",
        "games/split": "split",
        "games/identity": "identity is not that of its moves",
        "games/opening": "opening",
        "games/winner": "outcome is",
        "games/moves": "the game says",
        "games/colours": "to_play is",
        "games/offset": "offset decreases",
        "games/first_row": "first_row decreases",
        "games/setup_point": "game ",
        "games/setup_ply": "set-up of game",
    },
    "turned": {
        "actions": "row 5: move is",
        "outcomes": "row 5: outcome is",
        "symmetry": "row 5: symmetry is",
        "ply": "row 5: ply is",
    },
}


@pytest.mark.parametrize(
    "name, column", [(name, column) for name, columns in SPOILED.items() for column in columns]
)
def test_every_spoiled_column_is_found(damaged, name, column):
    path = damaged(name)
    with edited(path) as file:
        values = file[column][:]
        at = 5 if len(values) > 8 else 1
        if column.endswith(("offset", "first_row")):
            values[at] = values[at - 1] - 1
        elif column == "games/setup_ply":
            values[at] = 3000
        elif column == "games/winner":
            values[at] = values[at] % 2 - (values[at] == 1)
        elif column.endswith(("to_play", "colours")):
            values[at] *= -1
        elif column.endswith(("outcome", "outcomes")):
            values[at] = 1 if values[at] <= 0 else -1
        elif column == "games/split":
            values[at] = 2 - values[at]
        else:
            values[at] += 1
        file[column][:] = values
    verdict = verify(rows_of(path), sample=None)
    assert not verdict.sound and SPOILED[name][column] in "\n".join(verdict.problems), (
        verdict.problems
    )


def test_a_move_that_is_not_possible_never_reaches_compiled_code(damaged):
    path = damaged("packed")
    with edited(path) as file:
        file["games/moves"][3] = 30_000
    verdict = verify(rows_of(path), sample=None)
    assert (
        verdict.problems == ["/games/moves[3] is 30000, which is not possible"]
        and verdict.recomputed == 0
    )
    assert "damaged" in take_sample(rows_of(path), 0).problem


def test_a_game_twice_and_an_opening_on_two_sides_are_found(damaged):
    path = damaged("packed")
    with edited(path) as file:
        for name in ("identity", "opening"):
            file[f"games/{name}"][0] = file[f"games/{name}"][GAMES - 1]
    text = "\n".join(verify(rows_of(path)).problems)
    assert "one game is there several times" in text and "on several sides" in text


def test_a_chunk_that_cannot_be_unpacked_is_a_finding_and_no_crash(damaged):
    path = damaged("packed")
    with h5py.File(path, "r") as file:
        info = file["positions/planes"].id.get_chunk_info(0)
    with path.open("r+b") as raw:
        raw.seek(info.byte_offset)
        raw.write(b"\xff" * 64)
    reseal(path)
    verdict = verify(rows_of(path), sample=None)
    assert not verdict.sound and "can't" in verdict.problems[0]


def test_many_problems_are_counted_and_some_listed(damaged):
    path = damaged("packed")
    with edited(path) as file:
        file["positions/outcome"][:] = 5
    verdict = verify(rows_of(path), sample=10)
    assert verdict.count > len(verdict.problems) == 20


def test_the_checksum_tells_of_what_nothing_else_can_compare(damaged):
    """A name, for instance: no move and no plane follows from it."""
    path = damaged("packed")
    data = path.read_bytes()
    at = data.index("古力 7".encode())
    path.write_bytes(data[:at] + b"XXX" + data[at + 3 :])
    found, text = said(f"dataset={path}", "verify=true")
    assert found["verdict"]["problems"] == [
        "its bytes have changed since it was written: the checksum differs"
    ]
    assert "the change is in names, dates, results" in text
    path.write_bytes(data[:at] + b"X" + data[at + 1 :])
    reseal(path)
    verdict = verify(rows_of(path))
    # a byte that no text may hold
    assert not verdict.sound and "black_name can't be read" in verdict.problems[0]


def test_a_file_without_a_checksum_is_told_apart(damaged):
    path = damaged("packed")
    path.write_bytes(path.read_bytes()[digests.BLOCK :])  # as older versions wrote it
    found, text = said(f"dataset={path}", "verify=true")
    assert (
        found["verdict"]["sound"]
        and not found["verdict"]["checksum"]
        and "made before checksums were written" in text
    )


# --- the command line


def call(*arguments: str) -> subprocess.CompletedProcess:
    script = str(ROOT / "pipelines" / "inspect_dataset.py")
    return subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, timeout=120
    )


def test_the_exit_code_tells_sound_unsound_and_misused_apart(datasets, damaged, tmp_path):
    path = damaged("packed")
    with edited(path) as file:
        file["positions/ply"][3] += 1
    sound = call(f"dataset={datasets['packed']}")
    assert sound.returncode == 0 and "Moves a game" in sound.stdout and not sound.stderr, (
        sound.stderr
    )
    unsound = call(f"dataset={path}", "verify=true", "rows=20")
    assert (
        unsound.returncode == 1
        and "row 3: ply" in unsound.stdout
        and "NOT SOUND, 1 problem;" in unsound.stdout
    )
    misused = call(f"dataset={datasets['packed']}", "sample=1000000", f"png={tmp_path}/x.png")
    assert (
        misused.returncode == 2
        and misused.stderr.count("\n") == 1
        and "Traceback" not in misused.stderr
    )


@pytest.mark.parametrize(
    "overrides, message",
    [
        (["sample=-1"], "the file has the rows 0 to"),
        (["sample=999999"], "sample=999999: the file has the rows 0 to"),
        (["sample=first"], "the number of a row"),
        (["sample=true"], "the number of a row"),
        (["sample=0", "split=test"], "sample=0: the split test has the rows"),
        (["split=tset"], "split=tset: one of train, validation, test"),
        (["png=x.png"], "say sample=0 or sample=random"),
        (["sample=0", "png={folder}"], "is a folder"),
        (["sample=0", "sgf={dataset}", "overwrite=true"], "is the dataset itself"),
        (["sample=0", "png={dataset}/x.png"], "can't be written"),
        (["verify=maybe"], "verify=maybe: true or false"),
        (["rows=0", "verify=true"], "rows=0: at least 1 is possible"),
        (["seed=-1"], "seed=-1: at least 0"),
    ],
)
def test_a_mistake_is_one_clear_line(datasets, overrides, message):
    path = datasets["packed"]
    with pytest.raises(Mistake, match=message) as caught:
        inspect(
            f"dataset={path}",
            *(text.format(dataset=path, folder=path.parent) for text in overrides),
        )
    assert "\n" not in str(caught.value)


def test_what_exists_is_overwritten_only_on_demand(datasets, tmp_path):
    path = tmp_path / "game.sgf"
    path.write_text("mine")
    with pytest.raises(OptionError, match="exists; name another file, or say overwrite=true"):
        inspect(f"dataset={datasets['packed']}", "sample=0", f"sgf={path}")
    assert path.read_text() == "mine"
    inspect(f"dataset={datasets['packed']}", "sample=0", f"sgf={path}", "overwrite=true")
    assert path.read_bytes().startswith(b"(;")


def test_a_file_that_is_no_dataset_is_refused(datasets, damaged, tmp_path):
    with pytest.raises(DatasetError, match="there is no such file"):
        inspect(f"dataset={tmp_path / 'none.h5'}")
    path = damaged("packed")
    with edited(path) as file:
        del file["games/komi"]
    with pytest.raises(DatasetError, match="games/komi is missing or damaged"):
        inspect(f"dataset={path}")
    path = damaged("plain")
    with edited(path) as file:
        del file.attrs["split_rows"]
    with pytest.raises(DatasetError, match="description is damaged"):
        inspect(f"dataset={path}")


# --- text


def test_a_group_is_drawn_as_the_numbers_of_its_planes():
    planes = np.zeros((48, 3, 3), np.uint8)
    first = ALPHAGO48.plane_names.index("liberties:1")
    planes[first, 0, 0] = planes[first + 7, 2, 1] = 1
    planes[first + 1, 1, 1] = planes[first + 2, 1, 1] = 1
    assert feature_values(planes, "liberties").tolist() == [
        [1, NONE, NONE],
        [NONE, SEVERAL, NONE],
        [NONE, 8, NONE],
    ]
    lines = feature_lines(planes, ["liberties", "ones"], 80, ascii_only=True)
    assert lines[2:6] == ["liberties", "1 . .", ". ! .", ". 8 ."] and lines[-1] == "ones: nowhere"


def test_blocks_stand_beside_each_other_as_far_as_there_is_room():
    blocks = [["a", "xxx"], ["b", "yyy"], ["c", "zzz"]]
    assert side_by_side(blocks, 10) == ["a      b", "xxx    yyy", "", "c", "zzz", ""]
    assert len(side_by_side(blocks, 1)) == 9


def test_shades_and_bars_grow_with_what_they_show():
    counts = np.arange(25).reshape(5, 5)
    drawn = "".join(shades("title", counts, ascii_only=True)[1:])
    assert (
        drawn[:2] == "  "
        and drawn[-2:] == "##"
        and [" .:*#".index(letter) for letter in drawn]
        == sorted(" .:*#".index(letter) for letter in drawn)
    )
    assert [bar(share, 4) for share in (0, 0.001, 0.5, 1)] == ["", "▏", "██", "████"]
    assert bar(0.5, 4, ascii_only=True) == "##"
