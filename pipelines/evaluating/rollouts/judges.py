"""Who judges positions: rollouts, games that a policy net plays out, and value nets.

`open_nets` opens the nets before any work begins. `judgements` asks all judges about the same
positions. A `Judgement` is from the view of the player to move.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.base.text import count_of
from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.features.evaluation import POLICY as MOVES
from data.features.evaluation import VALUE
from mcts.play.rollout_trials import mean_results
from mcts.rollouts.protocols import Rollouts
from mcts.selfplay.judging.net_rollouts import Play, recorded_rollouts
from models.answering.engines import choose_device
from models.answering.inference import Inference
from models.answering.open import open_net
from models.answering.precision import has_bf16
from pipelines.evaluating.nets import EvaluationError, checksum_of, labels
from pipelines.evaluating.positions import Labels, PositionReader
from pipelines.evaluating.rollouts.options import POLICY, UNIFORM, RolloutOptions
from pipelines.shell.console import console, progress
from pipelines.shell.project import find_weights

ROLLOUTS, NET_GAMES, EVALUATION = "rollouts", "games of a net", "evaluation of a net"
FREE = ("", ".json", ".ckpt")  # files of nets that leave the engine to choose


@dataclass(frozen=True)
class About:
    """A judge, for people and files."""

    name: str  # of its scores
    title: str
    kind: str  # ROLLOUTS, NET_GAMES or EVALUATION
    games: int  # behind each value; 0 for an evaluation
    net: str | None = None  # of nets: name and engine
    weights: str | None = None  # of nets: the checksum, None where no file tells it
    asked: int | None = None  # of nets: positions that it answered for

    def __str__(self) -> str:
        return f"{self.title} ({count_of(self.games, 'game') if self.games else '1 evaluation'})"

    def plain(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Judgement:
    about: About
    value: np.ndarray  # float64 [positions], -1 lost .. +1 won
    variance: np.ndarray  # float64 [positions], which `value` has by chance


@dataclass(frozen=True)
class Asked:
    """Positions of a dataset that are judged."""

    file: DatasetFile
    rows: np.ndarray  # int64, increasing
    labels: Labels  # columns of the positions

    @property
    def komi(self) -> np.ndarray:
        return np.asarray(self.file.area_komi[self.labels["game"]])


@dataclass(frozen=True)
class OpenNet:
    name: str
    kind: str  # NET_GAMES or EVALUATION
    net: Inference
    weights: str | None
    reader: PositionReader | None  # of nets that are asked about positions


def open_nets(options: RolloutOptions, file: DatasetFile) -> list[OpenNet]:
    """Open the nets, each under a name of its own. Raises a `Mistake`, one line.

    Nets of one kind compute alike, unless a path or an option chooses otherwise: a difference
    between int8 and bf16 would look like one between the nets.
    """
    kinds = [NET_GAMES] * len(options.policy or ()) + [EVALUATION] * len(options.value or ())
    paths = [find_weights(path) for path in options.nets]
    names = options.names or names_of(paths, kinds)
    found = [
        open_one(path, kind, name, options.engine, options, file)
        for path, kind, name in zip(paths, kinds, names, strict=True)
    ]
    if options.engine != "auto":
        return found
    engine = "bf16" if has_bf16(choose_device(options.device)) else "fp32"
    for kind in (NET_GAMES, EVALUATION):
        free = [k for k, path in enumerate(paths) if kinds[k] == kind and path.suffix in FREE]
        if len({found[k].net.name for k in free}) > 1:
            console.print(f"{kind}: all nets in {engine}, so that they compare")
            for k in free:
                found[k] = open_one(paths[k], kind, names[k], engine, options, file)
    return found


def names_of(paths: list[Path], kinds: list[str]) -> list[str]:
    """Name nets after their files; one that is there twice also after what it does, or a number."""
    plain = [f"{label} net" for label in labels(paths)]
    full = [
        name if plain.count(name) == 1 else f"{name}, {kind.split()[0]}"
        for name, kind in zip(plain, kinds, strict=True)
    ]
    return [
        name if full.count(name) == 1 else f"{name} ({full[: k + 1].count(name)})"
        for k, name in enumerate(full)
    ]


def open_one(
    path: Path, kind: str, name: str, engine: str, options: RolloutOptions, file: DatasetFile
) -> OpenNet:
    net = open_net(path, engine=engine, device=options.device, threads=options.threads)
    key, answer, what = (
        ("policy", MOVES, "moves") if kind == NET_GAMES else ("value", VALUE, "values")
    )
    if not isinstance(net, Inference):
        raise EvaluationError(f"{key}={path}: a net is wanted; a rollout policy is for rollout=")
    if answer not in net.face.answers:
        raise EvaluationError(f"{key}={path}: this net does not answer with {what}")
    if not net.fits(file.size):
        raise EvaluationError(
            f"{key}={path}: a net for {net.card.sizes()} boards, "
            f"those of {file.path} are {file.size}x{file.size}"
        )
    reader = PositionReader(file, net.face) if kind == EVALUATION else None
    return OpenNet(name, kind, net, checksum_of(path, net), reader)


def judgements(
    options: RolloutOptions,
    players: tuple[Rollouts, Rollouts],
    nets: list[OpenNet],
    asked: Asked,
) -> Iterator[Judgement]:
    """Yield what each judge says: the policy's rollouts, uniform ones, then the nets."""
    yield from by_rollouts(options, players, asked)
    for one in nets:
        if one.kind == NET_GAMES:
            yield by_games(options, one, asked)
        else:
            yield by_value(options, one, asked)


def by_rollouts(
    options: RolloutOptions, players: tuple[Rollouts, Rollouts], asked: Asked
) -> Iterator[Judgement]:
    with progress("rollouts", "positions") as watch:
        found = mean_results(
            asked.file,
            players,
            asked.labels,
            options.rollouts,
            seed=options.seed,
            threads=options.threads,
            watch=watch,
        )
    for k, name in enumerate((POLICY, UNIFORM)):
        about = About(name, f"{name} rollouts", ROLLOUTS, options.rollouts)
        yield Judgement(about, found.value[:, k], found.variance[:, k])


def by_games(options: RolloutOptions, one: OpenNet, asked: Asked) -> Judgement:
    """Let a policy net play games from each position."""
    device = choose_device(options.device)
    play = Play(
        temperature=options.temperature,
        at_once=options.at_once,
        crews=1 if device == "cpu" else 2,
        seed=options.seed,
    )
    with progress(one.name, "games") as watch:
        found = recorded_rollouts(
            one.net,
            Games(asked.file),
            asked.labels,
            asked.komi,
            options.net_rollouts,
            play,
            numbers=asked.rows,
            watch=watch,
        )
    return Judgement(about(one, options.net_rollouts, found.asked), found.value, found.variance)


def by_value(options: RolloutOptions, one: OpenNet, asked: Asked) -> Judgement:
    """Ask a value net about each position, once and as it stands."""
    values = []
    assert one.reader is not None
    with progress(one.name, "positions") as watch:
        done = 0
        watch(done, len(asked.rows))
        for positions, _ in one.reader.batches(asked.rows, options.at_once):
            answers = one.net.evaluate(positions)
            assert answers.value is not None
            values.append(answers.value)
            done += len(positions)
            watch(done, len(asked.rows))
    value = np.concatenate(values).astype(np.float64)
    return Judgement(about(one, 0, len(value)), value, np.zeros(len(value)))


def about(one: OpenNet, games: int, asked: int) -> About:
    return About(one.name, one.name, one.kind, games, one.net.face.name, one.weights, asked)
