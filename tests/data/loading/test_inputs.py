"""What nets take, by a slow second opinion: uniform planes, hidden conditions, replayed planes."""

from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate

from data.base.errors import Mistake
from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.layout import DatasetError
from data.features.feature_set import ALPHAGO48, ZERO18
from data.features.uniform import CONDITIONS, SOURCES
from data.loading.datamodule import GoDataModule
from data.loading.loader import Loader
from data.loading.order import Candidates, EvaluationOrder, TrainOrder, hide
from data.loading.pattern_datamodule import PatternDataModule
from data.loading.planes import ReplayedPlanes, StoredPlanes, choose_inputs
from tests.support.builds import build_here
from tests.support.own_games import collect, write_zip
from tests.support.paths import ROOT
from tests.support.small_dataset import write_dataset

EXTRAS = ["black_to_play", "white_to_play", "komi", "own_rank", "opponent_rank", "source", "year"]
SMALL: dict[str, Any] = {"batch_size": 16, "pool_rows": 200}
FILES = {"alphago48": (ALPHAGO48, False), "zero18": (ZERO18, True)}  # features, rows of passes


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Random bits, and games of which much is known."""
    return str(write_dataset(tmp_path_factory.mktemp("small") / "small.h5"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same games in files of two sets."""
    folder = tmp_path_factory.mktemp("built")
    write_zip(folder / "games.zip", collect(25))
    for name, (features, passes) in FILES.items():
        output = folder / f"{name}.h5"
        build_here(folder / "games.zip", output, features=features, passes=passes)
    return {name: str(folder / f"{name}.h5") for name in FILES}


def stored(file: DatasetFile, *extras: str) -> StoredPlanes:
    return StoredPlanes(file, choose_inputs(file, False, extras=extras))


def rank_code(rank: int) -> int:
    names = [0, *range(-30, 0), *range(1, 10), None, *range(11, 20)]
    return names.index(rank) if rank in names else 40


def slow_byte(file: DatasetFile, row: int, name: str) -> int:
    """One uniform plane of one row, from the columns of the file."""
    game, to_play = (int(file.positions[column][row]) for column in ("game", "to_play"))
    own, other = ("black", "white") if to_play == 1 else ("white", "black")
    date, server = file.column("date")[game], file.column("server")[game]
    if name == "komi":
        points = file.area_komi[game]
        return 128 if np.isnan(points) else int(128 - 2 * to_play * points)
    return {
        "black_to_play": int(to_play == 1),
        "white_to_play": int(to_play == -1),
        "own_rank": rank_code(int(file.games[f"{own}_rank"][game])),
        "opponent_rank": rank_code(int(file.games[f"{other}_rank"][game])),
        "source": SOURCES.index(server) + 1 if server in SOURCES else 0,
        "year": int(date[:4]) - 1799 if date else 0,
    }[name]


@pytest.mark.parametrize("names", [EXTRAS, EXTRAS[::-1], ["year"], []])
def test_uniform_planes_follow_the_stored_ones(small: str, names: list[str]) -> None:
    file = DatasetFile(small)
    order = TrainOrder(Candidates(*file.split_rows["train"]), 16, pool_rows=200)
    plain = Loader(file, order).batches()
    batches = Loader(file, order, stored(file, *names)).batches()
    for batch, without in islice(zip(batches, plain, strict=True), 3):
        planes = batch["planes"]
        assert planes.shape == (16, 9, 9, 48 + len(names)) and planes.flags.c_contiguous
        assert np.array_equal(planes[..., :48], without["planes"])
        for i, row in enumerate(batch["row"]):
            expected = [slow_byte(file, int(row), name) for name in names]
            assert (planes[i, :, :, 48:] == np.array(expected, np.uint8)).all()


def test_older_numbers_of_planes_are_those_with_extras(small: str) -> None:
    older, named = (
        next(iter(GoDataModule(small, **SMALL, **more).train_dataloader()))["planes"]
        for more in ({"planes": 50}, {"extras": ["black_to_play", "komi"]})
    )
    assert torch.equal(older, named)
    assert GoDataModule(small, planes=50).inputs == choose_inputs(
        DatasetFile(small), False, planes=49, extras=["komi"]
    )


