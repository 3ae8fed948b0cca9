"""What `measure_speed.py` measures: `BENCHMARKS`, each a function that returns one figure a run.

Compiled loops are timed by the CPU seconds of one thread, which other programs disturb little;
whole commands by the clock, and so is whatever uses two threads. A benchmark compiles and warms up
before its first run is timed.
"""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from data.base.random_kernels import new_state
from data.build.builder import build
from data.build.executors import Executor
from data.build.options import BuildOptions, GameOptions
from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.features.alphago48 import GameEncoder
from data.features.feature_set import ALPHAGO48
from data.game.board import Board
from data.game.board_kernels import VERTICES, new_boards
from data.loading.loader import Loader
from data.loading.order import Candidates, EvaluationOrder, TrainOrder
from data.loading.planes import ReplayedPlanes, RowInputs, StoredPlanes, choose_inputs
from data.records.record import GameRecord
from data.records.replay import Replayer, count_positions
from data.records.sgf import ReadOptions, read_games
from data.sources import find
from data.sources.guard import Limits, Member
from mcts.rollouts.policy import RolloutPolicy
from mcts.rollouts.uniform_kernels import uniform_rollouts
from pipelines.shell.environment import ROOT

PRETRAINED = ROOT / "models" / "pretrained"
SAMPLE_GAMES = ROOT / "data" / "sample_games" / "engine_games.tar.xz"


Run = Callable[["Material"], float]


@dataclass(frozen=True)
class Benchmark:
    name: str
    unit: str
    goal: float
    run: Run
    clock: str  # cpu or wall
    higher_is_better: bool = True


BENCHMARKS: list[Benchmark] = []


def benchmark(
    name: str, unit: str, goal: float, *, clock: str = "cpu", higher: bool = True
) -> Callable[[Run], Run]:
    def register(function: Run) -> Run:
        BENCHMARKS.append(Benchmark(name, unit, goal, function, clock, higher))
        return function

    return register


class Material:
    """What benchmarks share: games, and a folder to write in. Made when first asked for."""

    def __init__(self, source: str | None, games: int):
        self.source = source or str(SAMPLE_GAMES)
        self.most = games
        self.folder = Path(tempfile.mkdtemp(prefix="lambdago-speed-"))

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @cached_property
    def records(self) -> list[GameRecord]:
        games = [game for game in self.read() if isinstance(game, GameRecord)]
        replayer = Replayer()
        admitted = [replayer.admit(game) for game in games]
        return [game for game in admitted if isinstance(game, GameRecord)]

    def read(self) -> Iterator[object]:
        for member in islice(self.members(), self.most):
            yield from read_games(member.data, source=member.name, options=ReadOptions())

    @cached_property
    def archive(self) -> Path:
        """The games as one compressed archive, as they are downloaded: the first ones of the
        source.
        """
        path = self.folder / "games.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for number, member in enumerate(islice(self.members(), self.most)):
                entry = tarfile.TarInfo(f"{number:06d}.sgf")
                entry.size = len(member.data)
                archive.addfile(entry, io.BytesIO(member.data))
        return path

    def members(self) -> Iterator[Member]:
        for source in find.find_sources([self.source], Path.cwd()):
            yield from find.read_members(source, Limits())

    def build(self, workers: int, name: str) -> tuple[float, dict[str, object]]:
        """Build the dataset anew; returns wall seconds and the report."""
        output = self.folder / name
        options = BuildOptions(
            (str(self.archive),),
            output,
            GameOptions(),
            overwrite=True,
            executor=Executor(workers=workers),
        )
        started = time.perf_counter()
        report = build(options, Quiet())
        return time.perf_counter() - started, report

    @cached_property
    def dataset(self) -> tuple[Path, dict[str, object]]:
        """A finished dataset of the games, and its report."""
        return self.folder / "games.h5", self.build(0, "games.h5")[1]

    def int8_speed(self, batch: int) -> float:
        """Of the net below in onnxruntime, from bytes to answers."""
        run, planes = self.int8_net, self.random_planes[:batch]
        for _ in range(20):
            run(planes)
        calls = 1024 // batch
        started = time.thread_time()  # onnxruntime's one thread is the calling one
        for _ in range(calls):
            run(planes)
        return calls * batch / (time.thread_time() - started)

    @cached_property
    def random_planes(self) -> np.ndarray:
        """uint8 NHWC, a tenth of them set."""
        return (np.random.default_rng(0).random((64, 19, 19, 48)) < 0.1).astype(np.uint8)

    @cached_property
    def int8_net(self) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        """A policy net of the paper's kind with 6 layers of 64 filters, 224,937 weights, as random
        as it is born: in int8.
        """
        import torch

        from models.answering.engines import OnnxEngine
        from models.exporting.int8 import to_int8
        from models.exporting.onnx import to_onnx
        from models.files.open import card_of
        from models.nets.policy_net import PolicyNet

        torch.manual_seed(0)
        net = PolicyNet(48, filters=64, layers=6).eval()
        card = card_of(net, {"planes": 48}, 19, name="benchmark")
        return OnnxEngine(
            to_int8(to_onnx(net, card), self.random_planes, card), card, threads=1
        ).run


