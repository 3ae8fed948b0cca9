"""Where the weights of a net are opened, whatever file holds them: `open_weights(path)`.

    checkpoint (.ckpt)                  the net of a run
    card (.json) or .safetensors        an exported net
    .ckpt of a PatternNet               `open_patterns`: a rollout or tree policy

Every function returns a module with ordinary layers, ready to answer. To get answers, use
`models.answering.open.open_net`, which chooses an engine; to continue learning, use
`checkpoint.load_learner`. Functions import torch themselves: a program that plays with an ONNX
file does without.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.base.errors import Mistake, first_line
from data.features.evaluation import ANSWERS
from data.features.feature_set import ALPHAGO48, ZERO17, ZERO18, feature_set
from data.features.inputs import Inputs
from data.game.coords import MIN_SIZE
from models.files.card import (
    Card,
    NetFileError,
    find_card,
    kind_of,
    read_card,
    read_described,
    shape_of,
    what_is_wrong,
)

if TYPE_CHECKING:
    from data.patterns.files import PatternWeights

EXPORTED = (".json", ".safetensors")


@dataclass(frozen=True)
class Opened:
    """A net with its card and, if it comes from a checkpoint, what its run says."""

    net: Any
    card: Card
    config: dict[str, Any]  # of the run; {} for an exported net
    steps: int | None  # of the run


def open_weights(path: Path) -> Opened:
    """Open a checkpoint or an exported net. Raises `NetFileError`, one line."""
    return open_exported(path) if path.suffix in EXPORTED else from_checkpoint(path)


def open_exported(path: Path) -> Opened:
    """Open an exported net by its card, or by any file beside it. Raises `NetFileError`."""
    card = read_card(find_card(path))
    weights = find_card(path).with_suffix(".safetensors")
    return Opened(from_safetensors(weights, card), card, {}, None)


def from_checkpoint(path: Path) -> Opened:
    """Open a checkpoint of a net that sees planes.

    The card tells what the layers were like while they learned: `symmetric_layers` and
    `weights_to_learn`. Raises `NetFileError`, one line.
    """
    from models.files.checkpoint import CheckpointError, read_checkpoint

    try:
        checkpoint = read_checkpoint(path)
        net, config = net_of(checkpoint, path)
    except CheckpointError as error:
        raise NetFileError(str(error)) from None
    try:
        arguments, size = config["model"]["net"], int(config["size"])
        inputs = inputs_of_net(arguments, features_of(config))
        card = card_of(net, arguments, size, name=path.stem, inputs=inputs)
        about = ("held_out", "symmetric_layers", "weights_to_learn")
        card = replace(card, compute={key: config.get(key) for key in about})
        card = assuming(card, config.get("assume"))
    except (KeyError, TypeError, RuntimeError, Mistake) as error:
        if isinstance(error, NetFileError):
            raise
        raise NetFileError(
            f"{path}: its configuration does not say what the net is for ({first_line(error)})"
        ) from None
    return Opened(net, card, checkpoint["hyper_parameters"], checkpoint["global_step"])


def assuming(card: Card, words: Any) -> Card:
    """Return the card with the conditions to play under that a run's configuration tells.

    Raises `NetFileError` for conditions that there are not, or that the net does not take.
    """
    if not words:
        return card
    card = replace(card, assume=words)
    if problem := what_is_wrong(card):
        raise NetFileError(f"{card.name}: assume: {problem}")
    return card


def load_net(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """Return the net of a checkpoint, with ordinary layers, and the configuration of its run.

    In the configuration, the net is described with ordinary layers; `symmetric_layers` and
    `weights_to_learn` tell what its layers were like while they learned.
    """
    from models.files.checkpoint import read_checkpoint

    return net_of(read_checkpoint(path), path)


def net_of(checkpoint: dict[str, Any], path: str | Path) -> tuple[Any, dict[str, Any]]:
    """The same for a checkpoint that was read already; `path` is named in errors."""
    import torch

    from models.files.checkpoint import learner_of
    from models.nets.build import count_weights, plain_net

    net, config = learner_of(checkpoint, path)
    plain, card = plain_net(net, config["model"]["net"])
    config = {
        **config,
        "model": {**config["model"], "net": card},
        "symmetric_layers": bool(config["model"]["net"].get("symmetric")),
        "weights_to_learn": count_weights(net),
    }
    return plain.to(memory_format=torch.channels_last).eval(), config  # type: ignore[call-overload]


def features_of(config: dict[str, Any]) -> str | None:
    """Return the feature set that a run's configuration names; None if it names none."""
    loader = config.get("loader")
    found = config.get("features") or (loader.get("features") if isinstance(loader, dict) else None)
    return str(found) if found else None


