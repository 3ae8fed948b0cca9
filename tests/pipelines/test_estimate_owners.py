"""Who owned what when a game was over: games whose end leaves no doubt, and unfit files."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.dataset.owners import SURE, read_owners, write_owners
from data.game.coords import PASS
from data.loading.datamodule import GoDataModule
from mcts.rollouts.owners import believed
from models.learning.value_module import ValueModule
from models.nets.value_net import ResidualValueNet
from pipelines import build_dataset, estimate_owners
from pipelines.shell.configuration import CONF
from pipelines.shell.options import OptionError
from tests.support.builds import edited
from tests.support.tiny_dataset import make_dataset

WALL = 5  # the column of White's wall; Black's is beside it
DEAD = (1, 7)  # a black stone without hope, row and column


def run(*overrides: str) -> dict[str, Any]:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return estimate_owners.run(compose("estimate_owners", list(overrides)))


def build(folder: Path, records: Path) -> Path:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        settings = [
            "executor.workers=1",
            "size=9",
            "splits.validation=0",
            "splits.test=0",
            "value.handicap=true",
        ]
        build_dataset.run(
            compose(
                "build_dataset", [f"source={records}", f"output={folder / 'games.h5'}", *settings]
            )
        )
    return folder / "games.h5"


@pytest.fixture(scope="module")
def walled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished game: a wall from top to bottom, Black's to the left, a dead stone to the right."""
    folder = tmp_path_factory.mktemp("walled")
    (folder / "records").mkdir()
    black = [(row, WALL - 1) for row in range(9)] + [DEAD]
    white = [(row, WALL) for row in range(9)] + [(7, 7)]
    moves = [
        (colour, stones[k]) for k in range(10) for colour, stones in (("B", black), ("W", white))
    ]
    text = "".join(
        f";{colour}[{chr(97 + column)}{chr(97 + row)}]" for colour, (row, column) in moves
    )
    (folder / "records" / "game.sgf").write_text(f"(;GM[1]SZ[9]KM[0.5]RE[B+8.5]{text};B[];W[])")
    return build(folder, folder / "records")


def test_a_divided_board_is_owned_as_it_is_divided(walled: Path) -> None:
    found = run(f"dataset={walled}", "rollouts=400")
    file = DatasetFile(walled)
    assert file.games["moves"][-1] == PASS
    owners = read_owners(found["owners"], file)[0].reshape(9, 9) / SURE
    assert owners[:, WALL - 1].min() > 0.9 and owners[:, WALL].max() < -0.9  # the walls
    # and what is behind them, where some rollouts live
    assert owners[:, :WALL].min() > 0.4 and owners[:, WALL:].max() < -0.4
    assert owners[DEAD] < -0.6
    assert found["counted"] == {"games": 1, "same": 1.0} and found["resigned"]["games"] == 0


def test_rollouts_that_end_as_the_game_did_are_believed() -> None:
    leads = np.array([20.0, 3.5, -1.0, -30.0])
    counted = believed(leads, 1, 3.5, 8.0)
    assert counted.sum() == pytest.approx(1) and counted.argmax() == 1
    assert counted[0] / counted[1] == pytest.approx(np.exp(-0.5 * (16.5 / 8) ** 2))
    # White won, nobody knows by how much
    resigned = believed(leads, -1, np.nan, 8.0)
    assert resigned[2] == resigned[3] > resigned[1] > resigned[0]
    # none ends so: the nearest is all there is
    lost = believed(np.array([-500.0, -900.0]), 1, np.nan, 8.0)
    assert lost[0] == pytest.approx(1) and np.isfinite(lost).all()
    assert np.allclose(believed(leads, 1, 3.5, 1e9), 0.25)


