"""Seeded attacks on a dataset: `python -m tests.support.attack_cases DATASET damage:0:450` prints one line
of JSON for each seed.

    damage      bits flipped, regions zeroed, the end cut off
    unsealed    the same, of a file as older versions wrote it: without a checksum
    values      a sound HDF5 file with hostile values in it, and a checksum that fits

A line is {"how", "seed", "what", "changed", "kind", "sound", "said"}. `kind` is well (nothing was
refused), refused (in one line), traceback, crash or hang; `sound` is what verify says, or null
where the file could not be opened.

The process that starts the cases has compiled everything and forks, so a case takes some 50 ms.
"""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data.base import digests
from tests.support.builds import edited
from tests.support.damage import cut, flip_bits, zero_region

SECONDS = 30  # until a case is a hang; all take less than one
Numbers = random.Random


# --- what is done to a file


def damage(data: bytes, rng: Numbers) -> tuple[str, bytes]:
    what = rng.choice(["flip", "flip", "zero", "zero", "cut"])
    if what == "flip":
        return what, flip_bits(data, rng)
    if what == "zero":
        return what, zero_region(data, rng, rng.choice([8, 16, 64, 512, 4096]))
    return what, cut(data, rng)


def spoil(path: Path, rng: Numbers) -> str:
    """One hostile value, or a column of another kind; the checksum fits."""
    what = rng.choice(list(VALUES))
    with edited(path) as file:
        VALUES[what](file, rng)
    return what


def poke(name: str, *values: int) -> Callable[[h5py.File, Numbers], None]:
    """One entry of a column, at a random place."""

    def change(file: h5py.File, rng: Numbers) -> None:
        column = file[name]
        at = rng.randrange(len(column))
        others = [value for value in values if value != column[at]]
        column[at] = rng.choice(others)

    return change


def describe_as(name: str, *values: Any) -> Callable[[h5py.File, Numbers], None]:
    def change(file: h5py.File, rng: Numbers) -> None:
        file.attrs[name] = rng.choice(values)

    return change


def repeat_move(file: h5py.File, rng: Numbers) -> None:
    """An illegal game: a stone where there is one."""
    game = rng.randrange(len(file["games/split"]))
    first = int(file["games/offset"][game])
    file["games/moves"][first + 1] = file["games/moves"][first]


def shuffle_game(file: h5py.File, rng: Numbers) -> None:
    """All moves at points drawn anew: captures, suicides and stones on stones."""
    game = rng.randrange(len(file["games/split"]))
    first, stop = file["games/offset"][game : game + 2].tolist()
    file["games/moves"][first:stop] = [rng.randrange(81) for _ in range(first, stop)]


def retype(file: h5py.File, rng: Numbers) -> None:
    name = rng.choice(COLUMNS)
    values = file[name][:]
    del file[name]
    kind = rng.choice(["float64", "int64", "S4", "longer", "shorter", "flat", "group", "gone"])
    if kind == "group":
        file.create_group(name)
    elif kind == "longer":
        file[name] = np.concatenate([values, values[-1:]])
    elif kind == "shorter":
        file[name] = values[:-1]
    elif kind == "flat":
        file[name] = values[:, None]
    elif kind != "gone":
        file[name] = values.astype(
            "float32" if kind == values.dtype.name else "int32" if kind == "int64" else kind
        )


def put_outside(file: h5py.File, name: str, kind: str, beside: Path) -> None:
    """The values of a column where they are not to be, in the file `beside` for most kinds."""
    values = file[name][:]
    file.move(name, "moved") if kind == "soft link" else file.__delitem__(name)
    if kind == "soft link":
        file[name] = h5py.SoftLink("/moved")
    elif kind == "external link":
        file[name] = h5py.ExternalLink(str(beside), "/values")
    elif kind == "virtual dataset":
        layout = h5py.VirtualLayout(shape=values.shape, dtype=values.dtype)
        layout[:] = h5py.VirtualSource(str(beside), "values", shape=values.shape)
        file.create_virtual_dataset(name, layout)
    elif kind == "raw file":
        file.create_dataset(
            name, values.shape, values.dtype, external=[(str(beside), 0, values.nbytes)]
        )
    else:
        file.create_dataset(name, data=values, chunks=True, shuffle=True)


OUTSIDE = {
    "soft link": "is a soft link",
    "external link": "is a link to another file",
    "virtual dataset": "is a virtual dataset",
    "raw file": "keeps its values in another file",
    "foreign filter": "is packed with the filter 2",
}  # what is said of each kind