class Quiet:
    """A build that nobody watches."""

    def say(self, text: str) -> None:
        pass

    def begin(self, what: str, total: int | None, unit: str) -> None:
        pass

    def advance(self, done: int, *, found: bool = False, **counts: int) -> None:
        pass

    def end(self) -> None:
        pass


def rollouts_a_second(
    size: int, count: int, clock: Callable[[], float] = time.thread_time
) -> float:
    boards = new_boards(2, size)
    state = new_state(1)
    owner = np.zeros(VERTICES, np.int8)
    uniform_rollouts(boards, 1, state, 1, owner)
    started = clock()
    uniform_rollouts(boards, 1, state, count, owner)
    return count / (clock() - started)


@benchmark("random rollouts, empty 19x19, one core", "rollouts/s", 33_000)
def rollouts_19(material: Material) -> float:
    return rollouts_a_second(19, 20_000)


@benchmark("random rollouts, empty 9x9, one core", "rollouts/s", 130_000)
def rollouts_9(material: Material) -> float:
    return rollouts_a_second(9, 80_000)


@benchmark("policy rollouts, empty 19x19, one core", "rollouts/s", 4_000)
def policy_rollouts_19(material: Material) -> float:
    return policy_rollouts_a_second(19, 2_000)


@benchmark("policy rollouts, empty 9x9, one core", "rollouts/s", 20_000)
def policy_rollouts_9(material: Material) -> float:
    return policy_rollouts_a_second(9, 10_000)


def policy_rollouts_a_second(size: int, count: int) -> float:
    """With the rollout policy that ships."""
    players = RolloutPolicy.load(PRETRAINED / "rollout.safetensors", size).players()
    board = Board(size)
    players.rollouts(board.record, 1)
    started = time.thread_time()
    players.rollouts(board.record, count)
    return count / (time.thread_time() - started)


