"""Value data by self-play as a file: one position a game, the same file whoever plays it and
however often it is stopped, and what the script says.
"""

import contextlib
import json
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from data.base.errors import Mistake
from data.build.executors import Executor
from data.build.options import BuildError
from data.build.report import CUT_OFF, EARLY, SURPLUS
from data.build.work_folder import OWNERS, path_beside, report_path, work_folder
from data.dataset.check import verify
from data.dataset.exact_owners import exact_owners
from data.dataset.file import DatasetFile
from data.dataset.owners import SURE, read_owners
from data.dataset.positions import read_labels
from data.dataset.rows import Rows
from data.features.encoders import encoder_of
from data.features.feature_set import ALPHAGO48, ZERO17
from data.game.board import Board
from data.game.coords import PASS
from data.loading.targets import Targets
from mcts.selfplay.value_data.recipe import draw_turn, kept
from pipelines import generate_positions
from pipelines.selfplay.positions_options import Options, job_of, read_supply
from pipelines.selfplay.positions_players import (
    NetPlayer,
    PlayerError,
    RolloutFile,
    hash_one,
    tell_apart,
)
from pipelines.selfplay.positions_report import describe
from pipelines.selfplay.positions_supply import AT_LEAST, PATIENCE, Quota
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.options import read
from tests.support.builds import Watcher, digest, edited
from tests.support.selfplay import (
    CORNERS,
    EVEN,
    ROOT,
    command,
    generate,
    make_job,
    played,
    rollout_file,
)

GAMES = 40


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    output = tmp_path_factory.mktemp("made") / "o.h5"
    return output, generate(output, games=GAMES)


def numbers_of(file: DatasetFile) -> list[int]:
    """The numbers of the games, from their sources."""
    return [int(source.partition("!")[2]) for source in file.column("source").tolist()]


# --- the file


def test_the_file_is_sound_and_has_one_position_a_game(made: tuple[Path, dict[str, Any]]) -> None:
    file = DatasetFile(made[0])
    assert verify(Rows(file), sample=None).problems == []
    assert len(file) == file.game_count == GAMES
    assert np.diff(file.first_row).tolist() == [1] * GAMES
    labels = read_labels(file, np.arange(GAMES))
    assert labels["ply"].tolist() == file.column("only_ply").tolist()
    assert labels["ply"].tolist() == [draw_turn(1, number, 31) for number in numbers_of(file)]
    assert set(file.column("server")) == {"program"}
    assert set(file.column("black_name")) == {"even"}
    assert file.games["komi"][0] == 7.5 and file.passes