def move_out(file: h5py.File, rng: Numbers) -> None:
    """To a file that is there and holds the same values, so that nothing but the place is wrong."""
    name, kind = rng.choice(COLUMNS), rng.choice(list(OUTSIDE))
    beside = Path(file.filename).with_suffix(".beside")
    if kind == "raw file":
        beside.write_bytes(file[name][:].tobytes())
    else:
        with h5py.File(beside, "w") as other:
            other["values"] = file[name][:]
    put_outside(file, name, kind, beside)


def bounds(*pairs: list[int]) -> str:
    return json.dumps(dict(zip(("train", "validation", "test"), pairs, strict=True)))


FAR = (-32768, -20_000, -1, 362, 400, 30_000, 32_767)
HUGE = (-(2**62), -(2**31), -5, 2**31, 2**40, 2**62)
NO_BOUNDS = [
    bounds([0, 2**40], [2**40] * 2, [2**40] * 2),
    bounds([0, 10], [10, 20], [20, 30]),
    bounds([-5, 0], [0, 5], [5, 9]),
]
COLUMNS = [
    f"games/{name}"
    for name in (
        "moves",
        "colours",
        "offset",
        "setup_ply",
        "setup_offset",
        "first_row",
        "identity",
        "value",
    )
]
COLUMNS += [f"positions/{name}" for name in ("move", "game", "ply", "to_play", "outcome")]
VALUES: dict[str, Callable[[h5py.File, Numbers], None]] = {
    "moves far": poke("games/moves", *FAR),
    "moves near": poke("games/moves", 81, 82, 99, 360),
    "moves repeated": repeat_move,
    "moves at random": shuffle_game,
    "colours": poke("games/colours", 0, 2, 3, 77, 127, -2, -128),
    "setup_point": poke("games/setup_point", 81, *FAR),
    "setup_colour": poke("games/setup_colour", 2, 3, 77, 127, -2, -128),
    "setup_ply": poke("games/setup_ply", -1, -32768, 32767),
    "offset": poke("games/offset", *HUGE),
    "setup_offset": poke("games/setup_offset", *HUGE),
    "first_row": poke("games/first_row", *HUGE),
    "game": poke("positions/game", -1, -(2**31), 24, 1000, 2**31 - 1),
    "ply": poke("positions/ply", -1, -32768, 500, 32767),
    "move": poke("positions/move", 81, 360, *FAR),
    "to_play": poke("positions/to_play", 0, 2, 77, 127, -128),
    "outcome": poke("positions/outcome", 2, 77, 127, -128),
    "size": describe_as("size", -1, 0, 1, 2, 5, 8, 13, 19, 20, 25, 1000, 10**9, "nine", 2.5e300, [9, 9]),
    "layout": describe_as("layout", "plain", "round", "", 7),
    "split_rows": describe_as("split_rows", *NO_BOUNDS, "[]", '{"train": 1}'),
    "split_games": describe_as("split_games", bounds([0, 2**30], [2**30] * 2, [2**30] * 2), bounds([0, 5], [5, 9], [9, 12]), "7"),
    "config": describe_as("config", "[]", '{"games": 5}', '{"games": {"test": "many"}}', "[" * 100_000, '{"augment": "all"}'),
    "sources": describe_as("sources", "5", "[1]", '[{"label": 5}]', "{}"),
    "type": retype,
    "outside": move_out,
}  # fmt: skip


# --- what is done with it