def lead(folder: Path, header: str, doubt: float = 1.0, setup: str = "") -> float:
    """Return Black's area less White's, by the owners of an open game.

    It has few stones, and rollouts that end in all ways.
    """
    folder.mkdir()
    (folder / "records").mkdir()
    moves = ";W[ge];B[ce];W[gc];B[cg];W[gg];B[cc];W[ec];B[eg]"
    (folder / "records" / "game.sgf").write_text(f"(;GM[1]SZ[9]{header}{setup}{moves})")
    found = run(f"dataset={build(folder, folder / 'records')}", "rollouts=400", f"doubt={doubt}")
    return float(read_owners(found["owners"], DatasetFile(folder / "games.h5"))[0].sum() / SURE)


def test_owners_lean_to_how_the_game_was_recorded_to_end(tmp_path: Path) -> None:
    """All the way from the file: margin, komi, who won, and how sure that is."""
    alike = lead(tmp_path / "alike", "KM[0.5]RE[B+20.5]", doubt=1e9)
    assert lead(tmp_path / "black", "KM[0.5]RE[B+20.5]") == pytest.approx(21, abs=1.5)
    assert lead(tmp_path / "white", "KM[0.5]RE[W+20.5]") == pytest.approx(-20, abs=1.5)
    assert lead(tmp_path / "komi", "KM[20.5]RE[W+10.5]") == pytest.approx(10, abs=1.5)
    resigned = lead(tmp_path / "resigned", "KM[0.5]RE[W+R]")
    assert -20 < resigned < alike - 3 and lead(tmp_path / "other", "KM[0.5]RE[B+R]") > alike + 3


@pytest.mark.parametrize(
    ("rules", "compensation"), [("Japanese", 3), ("Chinese", 4), ("AGA", 3), ("NZ", 0)]
)
def test_black_owes_its_handicap_stones_where_area_is_counted(
    tmp_path: Path, rules: str, compensation: int
) -> None:
    stones = "AB[cd][gd][cf][gf]"
    found = lead(tmp_path / rules, f"HA[4]KM[0.5]RU[{rules}]RE[B+10.5]", setup=stones)
    assert found == pytest.approx(11 + compensation, abs=1.2)


def test_a_file_that_is_something_else_is_not_written_over(tmp_path: Path, walled: Path) -> None:
    copy = tmp_path / "games.h5"
    copy.write_bytes(walled.read_bytes())
    (tmp_path / "notes.txt").write_text("mine")
    for path in (copy, tmp_path / "notes.txt", tmp_path):
        with pytest.raises(
            estimate_owners.OwnerError, match="holds no owners; choose another name"
        ):
            run(f"dataset={copy}", f"owners={path}", "rollouts=1")
    assert (
        copy.read_bytes() == walled.read_bytes() and (tmp_path / "notes.txt").read_text() == "mine"
    )
    for _ in range(2):  # owners of before may go
        run(f"dataset={copy}", f"owners={tmp_path / 'owners.h5'}", "rollouts=1")


def test_owners_of_others_are_replaced_only_if_asked_for(tmp_path: Path, walled: Path) -> None:
    """Games of another dataset, and exact owners of these games, which took hours to play."""
    other = make_dataset(tmp_path, games=10, moves=10)
    file = DatasetFile(walled)
    exact = tmp_path / "exact.h5"
    write_owners(exact, file, np.zeros((file.game_count, 81), np.int8), {"exact": True})
    beside = run(f"dataset={other}", "rollouts=1")["owners"]
    for path, line in ((beside, "of other games than"), (exact, "did not estimate")):
        how = [f"dataset={walled}", f"owners={path}", "rollouts=1"]
        before = Path(path).read_bytes()
        with pytest.raises(estimate_owners.OwnerError, match=rf"{line}.*say overwrite=true"):
            run(*how)
        assert Path(path).read_bytes() == before
        run(*how, "overwrite=true")
        assert Path(path).read_bytes() != before
        run(*how)  # now it is a file of its own


@pytest.mark.parametrize(
    ("dataset", "owners"), [("games.h5", "games.owners.h5"), ("games.9x9", "games.9x9.owners.h5")]
)
def test_owners_stand_beside_their_dataset_as_a_build_names_them(
    tmp_path: Path, walled: Path, dataset: str, owners: str
) -> None:
    (tmp_path / dataset).write_bytes(walled.read_bytes())
    assert run(f"dataset={tmp_path / dataset}", "rollouts=1")["owners"] == str(tmp_path / owners)