def test_a_row_at_another_ply_than_the_game_says_is_found(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    for game, ply in ((3, 0), (5, 1000), (7, -1)):
        path = tmp_path / f"{game}.h5"
        path.write_bytes(made[0].read_bytes())
        with edited(path) as file:
            file["games/only_ply"][game] = ply
        problems = verify(Rows(DatasetFile(path)), sample=None).problems
        assert any(str(game) in problem for problem in problems), problems


def test_the_first_usable_games_are_kept_and_the_others_are_counted(
    made: tuple[Path, dict[str, Any]],
) -> None:
    games = played(make_job(), 96)
    usable = [game.number for game in games if kept(game) is not None]
    assert sorted(numbers_of(DatasetFile(made[0]))) == usable[:GAMES]
    tasks = -(-(usable[GAMES - 1] + 1) // 16)  # of 16 games
    unusable = tasks * 16 - sum(number < tasks * 16 for number in usable)
    report = made[1]
    replaced = [report["dropped"][reason]["games"] for reason in (EARLY, CUT_OFF)]
    assert min(replaced) > 0 and sum(replaced) == unusable
    assert report["dropped"][EARLY]["examples"][0].startswith("selfplay!")
    surplus = tasks * 16 - unusable - GAMES
    assert report["dropped"].get(SURPLUS, {"games": 0})["games"] == surplus
    assert report["games_seen"] == tasks * 16 and report["games_kept"] == GAMES
    assert json.loads(report_path(made[0]).read_text())["positions"] == GAMES


def test_rows_are_the_position_after_move_u_and_its_result(
    made: tuple[Path, dict[str, Any]],
) -> None:
    file = DatasetFile(made[0])
    games = {game.number: game for game in played(make_job(), 96)}
    labels, planes = read_labels(file, np.arange(GAMES)), file.positions["planes"][:]
    encoder = encoder_of(ALPHAGO48)
    for row, number in enumerate(numbers_of(file)):
        position = kept(games[number])
        assert position is not None
        board = Board(5)
        for move in games[number].moves[: position.ply].tolist():
            board.play(move)
        assert (encoder.packed(board) == planes[row]).all()
        assert labels["to_play"][row] == position.to_play == board.to_play
        assert labels["outcome"][row] == position.outcome
        assert labels["move"][row] == games[number].moves[position.ply]
    assert len(set(labels["outcome"].tolist())) == 2


def test_owners_are_exact_and_sum_to_the_score_of_the_player_to_move(
    made: tuple[Path, dict[str, Any]],
) -> None:
    file = DatasetFile(made[0])
    path = made[0].with_name("o.owners.h5")
    owners = read_owners(path, file)
    games = {game.number: game for game in played(make_job(), 96)}
    for row, number in enumerate(numbers_of(file)):
        assert (owners[row] == games[number].owner * SURE).all()
    targets = Targets(file, ["result", "score"], owners)
    labels = read_labels(file, np.arange(GAMES))
    batch = targets.batch(labels, np.zeros(GAMES, np.uint8))
    lead = batch["owner"].sum(axis=1) - file.games["komi"][:] * labels["to_play"]
    np.testing.assert_allclose(lead, batch["score"])
    assert (np.sign(lead) == batch["result"]).all()


def test_the_loader_takes_the_file_alone_and_as_the_second_of_two(
    made: tuple[Path, dict[str, Any]],
) -> None:
    from data.loading.datamodule import GoDataModule

    path, owners = str(made[0]), str(made[0].with_name("o.owners.h5"))
    file = DatasetFile(path)
    how: dict[str, Any] = {"target": "value", "targets": ["result", "score"], "batch_size": 8}
    alone = next(iter(GoDataModule(path, owners=owners, **how).train_dataloader()))
    both = next(iter(GoDataModule(path, mixed=path, mixed_owners=owners, **how).train_dataloader()))
    for batch, rows in ((alone, slice(None)), (both, slice(6, None))):
        game, ply = batch["game"][rows].numpy(), batch["ply"][rows].numpy()
        assert (file.column("only_ply")[game] == ply).all()
        komi = batch["owner"][rows].sum(1) - batch["score"][rows]  # of the player to move
        assert set(komi.tolist()) <= {7.5, -7.5}
    assert both["mixed"].tolist() == [0] * 6 + [1] * 2


def test_other_planes_of_the_same_games(made: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    generate(tmp_path / "o.h5", features=ZERO17)
    file = DatasetFile(tmp_path / "o.h5")
    assert file.features == ZERO17 and verify(Rows(file), sample=None).problems == []
    assert numbers_of(file) == numbers_of(DatasetFile(made[0]))


@pytest.mark.parametrize(
    "options",
    [
        {"executor": Executor(workers=2)},
        {"games_a_task": 7},
        {"games_a_task": 40, "at_once": 40},
        {"at_once": 1},
    ],
    ids=str,
)
def test_the_same_file_however_the_work_is_cut(
    made: tuple[Path, dict[str, Any]], tmp_path: Path, options: dict[str, Any]
) -> None:
    generate(tmp_path / "o.h5", games=GAMES, **options)
    assert digest(tmp_path / "o.h5") == digest(made[0])
    assert digest_of_owners(tmp_path / "o.owners.h5") == digest_of_owners(
        made[0].with_name("o.owners.h5")
    )


def digest_of_owners(path: Path) -> bytes:
    import h5py

    with h5py.File(path, "r") as file:
        return b"".join(file[name][:].tobytes() for name in ("owners", "identity", "value"))


def test_other_seeds_players_and_rollouts_give_other_games(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    found = {digest(made[0])["games/moves"]}
    for k, options in enumerate(
        [{"seed": 2}, {"sl": CORNERS}, {"rl": CORNERS}, {"rl": rollout_file()}, {"temperature": 2}]
    ):
        output = tmp_path / f"{k}.h5"
        generate(output, games=10, games_a_task=10, **options)
        file = DatasetFile(output)
        assert verify(Rows(file), sample=None).problems == []
        assert (exact_owners(file) == read_owners(path_beside(output, OWNERS), file)).all()
        found.add(digest(output)["games/moves"])
        file.close()
    assert len(found) == 6


def test_a_position_may_be_followed_by_a_pass(tmp_path: Path) -> None:
    output = tmp_path / "o.h5"
    generate(output, games=60, games_a_task=60, size=3, turns=700)
    file = DatasetFile(output)
    assert (read_labels(file, np.arange(len(file)))["move"] == PASS).any()
    assert verify(Rows(file), sample=None).problems == []


# --- games that are the same, or never usable


def test_a_game_that_was_there_before_is_replaced_too(tmp_path: Path) -> None:
    """The best move always: on 3x3 only the random moves tell games apart."""
    report = generate(tmp_path / "o.h5", games=12, games_a_task=8, size=3, turns=120, temperature=0)
    file = DatasetFile(tmp_path / "o.h5")
    assert report["dropped"]["duplicate"]["games"] > 0 and report["games_kept"] == 12
    assert len(np.unique(file.games["identity"][:])) == 12
    assert verify(Rows(file), sample=None).problems == []


def test_a_recipe_that_never_gives_enough_ends_with_one_line(tmp_path: Path) -> None:
    options = {"games": 30, "games_a_task": 400, "size": 2, "turns": 90, "temperature": 0}
    with pytest.raises(
        BuildError, match=r"only \d+ of 1,\d00 games can be kept: .* smaller turns="
    ):
        generate(tmp_path / "o.h5", **options, at_once=400)
    assert not (tmp_path / "o.h5").exists()


def test_tasks_are_handed_out_until_enough_will_be_usable(tmp_path: Path) -> None:
    class Folder:
        def games(self, part: int) -> Path:
            return tmp_path / str(part)

    quota = Quota(make_job(), Folder(), games_a_task=10, wanted=40)  # type: ignore[arg-type]
    tasks = quota.tasks()
    first = [next(tasks) for _ in range(5)]
    assert [(task.first, task.stop) for task in first if task] == [
        (0, 10), (10, 20), (20, 30), (30, 40),
    ]  # fmt: skip
    assert first[4] is None, "as many as are wanted are in work"
    quota.take({"games": 5, "rejects": 5})
    assert sum(next(tasks) is not None for _ in range(8)) == 4, "half of them are usable"
    while quota.played < quota.handed_out:
        quota.take({"games": 5, "rejects": 5})
    assert list(tasks) == [] and quota.usable >= 40


def test_a_hopeless_recipe_is_given_up_however_many_games_are_wanted(tmp_path: Path) -> None:
    quota = Quota(make_job(), None, games_a_task=10, wanted=100_000)  # type: ignore[arg-type]
    quota.take({"games": 0, "rejects": AT_LEAST})
    quota.check(0)
    quota.take({"games": 100, "rejects": 1})
    quota.check(quota.usable)
    quota.take({"games": 0, "rejects": 100 * PATIENCE})
    with pytest.raises(BuildError, match=r"only 100 of 3,101 games"):
        quota.check(quota.usable)


def test_games_that_are_cut_off_are_replaced_and_counted(tmp_path: Path) -> None:
    output = tmp_path / "o.h5"
    report = generate(output, games=30, games_a_task=60, most_turns=32)
    file = DatasetFile(output)
    assert np.diff(file.games["offset"][:]).max() <= 32
    cut = report["dropped"][CUT_OFF]["games"]
    assert report["endings"]["too long"] == cut > 0
    assert sum(report["endings"].values()) == report["games_seen"]
    games = played(make_job(most_turns=32), report["games_seen"])
    assert {games[number].ending for number in numbers_of(file)} == {"two passes"}


@pytest.mark.parametrize(("at_once", "least", "most"), [(1, 1, 1), (8, 5, 8)])
def test_the_report_tells_how_full_the_batches_were(
    tmp_path: Path, at_once: int, least: float, most: float
) -> None:
    report = generate(tmp_path / "o.h5", games=20, games_a_task=32, at_once=at_once)
    assert least <= report["mean_batch"] <= most
    assert f"answered {report['mean_batch']:g} positions at once" in "\n".join(
        describe(report, tmp_path / "o.h5", 80)
    )


# --- stopped, finished, refused


class Stopped(Exception):
    pass


class Stopper(Watcher):
    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    def advance(self, done: int, **counts: int) -> None:
        super().advance(done, **{name: int(count) for name, count in counts.items()})
        self.left -= 1
        if self.left < 0:
            raise Stopped


@pytest.mark.parametrize("after", [0, 2, 4])
def test_a_stopped_run_goes_on_and_makes_the_same(
    made: tuple[Path, dict[str, Any]], tmp_path: Path, after: int
) -> None:
    output = tmp_path / "o.h5"
    with pytest.raises(Stopped):
        generate(output, watcher=Stopper(after), games=GAMES)
    before = {path: path.stat().st_mtime_ns for path in work_folder(output).glob("games*.h5")}
    assert not output.exists() and len(before) > 0
    watcher = Watcher()
    generate(output, watcher=watcher, games=GAMES)
    assert any("going on" in text for text in watcher.said)
    assert digest(output) == digest(made[0])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "o.h5", "o.h5.report.json", "o.owners.h5",
    ]  # fmt: skip


def test_another_recipe_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "o.h5"
    with pytest.raises(Stopped):
        generate(output, watcher=Stopper(1), games=GAMES)
    for options, what in (
        ({"seed": 2}, "config.selfplay.seed: there 1, here 2"),
        ({"sl": CORNERS}, "source sl corners: here, not there"),
        ({"at_once": 4}, "config.parts.at_once: there 8, here 4"),
    ):
        with pytest.raises(BuildError, match="was made from something else") as refused:
            generate(output, games=GAMES, **options)
        assert what in str(refused.value)
    assert generate(output, games=GAMES, seed=2, overwrite=True)["resumed"] is False


def test_a_finished_file_is_left_alone(tmp_path: Path) -> None:
    output = tmp_path / "o.h5"
    first = generate(output, games=10)
    owners = tmp_path / "o.owners.h5"
    before, content = output.stat().st_mtime_ns, digest_of_owners(owners)
    watcher = Watcher()
    assert generate(output, watcher=watcher, games=10, at_once=3)["seconds"] == first["seconds"]
    assert "nothing to do" in watcher.said[-1] and output.stat().st_mtime_ns == before
    with pytest.raises(BuildError, match=r"config.selfplay.games: there 10, here 11"):
        generate(output, games=11)
    owners.unlink()
    generate(output, watcher=watcher, games=10)
    assert digest_of_owners(owners) == content
    assert any("o.owners.h5 is gone; it is made again" in s for s in watcher.said)


@pytest.mark.parametrize("first", [20, 60])
def test_a_stopped_run_goes_on_with_another_number_of_games(
    made: tuple[Path, dict[str, Any]], tmp_path: Path, first: int
) -> None:
    output = tmp_path / "o.h5"
    with pytest.raises(Stopped):
        generate(output, watcher=Stopper(3), games=first)
    assert len(list(work_folder(output).glob("games*.h5"))) > 1
    watcher = Watcher()
    assert generate(output, watcher=watcher, games=GAMES)["resumed"]
    assert any("going on" in text for text in watcher.said)
    assert digest(output) == digest(made[0])


# --- the file of owners


@pytest.mark.parametrize(
    ("output", "owners"),
    [
        ("kgs.h5", "kgs.owners.h5"),
        ("kgs", "kgs.owners.h5"),
        ("self.s1", "self.s1.owners.h5"),
        ("a.hdf5", "a.hdf5.owners.h5"),
        ("x.owners.h5", "x.owners.owners.h5"),
    ],
)
def test_names_of_owners(output: str, owners: str) -> None:
    assert path_beside(Path("there") / output, OWNERS) == Path("there") / owners


def test_owners_of_another_dataset_are_not_replaced(tmp_path: Path) -> None:
    generate(tmp_path / "kgs.h5", games=5)
    owners = tmp_path / "kgs.owners.h5"
    content = owners.read_bytes()
    with pytest.raises(BuildError, match=r"kgs.owners.h5 is there already .* overwrite=true"):
        generate(tmp_path / "kgs", games=5, seed=2)
    assert owners.read_bytes() == content and not (tmp_path / "kgs").exists()
    assert not work_folder(tmp_path / "kgs").exists()
    generate(tmp_path / "kgs", games=5, seed=2, overwrite=True)
    with pytest.raises(BuildError, match=r"kgs.owners.h5 does not hold the owners of kgs.h5"):
        generate(tmp_path / "kgs.h5", games=5)
    owners.unlink()
    generate(tmp_path / "kgs.h5", games=5)
    assert len(read_owners(owners, DatasetFile(tmp_path / "kgs.h5"))) == 5


def test_any_other_file_by_the_name_of_the_owners_is_left_alone(tmp_path: Path) -> None:
    owners = tmp_path / "o.owners.h5"
    owners.write_bytes(b"hours of work")
    with pytest.raises(BuildError, match="belongs to something else"):
        generate(tmp_path / "o.h5", games=5)
    assert owners.read_bytes() == b"hours of work"


def test_owners_that_appear_while_games_are_played_are_left_alone(tmp_path: Path) -> None:
    class Other(Watcher):
        def begin(self, what: str, total: int | None, unit: str) -> None:
            super().begin(what, total, unit)
            (tmp_path / "o.owners.h5").write_bytes(b"of another run")

    with pytest.raises(BuildError, match="belongs to something else"):
        generate(tmp_path / "o.h5", watcher=Other(), games=5)
    assert (tmp_path / "o.owners.h5").read_bytes() == b"of another run"
    (tmp_path / "o.owners.h5").unlink()
    assert generate(tmp_path / "o.h5", games=5)["resumed"]


def test_owners_alone_are_replaced_by_the_same_recipe(tmp_path: Path) -> None:
    generate(tmp_path / "o.h5", games=5)
    (tmp_path / "o.h5").unlink()
    generate(tmp_path / "o.h5", games=5)
    with pytest.raises(BuildError, match="belongs to something else"):
        (tmp_path / "o.h5").unlink()
        generate(tmp_path / "o.h5", games=6)


@pytest.mark.parametrize("renames", [0, 1, 2, 3])
def test_overwriting_that_stops_between_the_renames_leaves_no_wrong_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    output, old, new = tmp_path / "o.h5", {"games": 5}, {"games": 6, "seed": 2}
    generate(output, **old)
    replace, left = Path.replace, renames

    def stopping(self: Path, target: Path) -> Path:
        nonlocal left
        if self.parent == work_folder(output) and target.parent == tmp_path:
            left -= 1
            if left < 0:
                raise Stopped
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stopping)
        with contextlib.suppress(Stopped):
            generate(output, **new, overwrite=True)
    first, second = (old, new) if renames == 0 else (new, old)
    with pytest.raises(BuildError, match="was made from something else"):
        generate(output, **second)
    generate(output, **first)
    assert len(read_owners(path_beside(output, OWNERS), DatasetFile(output))) == first["games"]


def test_a_player_is_opened_once_and_another_file_in_its_place_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes((ROOT / "models" / "pretrained" / "rollout.safetensors").read_bytes())
    player = RolloutFile.of(path, 5, 1.0)
    assert player.open() is player.open() is RolloutFile(path, hash_one(path), 5, 1.0).open()
    path.write_bytes(b"another")
    assert player.open(), "it is open already"
    for late in (
        RolloutFile(path, player.sha256, 7),
        NetPlayer(path, player.sha256, "fp32", "cpu"),
    ):
        with pytest.raises(PlayerError, match="another file than when the work began"):
            late.open()


def test_a_net_is_told_from_another_file_of_it_and_from_rollouts() -> None:
    folder = ROOT / "models" / "pretrained"
    files = [f"sl={folder / 'policy.int8.onnx'}", f"rl={folder / 'policy.safetensors'}"]
    two = job_of(read(Options, plain(composed("output=o.h5", *files))))
    assert two.recipe.rl == 1 and two.sl.sha256 == two.rl.sha256
    card = f"sl={folder / 'policy.json'}"
    same = job_of(read(Options, plain(composed("output=o.h5", card))))
    assert same.recipe.rl == 0 and same.rl == same.sl
    words = [card, "rl=rollout", f"rollout={folder / 'policy.json'}"]
    wrong = job_of(read(Options, plain(composed("output=o.h5", *words))))
    assert isinstance(wrong.rl, RolloutFile) and wrong.recipe.rl == 1
    with pytest.raises(Mistake, match=r"policy.json"):
        wrong.rl.open()


def test_engine_and_device_are_chosen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import models.answering.open as door

    path = ROOT / "models" / "pretrained" / "policy.json"
    here = NetPlayer.of(path, "auto", "cpu", 1)
    assert (here.engine, here.device) == ("int8", "cpu")
    assert here.open().face.name == door.open_net(path, device="cpu").face.name
    monkeypatch.setattr(door, "can_run_onnx", lambda: False)
    there = NetPlayer.of(path, "auto", "cpu", 1)
    assert there.engine in ("bf16", "fp32")
    first, second = (make_job(sl=player) for player in (here, there))
    assert first.describe()["sl_engine"] == "int8 on cpu" != second.describe()["sl_engine"]
    assert NetPlayer.of(path, "fp32", "cuda", 1).device == "cuda", "a name is taken as it is"


def test_games_take_turns_where_a_gpu_answers() -> None:
    cpu, gpu = (NetPlayer(Path("a"), "0", "fp32", device) for device in ("cpu", "cuda:1"))
    assert make_job(sl=cpu).crews == make_job(sl=EVEN).crews == 1
    assert make_job(sl=gpu).crews == make_job(sl=cpu, rl=gpu).crews == 2


def test_players_of_one_file_name_are_told_apart() -> None:
    def net(path: str, digit: str) -> NetPlayer:
        return NetPlayer(Path(path), digit * 64, "fp32", "cpu")

    one = net("/nets/a/policy.json", "1")
    assert tell_apart(one, net("/nets/a/rl.json", "2")) == ("policy.json", "rl.json")
    assert tell_apart(one, net("/nets/b/policy.json", "2")) == ("a/policy.json", "b/policy.json")
    assert tell_apart(one, net("/more/a/policy.json", "2")) == (
        "policy.json 11111111", "policy.json 22222222",
    )  # fmt: skip
    assert tell_apart(one, one) == ("policy.json", "policy.json")


# --- the script


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from tests.support.tiny_nets import PLAIN_POLICY, tiny_net, write_checkpoint

    folder = tmp_path_factory.mktemp("nets")
    found = {}
    for seed, name in enumerate(("sl", "rl")):
        arguments = {**PLAIN_POLICY, "size": 5}
        found[name] = write_checkpoint(
            folder / f"{name}.ckpt", tiny_net(arguments, seed)[0], arguments, size=5
        )
    return found


def composed(*overrides: str) -> Any:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("generate_positions", list(overrides))


def test_the_script_plays_nets_and_says_what_it_made(
    nets: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "o.h5"
    report = generate_positions.run(
        composed(
            f"output={output}",
            f"sl={nets['sl']}",
            f"rl={nets['rl']}",
            "size=5",
            "games=6",
            "executor.workers=1",
            "device=cpu",
            "seed=5",
        )
    )
    said = capsys.readouterr().out.replace("\n", " ")
    file = DatasetFile(output)
    assert verify(Rows(file), sample=None).problems == [] and report["positions"] == 6
    assert set(file.column("black_name")) == {"sl.ckpt then rl.ckpt"}
    assert [source["label"] for source in file.sources] == ["sl sl.ckpt", "rl rl.ckpt"]
    for words in (
        f"dataset: {output}",
        "owners:",
        "inspect_dataset",
        "loader.mixed_owners=",
        "Black won",
    ):
        assert words in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sl=nowhere.json"], "nowhere.json: there is no such file"),
        (["rl=rollout", "rollout=nowhere.safetensors"], "there is no such file"),
        (["turns=723"], "turns=723: the random move would be one of the first 50"),
        (["splits.test=1"], "must leave something for training"),
        (["games=0"], "games=0"),
        (["engine=fast"], "engine=fast"),
        (["parts.rows=100"], "parts.rows=100: a multiple of 256"),
        (["size=7"], "is for boards from 2 to 5, not for 7"),
        ([f"sl={ROOT / 'models' / 'pretrained' / 'value.json'}", "size=19"], "names no moves"),
    ],
)
def test_mistakes_are_one_line(
    nets: dict[str, Path], tmp_path: Path, words: list[str], message: str
) -> None:
    sl = [] if any(word.startswith("sl=") for word in words) else [f"sl={nets['sl']}"]
    with pytest.raises(Mistake) as refused:
        cfg = composed(f"output={tmp_path / 'o.h5'}", "size=5", "executor.workers=1", *sl, *words)
        read_supply(plain(cfg))
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_the_report_names_what_was_replaced(made: tuple[Path, dict[str, Any]]) -> None:
    lines = list(describe(made[1], made[0], 80))
    replaced = sum(made[1]["dropped"][reason]["games"] for reason in (EARLY, CUT_OFF))
    assert lines[0] == f"Replaced: {replaced} games"
    assert sum(reason in line for line in lines for reason in (EARLY, CUT_OFF)) == 2
    assert not any(SURPLUS in line for line in lines)
    assert any(line.startswith("40 positions of ") for line in lines)


# --- slow: killed, and on a cluster


def kill_at(output: Path, workers: int, parts: int, delay: float) -> bool:
    """Whether a run was killed once that many parts were there, and a moment later."""
    process = subprocess.Popen(
        command(output, workers, 120),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if len(list(work_folder(output).glob("[gp]*.h5"))) >= parts:
            time.sleep(delay)
            break
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_killed_at_20_random_moments_and_resumed_it_makes_the_same(tmp_path: Path) -> None:
    whole, output = tmp_path / "whole.h5", tmp_path / "there" / "o.h5"
    generate(whole, games=120)
    rng = random.Random(20)
    output.parent.mkdir()
    killed = 0
    for number in range(20):
        parts = min(number // 2, 8) if number % 5 else rng.randint(0, 8)
        killed += kill_at(output, 1 + number % 2, parts, rng.random() * 0.3)
        if output.exists():  # it was faster than the kill: begin again
            output.unlink()
    assert killed >= 12
    finished = subprocess.run(command(output, 2, 120), cwd=ROOT, timeout=300)
    assert finished.returncode == 0
    assert digest(output) == digest(whole)
    assert digest_of_owners(output.with_suffix(".owners.h5")) == digest_of_owners(
        whole.with_suffix(".owners.h5")
    )
    names = sorted(path.name for path in output.parent.iterdir())
    assert names == ["o.h5", "o.h5.report.json", "o.owners.h5"]


@pytest.fixture
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="wants the extra cluster")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as cluster:
        yield cluster


@pytest.mark.slow
def test_a_worker_of_a_cluster_that_is_killed_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    generate(tmp_path / "alone.h5", games=200)
    killed = threading.Event()

    class Killer(Watcher):
        def advance(self, done: int, **counts: int) -> None:
            super().advance(done, **counts)
            if self.unit == "positions" and self.now["positions"] and not killed.is_set():
                killed.set()
                next(iter(cluster.workers.values())).process.process._process.kill()

    watcher = Killer()
    executor = Executor("dask", address=cluster.scheduler_address)
    report = generate(tmp_path / "o.h5", watcher=watcher, games=200, executor=executor)
    assert killed.is_set() and report["games_kept"] == 200
    assert digest(tmp_path / "o.h5") == digest(tmp_path / "alone.h5")
    numbers = numbers_of(DatasetFile(tmp_path / "o.h5"))
    assert len(set(numbers)) == 200