@benchmark("random rollouts, two threads against one", "times", 1.8, clock="wall")
def second_thread(material: Material) -> float:
    count = 20_000
    rollouts_a_second(19, 1)
    started = time.perf_counter()
    rollouts_a_second(19, count)
    alone = time.perf_counter() - started
    threads = [threading.Thread(target=rollouts_a_second, args=(19, count)) for _ in range(2)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 2 * alone / (time.perf_counter() - started)


@benchmark("plain replay of recorded games, one core", "moves/s", 5_000_000)
def replay(material: Material) -> float:
    replayer = Replayer()
    records = material.records
    replayer.legal_moves(records[0])
    started = time.thread_time()
    moves = sum(replayer.legal_moves(record)[0] for record in records)
    return moves / (time.thread_time() - started)


@benchmark("replay and 48 planes, ladders included, one core", "positions/s", 25_000)
def planes(material: Material) -> float:
    encoder = GameEncoder(19)
    packed, plies = np.zeros((1000, 361, ALPHAGO48.row_bytes), np.uint8), np.zeros(1000, np.int16)

    def encode(record: GameRecord) -> int:
        rows = count_positions(record)
        return encoder.encode(record, packed, plies[:rows])

    encode(material.records[0])
    started = time.thread_time()
    positions = sum(encode(record) for record in material.records)
    return positions / (time.thread_time() - started)


@benchmark("archive to finished HDF5, one core", "positions/s", 18_000, clock="wall")
def build_on_one_core(material: Material) -> float:
    seconds, report = material.build(1, "one.h5")
    return report["positions"] / seconds  # type: ignore[operator]


@benchmark("archive to finished HDF5, two cores", "positions/s", 32_000, clock="wall")
def build_on_two_cores(material: Material) -> float:
    seconds, report = material.build(2, "two.h5")
    return report["positions"] / seconds  # type: ignore[operator]


@benchmark("dataset on disk", "bytes/position", 60, clock="size", higher=False)
def bytes_a_position(material: Material) -> float:
    return float(material.dataset[1]["bytes_a_position"])  # type: ignore[arg-type]


@benchmark("loader: shuffled, turned, expanded batches, one core", "positions/s", 250_000)
def loader(material: Material) -> float:
    file = DatasetFile(material.dataset[0])
    return batches_a_second(file, StoredPlanes(file, choose_inputs(file, replayed=False)))


@benchmark("loader: planes of zero17 replayed from the moves, one core", "positions/s", 100_000)
def replaying_loader(material: Material) -> float:
    file = DatasetFile(material.dataset[0])
    inputs = choose_inputs(file, replayed=True, features="zero17")
    source = ReplayedPlanes(file, Games(file), inputs)
    next(Loader(file, EvaluationOrder(Candidates(0, 1), 1), source).batches())  # compiles
    return batches_a_second(file, source)


def batches_a_second(file: DatasetFile, inputs: RowInputs) -> float:
    """Positions in batches of 256, over one epoch."""
    order = TrainOrder(Candidates(*file.split_rows["train"]), batch_size=256)
    batches = Loader(file, order, inputs).batches()
    started = time.process_time()
    seen = sum(len(batch["move"]) for batch in islice(batches, len(order)))
    return seen / (time.process_time() - started)


@benchmark("memory of a building process", "GB", 1.5, clock="peak", higher=False)
def memory(material: Material) -> float:
    """In a process of its own: a peak is never forgotten."""
    program = (
        f"import resource, sys; from {__name__} import *; "
        "m = Material(sys.argv[1], 10**9); m.build(1, 'memory.h5'); m.clear(); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    command = [sys.executable, "-c", program, str(material.archive)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1]) * (1 if sys.platform == "darwin" else 1024) / 1e9


@benchmark("first import and compile of the rules, cold cache", "s", 15, clock="wall", higher=False)
def cold_start(material: Material) -> float:
    cache = material.folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    return start_seconds(cache)


@benchmark("import and compile of the rules, warm cache", "s", 1, clock="wall", higher=False)
def warm_start(material: Material) -> float:
    cache = material.folder / "cache"
    if not cache.exists():
        start_seconds(cache)
    return start_seconds(cache)


def start_seconds(cache: Path) -> float:
    """A new process that imports the rules, plays, scores and undoes a move, and runs a rollout."""
    ours = __name__.rpartition("pipelines.")[0]  # `lambdago.` in an installation
    board, kernels = f"{ours}data.game.board", f"{ours}data.game.board_kernels"  # wheel: kept
    random = f"{ours}data.base.random_kernels"  # wheel: kept
    rollouts = f"{ours}mcts.rollouts.uniform_kernels"  # wheel: kept
    program = (
        f"import numpy as np; from {board} import Board; from {kernels} import *; "
        f"from {random} import new_state; from {rollouts} import *; "
        "board = Board(19); board.play(60); board.score(); board.undo(); "
        "uniform_rollouts(new_boards(2, 19), 1, new_state(1), 1, np.zeros(VERTICES, np.int8))"
    )
    started = time.perf_counter()
    environment = {**os.environ, "LAMBDAGO_CACHE": str(cache)}
    environment.pop("NUMBA_CACHE_DIR", None)
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True)
    return time.perf_counter() - started


@benchmark("int8 policy 6x64, batch of 1, one core", "positions/s", 5_000)
def int8_alone(material: Material) -> float:
    return material.int8_speed(1)


@benchmark("int8 policy 6x64, batch of 64, one core", "positions/s", 5_000)
def int8_together(material: Material) -> float:
    return material.int8_speed(64)