class Uses:
    """Everything that reads a dataset, on one file; imports stand here, so that the parent has
    them before it forks.
    """

    def __init__(self, sound: Path):
        from data.dataset.file import DatasetFile
        from data.patterns.files import PatternWeights
        from data.patterns.harvest import harvest
        from data.patterns.vocabulary import first_of_slots
        from mcts.rollouts.policy import RolloutPolicy

        words = harvest(DatasetFile(sound), "rollout", arounds=2, responses=2, every=2)
        weights = np.zeros(first_of_slots("rollout", words.sizes())[-1], np.float32)
        self.patterns = PatternWeights("rollout", words, weights)
        self.policy = RolloutPolicy.of(self.patterns, 9)

    def verify(self, path: Path) -> bool:
        from data.dataset.check import verify
        from data.dataset.rows import Rows, open_dataset

        return verify(Rows(open_dataset(path)), sample=None).sound

    def summarise(self, path: Path) -> None:
        from data.dataset.game_list import write_list
        from data.dataset.rows import Rows, open_dataset
        from data.dataset.summary import summarise

        rows = Rows(open_dataset(path))
        summarise(rows)
        write_list(path.with_suffix(".csv"), rows)

    def sample(self, path: Path) -> None:
        from data.dataset.rows import Rows, open_dataset
        from data.dataset.sample import take_sample

        rows = Rows(open_dataset(path))
        for row in range(0, rows.count, max(1, rows.count // 20)):
            take_sample(rows, row)

    def load(self, path: Path) -> None:
        from data.dataset.file import DatasetFile
        from data.loading.loader import Loader
        from data.loading.order import EvaluationOrder, candidates
        from data.loading.planes import StoredPlanes, choose_inputs

        file = DatasetFile(path)
        file.identity()
        for target in ("move", "value"):
            for split in file.split_rows:
                order = EvaluationOrder(
                    candidates(file, split, target, 3 if target == "value" else None), 64
                )
                inputs = StoredPlanes(file, choose_inputs(file, False, planes=50))
                for _ in Loader(file, order, inputs).batches():
                    pass

    def patterns_of(self, path: Path) -> None:
        from data.loading.pattern_datamodule import PatternDataModule

        module = PatternDataModule(str(path), kind="tree", batch_size=64, every=2, responses=2)
        for split in ("train", "validation", "test"):
            for _ in module.evaluation_dataloader(split):
                pass

    def owners(self, path: Path) -> None:
        from data.dataset.file import DatasetFile
        from mcts.rollouts.owners import compare, estimate

        file = DatasetFile(path)
        _, leads = estimate(file, self.policy, rollouts=1, doubt=8, threads=1, seed=1)
        compare(file, leads)

    def evaluate(self, path: Path) -> None:
        from data.dataset.file import DatasetFile
        from data.dataset.games import Games
        from data.dataset.positions import read_labels
        from pipelines.evaluating.material import choose, training_mean

        file = DatasetFile(path)
        training_mean(file)
        games = Games(file)
        for split in file.split_rows:
            material = choose(file, split, "value", 200, 1)
            labels = read_labels(file, material.rows)
            for game, ply in zip(labels["game"][::7], labels["ply"][::7], strict=True):
                games.replay(game, ply)

    def all(self, path: Path) -> dict[str, Any]:
        """Every use, whatever the ones before said."""
        from pipelines.shell.mistakes import explain

        found: dict[str, Any] = {"kind": "well", "sound": None, "said": ""}
        for use in (
            self.verify,
            self.summarise,
            self.sample,
            self.load,
            self.patterns_of,
            self.owners,
            self.evaluate,
        ):
            try:
                sound = use(path)
                if use == self.verify:
                    found["sound"] = sound
            except Exception as error:
                message = explain(error)
                if message is None or "\n" in message.strip():
                    return found | {
                        "kind": "traceback",
                        "said": f"{use.__name__}: {traceback.format_exc()}",
                    }
                if found["kind"] == "well":
                    found |= {"kind": "refused", "said": f"{use.__name__}: {message}"}
        return found


def watched(work: Callable[[], dict[str, Any]], seconds: float = SECONDS) -> dict[str, Any]:
    """What `work` returns in a process of its own, or that it crashed or hung."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            os.write(writer, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    ends = time.monotonic() + seconds
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > ends:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            return {"kind": "hang"}
        time.sleep(0.002)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    return json.loads(text) if text else {"kind": "crash", "said": f"status {ended[1]}"}


def main(dataset: str, *parts: str) -> None:
    """Each part is `damage:0:450`: the kind of attack, the first seed, and the one after the last."""
    folder = Path(tempfile.mkdtemp())
    try:
        uses = Uses(Path(dataset))
        for _ in ("compiled", "again"):
            found = uses.all(Path(dataset))
            assert found["kind"] == "well" and found["sound"], found
        for part in parts:
            how, first, stop = part.split(":")
            for seed in range(int(first), int(stop)):
                attack(how, seed, Path(dataset).read_bytes(), folder, uses)
    finally:
        shutil.rmtree(folder)


def attack(how: str, seed: int, data: bytes, folder: Path, uses: Uses) -> None:
    rng = Numbers(seed)
    # HDF5 knows files by their inode, and would look at those of before again
    path = folder / f"{how}-{seed}.h5"
    data = data[digests.BLOCK :] if how == "unsealed" else data
    what, changed = ("", data) if how == "values" else damage(data, rng)
    path.write_bytes(changed)
    if how == "values":
        what = spoil(path, rng)
        changed = path.read_bytes()
    case = {
        "how": how,
        "seed": seed,
        "what": what,
        "changed": changed != data,
        "sound": None,
        "said": "",
    }
    print(json.dumps(case | watched(lambda: uses.all(path))), flush=True)
    path.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
