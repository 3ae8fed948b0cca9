"""`Card`: what a net is, as plain values. It is written as JSON beside the weights.

A card `policy.json` describes the files `policy.safetensors`, `policy.onnx` and `policy.int8.onnx`
of one net: all that a program needs to use them. It has the checksums of these files and one of
itself, and describes input and outputs in words (`interface.py`). Nothing here needs torch.

    schema 1   no checksum of its own, no words about input and output
    schema 2   both
    schema 3   the feature set, the answers, whether passes are named, and what to assume in play

All three are read. Nets of older cards take planes of `alphago48` and have the answer `kind`.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from data.base import atomic
from data.base.errors import Mistake
from data.features.evaluation import ANSWERS, OWNER, POLICY, REPLY, VALUE
from data.features.feature_set import ALPHAGO48, feature_set
from data.features.inputs import Inputs, inputs_of_names
from data.features.uniform import Conditions
from models.files.interface import Shape, interface

SCHEMA = 3
OLDER = (1, 2)  # older schemas that are read
CHECKSUM = "card_sha256"  # the key of the checksum of all else on a card; schema 1 has none
FORMAT = "LambdaGo net"
IN_WORDS = ("input", "output", "outputs")  # keys that describe the net to people
DUAL = "dual"  # the kind of a net with several answers
KINDS = (POLICY, VALUE, DUAL)
MOST_PLANES = 256
# the files that a card describes, and their kinds
SUFFIXES = {".safetensors": "weights", ".onnx": "onnx", ".int8.onnx": "int8"}


class NetFileError(Mistake):
    """A file is no net that can be used here; the message says why, in one line."""


class ExportError(Mistake):
    """The files of a net can't be made as asked; the message says why."""


@dataclass(frozen=True)
class Card:
    name: str
    kind: str  # policy or value, the one answer that it gives; dual: several
    size: int  # of the board that it was trained on
    planes: tuple[str, ...]  # names, in order
    net: dict[str, Any]  # class and its numbers
    weights: int = 0  # how many
    least: int = 0  # the smallest board that it answers for; 0: `size` alone
    files: dict[str, dict[str, Any]] = field(default_factory=dict)  # name: {bytes, sha256}
    data: dict[str, Any] = field(default_factory=dict)  # what it was trained on
    compute: dict[str, Any] = field(default_factory=dict)  # with what effort
    accuracy: dict[str, Any] = field(default_factory=dict)  # and how well it does
    parity: dict[str, Any] = field(default_factory=dict)  # how its files compare with each other
    made: dict[str, Any] = field(default_factory=dict)  # when, and by which versions
    features: str = ALPHAGO48.name  # the set that its planes belong to
    answers: tuple[str, ...] = ()  # in order; (): the one that `kind` names
    names_pass: bool = False  # whether `policy` and `reply` have a place for a pass, the last one
    assume: dict[str, Any] = field(default_factory=dict)  # conditions to play under, in words

    def __post_init__(self) -> None:
        if not self.answers:
            object.__setattr__(self, "answers", (self.kind,))

    def fits(self, size: int) -> bool:
        """Whether it answers for boards of that size."""
        return (self.least or self.size) <= size <= self.size

    @property
    def inputs(self) -> Inputs:
        """The planes that it takes. Raises `Mistake` if this program makes no such planes."""
        return inputs_of(self.features, self.planes)

    @property
    def takes_komi(self) -> bool:
        return "komi" in self.planes

    @property
    def conditions(self) -> Conditions:
        """What it assumes of games of which nothing is known."""
        return Conditions.of(self.assume)

    @property
    def shape(self) -> Shape:
        return Shape(self.answers, self.size, self.least, self.names_pass)

    def interface(self) -> dict[str, Any]:
        """Return input and outputs in words."""
        return interface(feature_set(self.features), self.planes, self.shape)

    def sizes(self) -> str:
        return (
            f"{self.least}x{self.least} to {self.size}x{self.size}"
            if self.fits(self.size - 1)
            else f"{self.size}x{self.size}"
        )

    @property
    def is_equivariant(self) -> bool:
        """Whether the net is equivariant: it answers alike for all images of a position."""
        return bool(self.compute.get("symmetric_layers"))

    def weights_in_words(self) -> str:
        return weights_in_words(self.compute.get("weights_to_learn") or self.weights, self.weights)

    def to_json(self) -> str:
        return as_text({"format": FORMAT, "schema": SCHEMA, **asdict(self), **self.interface()})