def test_the_same_seed_gives_the_same_owners_with_any_number_of_threads(tmp_path: Path) -> None:
    dataset = make_dataset(tmp_path, games=100, moves=10)
    files = [
        run(f"dataset={dataset}", f"owners={tmp_path / f'{n}.h5'}", "rollouts=3", f"threads={n}")[
            "owners"
        ]
        for n in (1, 3)
    ]
    one, other = (read_owners(path, DatasetFile(dataset)) for path in files)
    assert np.array_equal(one, other) and one.any()


def test_files_that_are_not_this_datasets_owners(tmp_path: Path, walled: Path) -> None:
    other = make_dataset(tmp_path, games=10, moves=10)
    owners = run(f"dataset={other}", f"owners={tmp_path / 'other.h5'}", "rollouts=1")["owners"]
    file = DatasetFile(walled)
    with pytest.raises(DatasetError, match="other games"):
        read_owners(owners, file)
    assert read_owners(owners, DatasetFile(other)).any()
    (tmp_path / "fewer.h5").write_bytes(Path(owners).read_bytes())
    with edited(tmp_path / "fewer.h5") as held:
        held["value"][:] = 0
    with pytest.raises(DatasetError, match="misses games that may teach"):
        read_owners(tmp_path / "fewer.h5", DatasetFile(other))
    with pytest.raises(DatasetError, match="no such file"):
        read_owners(tmp_path / "nothing.h5", file)
    with pytest.raises(DatasetError, match="holds no owners"):
        read_owners(walled, file)
    (tmp_path / "cut.h5").write_bytes(Path(owners).read_bytes()[:700])
    with pytest.raises(DatasetError, match="not a readable file"):
        read_owners(tmp_path / "cut.h5", file)
    with edited(Path(owners)) as held:
        del held["owners"]
    with pytest.raises(DatasetError, match="not a readable file"):
        read_owners(owners, DatasetFile(other))
    with h5py.File(owners, "r+") as held:
        held["value"][0] = 1 - held["value"][0]
    with pytest.raises(DatasetError, match="the checksum differs"):
        read_owners(owners, DatasetFile(other))


@pytest.mark.parametrize(
    "wrong",
    ["rollouts=0", "rollouts=1000000000", "threads=0", "seed=-1", "doubt=0", "doubt=nan", "doubt=1e-200",
     "owners=/nowhere/there/owners.h5"],
)  # fmt: skip
def test_wrong_values_are_refused(walled: Path, wrong: str) -> None:
    with pytest.raises((OptionError, estimate_owners.OwnerError), match=wrong.split("=")[0]):
        run(f"dataset={walled}", wrong)


def test_a_module_says_what_it_lacks(walled: Path) -> None:
    with pytest.raises(ValueError, match=r"model\.net\.owners=true"):
        ValueModule(ResidualValueNet(filters=8, blocks=1), None, None, owner_weight=1.0)  # type: ignore[arg-type]
    net = ResidualValueNet(filters=8, blocks=1, owners=True)
    module = ValueModule(net, None, None, owner_weight=1.0)  # type: ignore[arg-type]
    options: dict[str, Any] = {"target": "value", "planes": 49, "batch_size": 4}
    data = GoDataModule(str(walled), **options)
    with pytest.raises(ValueError, match=r"loader\.owners"):
        module.judge(next(iter(data.train_dataloader())), validating=False)
    data = GoDataModule(
        str(walled), **options, owners=run(f"dataset={walled}", "rollouts=8")["owners"]
    )
    judged = module.judge(next(iter(data.train_dataloader())), validating=False)
    assert judged["loss"].item() == pytest.approx(
        (judged["mse"] + judged["owner_mse"]).item(), rel=1e-5
    )