# --- hidden conditions


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.7, 1.0])
def test_each_condition_is_hidden_as_often_as_was_asked_for(share: float) -> None:
    rows = np.arange(40_000)
    hidden = hide(rows, share, 5, 2)
    bits = (hidden[:, None] >> np.arange(len(CONDITIONS))) & 1
    assert np.allclose(bits.mean(0), share, atol=0.012)
    found = Counter(hidden.tolist())
    if 0 < share < 1:
        # all that is possible happens, and all at once more often than by chance
        assert len(found) == 1 << len(CONDITIONS)
        assert found[15] / len(rows) > share / 2 - 0.01
        ranks = bits[:, [CONDITIONS.index("own_rank"), CONDITIONS.index("opponent_rank")]]
        assert ranks.all(1).mean() > 0.6 * share
        # the colours of rows and the orders of batches are other draws
        assert abs(np.corrcoef(hidden == 15, rows % 2)[0, 1]) < 0.02
    again, other = hide(rows, share, 5, 2), hide(rows, share, 5, 3)
    assert np.array_equal(again, hidden) and np.array_equal(other, hidden) == (share in (0, 1))
    picked = np.random.default_rng(0).permutation(rows)[:100]
    assert np.array_equal(hide(picked, share, 5, 2), hidden[picked])