def kind_of(answers: tuple[str, ...]) -> str:
    """Return `policy` or `value` for nets of that one answer, else `dual`."""
    return answers[0] if answers in ((POLICY,), (VALUE,)) else DUAL


def shape_of(answer: str, count: int, size: int, names_pass: bool) -> tuple[int, ...]:
    """Return the shape of a net's answer to `count` positions."""
    points = size * size
    if answer in (POLICY, REPLY):
        return count, points + names_pass
    return (count, points) if answer == OWNER else (count,)


@lru_cache(64)
def inputs_of(features: str, planes: tuple[str, ...]) -> Inputs:
    """Return the inputs with planes of these names, of that set where several have them."""
    found = inputs_of_names(planes)
    wanted = feature_set(features)
    if not wanted.stores_like(found.features):
        raise Mistake(f"planes of {found.features.name}, but its features are {features}")
    inputs = Inputs(wanted, found.stored, found.uniform)
    return inputs if inputs.names == planes else found


def weights_in_words(learned: int, plain: int) -> str:
    """Return how many weights a net has.

    Equivariant layers learn each number once; as ordinary layers they have it in eight places.
    """
    return (
        f"{plain:,} weights"
        if learned == plain
        else f"{learned:,} weights to learn ({plain:,} as plain layers)"
    )


def as_text(values: dict[str, Any]) -> str:
    """Return a card as JSON, with its checksum."""
    values = {key: value for key, value in values.items() if key != CHECKSUM}
    return json.dumps({**values, CHECKSUM: checksum_of(values)}, indent=1) + "\n"


def checksum_of(values: dict[str, Any]) -> str:
    """Return the checksum of a card's values, whatever the spacing and order of its file."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def read_card(path: Path) -> Card:
    """Read a card.

    Raises `NetFileError`, one line, if the file is missing or no card, or if this program has not
    the inputs that the net takes.
    """
    if not path.is_file():
        if path.with_suffix("").is_dir():
            raise NetFileError(
                f"{path.with_suffix('')}: a folder; "
                "name a file in it, as checkpoints/best.ckpt of a run, or a card"
            )
        raise NetFileError(
            f"{path}: there is no such card; "
            "export_model.py writes one beside the nets that it makes"
        )
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):  # not JSON, or not even text
        raise NetFileError(f"{path}: not a readable card, perhaps cut off") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise NetFileError(f"{path}: not the card of a net of this project")
    if (schema := values.get("schema")) != SCHEMA and schema not in OLDER:
        raise NetFileError(
            f"{path}: card of schema {schema!r}, this program reads schema {SCHEMA}; "
            "export the net again"
        )
    if schema != 1 and values.pop(CHECKSUM, None) != checksum_of(values):
        raise NetFileError(
            f"{path}: damaged, or changed by hand (another checksum); "
            "export the net again, notes= is for words"
        )
    fields = {
        key: value for key, value in values.items() if key not in ("format", "schema", *IN_WORDS)
    }
    try:
        card = Card(**fields)
    except TypeError as error:
        raise NetFileError(f"{path}: a damaged card ({str(error)[:100]!a})") from None
    if problem := what_is_wrong(card):
        raise NetFileError(f"{path}: {problem}")
    return replace(card, planes=tuple(card.planes), answers=tuple(card.answers))


def what_is_wrong(card: Card) -> str:
    """Return why this program can't use the net, or ''."""
    if card.kind not in KINDS:
        return f"a net of kind {card.kind!r}, known are {', '.join(KINDS)}"
    if not isinstance(card.name, str) or type(card.weights) is not int or card.weights < 0:
        return "a damaged card: name is a word, weights a whole number"
    if type(card.size) is not int or not 2 <= card.size <= 19:
        return f"for boards of size {card.size!r}, this program plays on 2 to 19"
    if type(card.least) is not int or not 0 <= card.least <= card.size:
        return f"a damaged card: least={card.least!r}, a board of 2 to {card.size}, or 0"
    tables = {
        name: getattr(card, name)
        for name in ("net", "files", "data", "compute", "accuracy", "parity", "made", "assume")
    }
    if wrong := [name for name, value in tables.items() if not isinstance(value, dict)]:
        return f"a damaged card: {', '.join(wrong)} should be an object"
    if wrong := [
        name
        for name, value in (("name", card.name), *tables.items())
        if not all(map(is_sound, leaves(value)))
    ]:
        return (
            f"a damaged card: {', '.join(wrong)} with letters that can't be shown, "
            "or a number that is none"
        )
    if wrong := [name for name, entry in card.files.items() if not is_file_entry(name, entry)]:
        return f"a damaged card: {wrong[0]!r} should be a file beside it, with bytes and sha256"
    learned = card.compute.get("weights_to_learn")
    if learned is not None and (type(learned) is not int or learned < 0):
        return f"a damaged card: weights_to_learn={learned!r}, a whole number"
    share = card.compute.get("held_out")
    if share is not None and not (isinstance(share, int | float) and 0 <= share <= 1):
        return f"a damaged card: held_out={share!r}, a share of all games from 0 to 1"
    return what_is_wrong_with_planes(card) or what_is_wrong_with_answers(card)


