"""The nets that play: `ExportedNets` writes one for each round, `RoundNet` opens one anywhere.

    nets/000012.json            the card, written last: it announces the net that plays round 12
    nets/000012.safetensors     the weights, for a GPU or bf16
    nets/000012.int8.onnx       for a processor; missing if int8 differs too much from fp32

Every program that takes a net takes the card. A net is exported once: weights that are there
already are left alone, so tasks that name the card's checksum stay valid when a run goes on.
"""

import copy
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from data.base.atomic import PREFIX, replacing
from data.features.evaluation import Evaluator
from models.files.card import SUFFIXES, Card, NetFileError, describe, read_card, write_card
from pipelines.selfplay.positions_players import Interruptible, NetPlayer, PlayerError, hash_net

if TYPE_CHECKING:
    from models.exporting.quick import NetFiles, QuickExport
    from models.learning.rounds import RoundLearner

OPEN = 2  # nets that a process keeps open: one that plays, and one before or behind it
INT8 = ("auto", "int8")  # values of `engine` that ask for an int8 file
NO_INT8 = "no_int8"  # the key under `compute` on a card that says why there is no such file

LOCK = threading.Lock()  # workers of a cluster may have several threads
OPENED: OrderedDict["RoundNet", Evaluator] = OrderedDict()


@dataclass(frozen=True)
class RoundNet(NetPlayer):
    """The net of a round, as tasks carry it to other processes."""

    def open(self) -> Evaluator:
        """Return the net, opened once in a process; of older ones a few stay open.

        Raises `PlayerError` if the file is gone or another one, `NetFileError` if it can't be used.
        """
        from models.answering.open import open_net

        with LOCK:
            if self not in OPENED:
                found = hash_net(self.path)
                if found != self.sha256:
                    raise PlayerError(
                        f"{self.path}: another net than when the games were ordered (SHA-256 "
                        f"{found[:12]}, not {self.sha256[:12]}); begin the run again elsewhere"
                    )
                while len(OPENED) >= OPEN:
                    OPENED.popitem(last=False)
                net = open_net(
                    self.path, engine=self.engine, device=self.device, threads=self.threads
                )
                OPENED[self] = Interruptible(net)
            OPENED.move_to_end(self)
            return OPENED[self]


@dataclass(frozen=True)
class Exported:
    """A net that was exported, and the engine that plays it here."""

    path: Path  # of the card
    engine: str  # int8, bf16 or fp32
    parity: Mapping[str, Mapping[str, float]]  # how int8 compares with fp32, by answer
    problem: str = ""  # why it plays in another engine than int8, if that was asked for

    @property
    def line(self) -> str:
        """The problem in one line for the user, or ''."""
        told = f"net {self.path.stem}: {self.problem}; it plays in {self.engine}"
        return told if self.problem else ""