def test_hidden_conditions_are_0_and_all_else_stays(small: str) -> None:
    file = DatasetFile(small)
    candidates = Candidates(*file.split_rows["train"])
    known, some, none = (
        Loader(
            file,
            TrainOrder(candidates, 16, pool_rows=200, unknown=unknown),
            stored(file, *EXTRAS),
        ).batches()
        for unknown in (0.0, 0.3, 1.0)
    )
    at = [48 + EXTRAS.index(name) for name in CONDITIONS]
    for number, batches in enumerate(islice(zip(known, some, none, strict=True), 60)):
        one, two, three = batches
        for name in one.keys() - {"planes"}:
            assert np.array_equal(one[name], two[name])
        hidden = hide(two["row"], 0.3, 0, number // (len(candidates) // 16))
        bits = (hidden[:, None] >> np.arange(4)) & 1
        expected = one["planes"].copy()
        for bit, plane in enumerate(at):
            expected[bits[:, bit] == 1, :, :, plane] = 0
        assert np.array_equal(two["planes"], expected)
        expected[..., at] = 0
        assert np.array_equal(three["planes"], expected)


def test_conditions_are_hidden_alike_whoever_makes_the_batches(small: str) -> None:
    options = {**SMALL, "extras": EXTRAS, "unknown": 0.5}
    alone = GoDataModule(small, **options)
    first = list(islice(alone.train_dataloader(), 12))
    loader = GoDataModule(small, num_workers=2, start_method="fork", **options)
    for one, two in zip(first, loader.train_dataloader(), strict=False):
        assert torch.equal(one["planes"], two["planes"])
    loader.close()
    resumed = GoDataModule(small, **options)
    resumed.handed_out = 7
    for one, two in zip(first[7:], resumed.train_dataloader(), strict=False):
        assert torch.equal(one["planes"], two["planes"])


def test_nothing_is_hidden_in_evaluation_unless_that_is_asked_for(small: str) -> None:
    def planes(**options: float) -> torch.Tensor:
        module = GoDataModule(small, extras=["own_rank", "year"], **SMALL, **options)
        return torch.cat([batch["planes"] for batch in module.val_dataloader()])

    known = planes()
    assert torch.equal(planes(unknown=0.9), known)
    half = planes(eval_unknown=0.5)
    assert torch.equal(planes(eval_unknown=0.5, unknown=0.2), half)
    assert not torch.equal(half, known) and not planes(eval_unknown=1.0)[:, 48:].any()


# --- replayed


@pytest.mark.parametrize("name", FILES)
def test_replayed_planes_are_those_that_were_stored(built: dict[str, str], name: str) -> None:
    options: dict[str, Any] = {**SMALL, "passes": True, "extras": ["komi", "own_rank"]}
    for split in ("train", "validation"):
        loaders = [
            GoDataModule(built[name], inputs=inputs, **options) for inputs in ("stored", "replayed")
        ]
        batches = [
            module.train_dataloader() if split == "train" else module.val_dataloader()
            for module in loaders
        ]
        count = 0
        for one, two in islice(zip(*batches, strict=True), 20):
            assert one.keys() == two.keys() and all(torch.equal(one[key], two[key]) for key in one)
            count += 1
        assert count


@pytest.mark.parametrize("workers", [0, 2])
def test_any_file_gives_the_planes_of_any_set(built: dict[str, str], workers: int) -> None:
    """The same games in the same order, from a file of 48 planes and from one of 16."""
    one, two = (
        GoDataModule(
            built[name], features="zero18", inputs=inputs, num_workers=workers * (name != "zero18"),
            start_method="fork", eval_batch_size=8, prefetch=workers == 2,
        )
        for name, inputs in (("alphago48", "replayed"), ("zero18", "stored"))
    )  # fmt: skip
    assert one.inputs == two.inputs and len(one.inputs) == 18
    batches = list(zip(one.val_dataloader(), two.val_dataloader(), strict=True))
    for replayed, read in batches:
        for key in ("planes", "move", "game", "ply"):
            assert torch.equal(replayed[key], read[key])
    assert batches
    one.close()


def test_the_first_planes_of_a_replayed_set(built: dict[str, str]) -> None:
    few, all_of = (
        next(iter(GoDataModule(built["alphago48"], inputs="replayed", **more).val_dataloader()))
        for more in ({"planes": 13}, {})
    )
    assert torch.equal(few["planes"], all_of["planes"][:, :13])


@pytest.mark.parametrize("name", ["dual", "zero17", "zero18"])
def test_configurations_with_games(built: dict[str, str], name: str) -> None:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        cfg = compose(overrides=[f"+loader={name}", f"+dataset={built['alphago48']}", "+seed=3"])
    module = instantiate(cfg.loader, batch_size=4)
    batch = next(iter(module.train_dataloader()))
    assert batch["planes"].shape == (4, len(module.inputs), 9, 9)
    assert set(cfg.loader.targets) <= set(batch) and len(module.inputs.uniform) == len(
        cfg.loader.extras
    )
    assert "inputs: " in module.summary() and "targets: " in module.summary()


def test_patterns_are_one_of_the_inputs(built: dict[str, str]) -> None:
    options = {"kind": "tree", "every": 2, "responses": 2}
    old = PatternDataModule(built["alphago48"], symmetries="random", **options, **SMALL)
    new = GoDataModule(built["alphago48"], inputs="patterns", patterns=options, **SMALL)
    for one, two in islice(zip(old.train_dataloader(), new.train_dataloader(), strict=True), 5):
        assert all(torch.equal(one[key], two[key]) for key in one)
        assert one["planes"].dtype == torch.int32 and not one["symmetry"].any()
    assert old.net_arguments() == new.net_arguments() == old.words.sizes()
    more = {"planes": 48, "features": "alphago48"}
    assert GoDataModule(built["zero18"], inputs="patterns", patterns=options, **more, **SMALL)
    with pytest.raises(Mistake, match="extras=komi: a net of patterns takes no planes"):
        GoDataModule(built["alphago48"], inputs="patterns", extras=["komi"])


def test_misfits_end_with_one_line(small: str, built: dict[str, str]) -> None:
    for options, words in (
        ({"features": "zero17"}, r"alphago48 \(own, opponent, empty, .*zero17 \(own, opponent\); "),
        ({"features": "go49"}, "features=go49: one of alphago48, zero17, zero18"),
        ({"features": "zero17", "planes": 48}, "48 planes are asked .* all 16 of zero17$"),
        (
            {"inputs": "replayed", "features": "zero17", "planes": 48},
            "loader.features= names another set",
        ),
        (
            {"inputs": "replayed", "features": "zero17", "planes": 2},
            "2 planes are asked .* all 16 of zero17",
        ),
        ({"extras": ["mood"]}, "mood: no such input"),
        ({"extras": ["komi", "komi"]}, "each input once"),
        ({"unknown": 1.5}, "unknown=1.5: a share, from 0 to 1"),
        ({"eval_unknown": -1}, "eval_unknown=-1: a share"),
        ({"targets": ["mood"]}, "targets=mood: choose of reply, result, score, owner"),
        ({"targets": ["owner"]}, "targets=owner: owners=<file"),
    ):
        with pytest.raises(Mistake, match=words):
            GoDataModule(small, **options)
    with pytest.raises(ValueError, match="inputs='drawn': choose one of stored, replayed"):
        GoDataModule(small, inputs="drawn")


def test_a_game_that_is_not_legal_can_not_be_replayed(small: str, built: dict[str, str]) -> None:
    file = DatasetFile(built["alphago48"])
    games = Games(file)
    games.moves[games.offset[3] + 5] = games.moves[games.offset[3] + 4]
    rows = np.flatnonzero(file.positions["game"][:] == 3)
    order = EvaluationOrder(Candidates(int(rows[0]), int(rows[-1]) + 1), 8)
    inputs = ReplayedPlanes(file, games, choose_inputs(file, True, "zero17"))
    with pytest.raises(DatasetError, match="game 3 is not legal"):
        list(Loader(file, order, inputs).batches())