def inputs_of_net(arguments: dict[str, Any], features: str | None = None) -> Inputs:
    """Return the planes that a net takes, from the arguments that it was made with.

    `features` is the name of the set that it learned from. Where nothing tells it, 16 stored planes
    and the colour to move are those of a zero set, and all else is `alphago48`. Raises `Mistake`.
    """
    planes, uniform = int(arguments["planes"]), arguments.get("uniform")
    if uniform is None:
        return Inputs.of_count(planes)
    uniform = tuple(map(str, uniform))
    if features is None:
        named = [each for each in (ZERO18, ZERO17) if uniform[: len(each.uniform)] == each.uniform]
        features = (named[0] if named and planes == ZERO17.planes else ALPHAGO48).name
    return Inputs(feature_set(features), planes, uniform)


def card_of(
    net: Any, arguments: dict[str, Any], size: int, *, name: str, inputs: Inputs | None = None
) -> Card:
    """Return the card of a net. Raises `NetFileError` if its answers have other shapes than theirs.

    `arguments` are those that it was made with, and `inputs` the planes that it takes.
    """
    import torch

    from models.nets.answers import answers_of, ask
    from models.nets.build import count_weights

    inputs = inputs or inputs_of_net(arguments)
    with torch.inference_mode():
        found = ask(net, torch.zeros(1, len(inputs), size, size, dtype=torch.uint8))
    answers, names_pass = answers_of(net), bool(getattr(net, "names_pass", False))
    shapes = {answer: tuple(value.shape) for answer, value in found.items()}
    wanted = {answer: shape_of(answer, 1, size, names_pass) for answer in answers}
    if not answers or shapes != wanted or list(wanted) != [a for a in ANSWERS if a in wanted]:
        raise NetFileError(f"a net that answers with {shapes}; {wanted} is expected")
    return Card(
        name,
        kind_of(answers),
        size,
        inputs.names,
        dict(arguments),
        count_weights(net),
        MIN_SIZE if getattr(net, "any_size", False) else 0,
        features=inputs.features.name,
        answers=answers,
        names_pass=names_pass,
    )


def from_safetensors(path: Path, card: Card) -> Any:
    """Return the net of a .safetensors file that the card describes. Raises `NetFileError`."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    content = read_described(path, card)
    try:
        return fill(card, {name: as_float(value) for name, value in load(content).items()})
    except (
        SafetensorError,
        KeyError,
        TypeError,
        AttributeError,
        ImportError,
        RuntimeError,
    ) as error:
        raise NetFileError(
            f"{path}: does not fit its card or this program ({first_line(error)})"
        ) from None
    except ValueError as error:
        raise NetFileError(f"{path}: {first_line(error)}") from None


def fill(card: Card, tensors: dict[str, Any]) -> Any:
    """Make the net on the card and give it these weights."""
    import torch

    from models.nets.build import make_net

    # "meta" needs no memory and no random numbers for weights that are about to be replaced
    with torch.device("meta"):
        net = make_net(card.net)
    state = net.state_dict()
    odd = [name for name in state if name in tensors and tensors[name].dtype != state[name].dtype]
    if odd:
        raise ValueError(f"{odd[0]!a} has numbers of another kind than the net computes with")
    net.load_state_dict(tensors, assign=True)
    return net


def as_float(value: Any) -> Any:
    """Return numbers of 16 bits as float32, which nets compute with; other kinds unchanged."""
    import torch

    return value.float() if value.dtype in (torch.float16, torch.bfloat16) else value


# --- policies of patterns


@dataclass(frozen=True)
class OpenedPatterns:
    """A rollout or tree policy, and if it comes from a checkpoint, what its run says."""

    patterns: "PatternWeights"
    size: int
    name: str
    config: dict[str, Any]
    steps: int | None


def is_of_patterns(path: Path) -> bool:
    """Whether a checkpoint holds a `PatternNet`; False if it can't be read."""
    from models.files.checkpoint import CheckpointError, read_checkpoint

    try:
        net = read_checkpoint(path)["hyper_parameters"]["model"]["net"]
    except (CheckpointError, KeyError, TypeError):  # whoever opens it next tells the reason
        return False
    return isinstance(net, dict) and str(net.get("_target_", "")).endswith(".PatternNet")


def open_patterns(path: Path) -> OpenedPatterns:
    """Open a rollout or tree policy from a checkpoint or from its .safetensors file.

    Raises `NetFileError`, one line.
    """
    from data.patterns.files import read_patterns
    from data.patterns.vocabulary import PatternError
    from models.files.checkpoint import CheckpointError, read_checkpoint

    try:
        if path.suffix == ".ckpt":
            checkpoint = read_checkpoint(path)
            net, config = net_of(checkpoint, path)
            about = {"compute": {"held_out": config.get("held_out")}}
            patterns, steps = replace(net.patterns(), about=about), checkpoint["global_step"]
            return OpenedPatterns(patterns, int(config["size"]), path.stem, config, steps)
        patterns = read_patterns(path)
        size, name = int(patterns.about.get("size", 19)), path.name.partition(".")[0]
        return OpenedPatterns(patterns, size, name, {}, None)
    except (PatternError, CheckpointError) as error:
        card = (
            f"; and there is no card {find_card(path).name} beside it"
            if path.suffix == ".safetensors"
            else ""
        )
        raise NetFileError(f"{error}{card}") from None