class ExportedNets:
    """The folder `nets` of a run called `name`. `engine` and `device` are those of its play.

    Every `keep`-th net stays when the others are removed.
    """

    def __init__(
        self, folder: Path, *, name: str, keep: int, engine: str = "auto", device: str = "cpu"
    ):
        from models.answering.engines import choose_device

        self.folder, self.name, self.keep = folder, name, keep
        self.engine, self.device = engine, device
        self.with_int8 = engine in INT8 and choose_device(device) == "cpu"
        self.exporter: QuickExport | None = None

    def card_path(self, round: int) -> Path:
        return self.folder / f"{round:06d}.json"

    def export(
        self,
        round: int,
        learner: "RoundLearner",
        planes: np.ndarray,
        told: Mapping[str, Any] | None = None,
    ) -> Exported:
        """Write the net that plays round `round`: the learner's playing weights.

        `planes`, uint8 NHWC, are some hundreds of rows of the newest games, in their order: int8 is
        calibrated and judged on them. `told` is what the card tells of the data besides.
        """
        from models.exporting.quick import QuickExport
        from models.files.checksums import checksum
        from models.nets.build import plain_net

        arguments = learner.config["model"]["net"]
        # a copy on the processor: a net of ordinary layers would be the learner's own
        net, plain = plain_net(copy.deepcopy(learner.playing).cpu(), arguments)
        net.eval()
        weights = checksum(net.state_dict())
        path = self.card_path(round)
        if (card := self.there(path, weights)) is not None:
            return self.exported(round, card)
        card = self.card(round, learner, net, plain, weights, told or {})
        if self.exporter is None or self.exporter.card.net != card.net:
            self.exporter = QuickExport(card)
        files = self.exporter.files(net, planes if self.with_int8 else None)
        return self.exported(round, self.write(path, card, files))

    def exported(self, round: int, card: Card) -> Exported:
        path = self.card_path(round)
        found: dict[str, Any] = card.parity.get(path.with_suffix(".int8.onnx").name, {})
        parity = found if len(card.answers) > 1 or not found else {card.answers[0]: found}
        problem = str(card.compute.get(NO_INT8) or "") if self.with_int8 else ""
        return Exported(path, self.player(round, self.engine, self.device).engine, parity, problem)

    def there(self, path: Path, weights: str) -> Card | None:
        """Return the card of these weights if they were exported before and all files are whole."""
        from models.files.provenance import CHECKSUM

        try:
            card = read_card(path)
        except NetFileError:
            return None
        wanted = {path.with_suffix(".safetensors").name}
        if self.with_int8 and not card.compute.get(NO_INT8):
            wanted.add(path.with_suffix(".int8.onnx").name)
        if card.made.get(CHECKSUM) != weights or not wanted <= card.files.keys():
            return None
        files = {path.with_name(name): entry for name, entry in card.files.items()}
        whole = all(file.is_file() and describe(file) == entry for file, entry in files.items())
        return card if whole else None

    def card(
        self,
        round: int,
        learner: "RoundLearner",
        net: Any,
        plain: dict[str, Any],
        weights: str,
        told: Mapping[str, Any],
    ) -> Card:
        from models.files.open import card_of, features_of, inputs_of_net
        from models.files.provenance import about_compute, about_versions
        from models.nets.build import count_weights

        config = learner.config
        inputs = inputs_of_net(plain, features_of(config))
        card = card_of(net, plain, config["size"], name=f"{self.name} {round}", inputs=inputs)
        compute = about_compute(config, learner.steps)
        compute["weights_to_learn"] = count_weights(learner.net)
        return replace(
            card,
            data={
                "self_play": "games that earlier nets of this run played against themselves",
                "run": self.name,
                "rounds": learner.rounds,
                **told,
            },
            compute=compute,
            made=about_versions(weights),
        )

    def write(self, path: Path, card: Card, files: "NetFiles") -> Card:
        """Write the files, then the card, which is returned.

        An int8 file of other weights, from before, is removed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        int8 = path.with_suffix(".int8.onnx")
        for older in (path, int8):
            older.unlink(missing_ok=True)
        contents = {path.with_suffix(".safetensors"): files.weights, int8: files.int8}
        written = {}
        for place, content in contents.items():
            if content is not None:
                with replacing(place) as temporary:
                    temporary.write_bytes(content)
                written[place.name] = describe(place)
        several = len(card.answers) > 1
        parity = files.parity if several else next(iter(files.parity.values()), {})
        if files.problem:
            card = replace(card, compute={**card.compute, NO_INT8: files.problem})
        elif parity:
            card = replace(card, parity={int8.name: dict(parity)})
        card = replace(card, files=written)
        write_card(card, path)
        return card

    def player(self, round: int, engine: str = "auto", device: str = "auto") -> RoundNet:
        """Return the net of a round as tasks carry it, with an engine and a device that are chosen.

        `auto` and `int8` stand for int8 on a processor if the net has such a file, else for the
        precision that is faster here.
        """
        from models.answering.open import resolve

        path = self.card_path(round)
        if engine == "int8" and path.with_suffix(".int8.onnx").name not in read_card(path).files:
            engine = "auto"
        return RoundNet(path, hash_net(path), *resolve(path, engine, device))

    def prune(self, round: int) -> None:
        """Remove the nets of all rounds before `round`, but every `keep`-th, and unfinished files.

        Removes cards first, because a card announces its files.
        """
        for card in sorted(self.folder.glob("*.json")):
            if card.stem.isdecimal() and int(card.stem) < round and int(card.stem) % self.keep:
                for suffix in (".json", *SUFFIXES):
                    card.with_name(card.stem + suffix).unlink(missing_ok=True)
        for unfinished in self.folder.glob(f"{PREFIX}*"):
            unfinished.unlink(missing_ok=True)


def about_run(
    config: Mapping[str, Any],
    net: Mapping[str, Any],
    *,
    name: str,
    size: int,
    features: str,
    batch: int,
    precision: str,
) -> dict[str, Any]:
    """Return a run's configuration with what readers of its checkpoints and cards look for.

    `net` are the arguments of the net, complete: planes, uniform and size are numbers and names.
    `dataset` names no file: who exports or judges a checkpoint says which one to use.
    """
    model = config.get("model")
    return {
        **config,
        "model": {**(model if isinstance(model, dict) else {}), "net": dict(net)},
        "size": size,
        "features": features,
        "positions_a_step": batch,
        "trainer": {"precision": precision},
        "loader": {"features": features, "symmetries": "random"},
        "dataset": f"self-play of {name}",
        "held_out": 1.0,  # of the games of any dataset none was learned from
    }