def what_is_wrong_with_planes(card: Card) -> str:
    planes = card.planes
    if not isinstance(planes, list | tuple) or not 1 <= len(planes) <= MOST_PLANES:
        return f"a damaged card: planes is a list of names, {MOST_PLANES} at most"
    if not all(isinstance(name, str) and name.isprintable() and len(name) < 50 for name in planes):
        return "a damaged card: planes have names, which are short words"
    if not isinstance(card.features, str) or not card.features.isprintable():
        return "a damaged card: features is the name of a set"
    try:
        inputs_of(card.features, tuple(planes))
        Conditions.of(card.assume)
    except Mistake as error:
        return str(error)
    if idle := [name for name in card.assume if name not in planes]:
        return f"assumes a condition that the net does not take: {idle[0]}"
    return ""


def what_is_wrong_with_answers(card: Card) -> str:
    answers = card.answers
    if not isinstance(answers, list | tuple) or not all(name in ANSWERS for name in answers):
        return f"a damaged card: answers are some of {', '.join(ANSWERS)}"
    if tuple(answers) != tuple(name for name in ANSWERS if name in answers):
        return f"a damaged card: answers once each, in the order {', '.join(ANSWERS)}"
    if card.kind != kind_of(tuple(answers)):
        return f"a damaged card: of kind {card.kind}, and answers {', '.join(answers)}"
    if type(card.names_pass) is not bool:
        return "a damaged card: names_pass is true or false"
    return ""


def leaves(value: Any) -> Iterator[Any]:
    """Yield all words and numbers in a value, its keys included."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield key
            yield from leaves(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from leaves(entry)
    else:
        yield value


def is_sound(value: Any) -> bool:
    """Whether a word can be shown on a terminal as it is, or a number is finite."""
    if isinstance(value, str):
        return value.isprintable()
    return not isinstance(value, float) or math.isfinite(value)


def is_file_entry(name: str, entry: Any) -> bool:
    if not isinstance(entry, dict) or set(entry) != {"bytes", "sha256"} or set(name) & set("/\\"):
        return False
    return (
        type(entry["bytes"]) is int
        and entry["bytes"] >= 0
        and bool(re.fullmatch("[0-9a-f]{64}", str(entry["sha256"])))
    )


def find_card(path: Path) -> Path:
    """Return where the card of a net's file is."""
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if path.name.endswith(suffix):
            return path.with_name(path.name.removesuffix(suffix) + ".json")
    return path


def describe(path: Path) -> dict[str, Any]:
    """Return a file's entry in the card's `files`."""
    return {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def read_described(path: Path, card: Card) -> bytes:
    """Return the bytes of a file. Raises `NetFileError` unless the card describes them."""
    if not path.is_file():
        raise NetFileError(f"{path}: there is no such file")
    content = path.read_bytes()
    entry = card.files.get(path.name)
    if not isinstance(entry, dict):
        raise NetFileError(
            f"{path}: its card {find_card(path).name} does not list it; export the net again"
        )
    if len(content) != entry.get("bytes"):
        raise NetFileError(
            f"{path}: {len(content):,} bytes, its card says {entry.get('bytes')}; perhaps cut off"
        )
    if hashlib.sha256(content).hexdigest() != entry.get("sha256"):
        raise NetFileError(f"{path}: not the file that its card describes (another checksum)")
    return content


def write_card(card: Card, path: Path) -> None:
    atomic.write_text(path, card.to_json())
