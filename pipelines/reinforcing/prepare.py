"""The objects of a run: `prepare` makes net, pool, games, module and callbacks from the options."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from pytorch_lightning import Callback

from data.features.evaluation import VALUE, Evaluator
from models.answering.engines import check_device, choose_device
from models.answering.inference import Inference
from models.answering.live import LiveEngine
from models.answering.open import open_net
from models.answering.precision import has_bf16
from models.learning.checkpoints import Checkpoints, TrainingStopped
from models.learning.exact_resume import Restored
from models.learning.reinforce import PolicyGradient, Terms
from pipelines.reinforcing.guard import Guard
from pipelines.reinforcing.options import RANDOM_START, ReinforceError, ReinforceOptions
from pipelines.reinforcing.playing import SelfPlay
from pipelines.reinforcing.pool import FIRST, Pool, PoolKeeper
from pipelines.reinforcing.positions import Openings, empty_record, read_openings
from pipelines.reinforcing.progress import UpdateProgress
from pipelines.reinforcing.start import Begun, new_net, open_start
from pipelines.shell.configuration import plain
from pipelines.shell.project import find_weights
from pipelines.training.assemble import check_factories
from pipelines.training.precision import settle_precision

OBJECTIVE = "val/win_rate"


@dataclass(frozen=True)
class Parts:
    """What a run consists of."""

    module: PolicyGradient
    play: SelfPlay
    callbacks: list[Callback]
    restored: Restored


class Endless:
    """Batches without content: the module plays its own games."""

    def __iter__(self) -> Iterator[int]:
        return repeat(0)


def open_begun(options: ReinforceOptions, pool: Path, *, resumed: bool) -> Begun:
    """Return the net that the run begins with, or began with if it goes on."""
    if resumed:
        return open_start(pool / f"{FIRST:06d}.ckpt")
    if options.start == RANDOM_START:
        return new_net(options.net, options.seed)
    return open_start(find_weights(options.start))


def complete(cfg: DictConfig, begun: Begun, *, resumed: bool) -> str:
    """Write to the configuration what follows from the net and from this machine.

    The run becomes a multiple of the updates from one evaluation to the next. Returns a line about
    the precision. Raises `Mistake` for what does not fit.
    """
    if cfg.size is None:
        cfg.size = begun.card.size
    if not begun.card.fits(cfg.size):
        raise ReinforceError(f"size={cfg.size}: this net is for boards of {begun.card.sizes()}")
    parts = max(1, round(cfg.updates / cfg.evaluate.every))
    cfg.evaluate.every = max(1, cfg.updates // parts)
    cfg.updates = cfg.updates // cfg.evaluate.every * cfg.evaluate.every
    if cfg.start != RANDOM_START:
        cfg.start = str(find_weights(str(cfg.start)).absolute())
        cfg.net = begun.card.net
    if cfg.baseline_net:
        cfg.baseline_net = str(find_weights(str(cfg.baseline_net)).absolute())
    cfg.device = choose_device(cfg.device)
    check_device(cfg.device)
    if cfg.engine == "auto":
        cfg.engine = "bf16" if has_bf16(cfg.device) else "fp32"
    accelerator, _ = accelerator_of(cfg.device)
    trainer = OmegaConf.create(
        {"trainer": {"accelerator": accelerator, "precision": cfg.precision}}
    )
    line = settle_precision(trainer, resumed=resumed)
    cfg.precision = trainer.trainer.precision
    line = line.replace("trainer.precision", "precision")
    return f"{line}; games are played in {cfg.engine}"


def accelerator_of(device: str) -> tuple[str, Any]:
    """Return Lightning's name of a device, and which one of them."""
    kind, _, number = device.partition(":")
    return {"cuda": "gpu"}.get(kind, kind), [int(number)] if number else 1


def prepare(
    cfg: DictConfig, options: ReinforceOptions, begun: Begun, output: Path, *, resumed: bool
) -> Parts:
    """Return the parts of a run whose options are complete."""
    from hydra.utils import instantiate

    assert options.size is not None
    rules = options.rules(options.size)
    config = plain(cfg) | begun.hyper_parameters() | {"size_played": options.size}
    config["trainer"] = {"precision": options.precision}
    saving = Checkpoints(
        str(output / "checkpoints"),
        monitor=OBJECTIVE,
        mode="max",
        every_steps=options.checkpoint_every,
    )

    value_net = open_baseline(options)

    def stopped() -> None:
        """Give up the games in progress if a signal came; the last evaluation is finished."""
        if saving.stopped_by is not None and module.global_step < options.updates:
            raise TrainingStopped(saving.stopped_by, module.global_step)

    pool = Pool(output / "pool", options.pool, opener_of(options), options.seed)
    play = SelfPlay(
        options,
        rules,
        begun.net,
        live(begun, options),
        pool,
        openings_of(options, options.size),
        value_net=value_net,
        stopped=stopped,
    )
    weight = options.value if VALUE in begun.card.answers else 0.0
    module = PolicyGradient(
        begun.net,
        instantiate(cfg.optimizer),
        instantiate(cfg.schedule),
        play,
        Terms(options.temperature, options.kl, options.entropy, weight),
        updates=options.updates,
        clip=options.clip,
        most_change=options.step,
    )
    module.save_hyperparameters(config)
    check_factories(module)
    if not resumed:
        state = {f"net.{name}": value for name, value in begun.net.state_dict().items()}
        pool.write(FIRST, config, state)
    guard = Guard(output / "checkpoints", options.collapse, pool, options.games)
    keeper, progress = PoolKeeper(pool, config), UpdateProgress(options.games)
    restored = Restored()
    return Parts(module, play, [restored, keeper, guard, progress, saving], restored)


def live(begun: Begun, options: ReinforceOptions) -> Inference:
    """Return the learner as a player."""
    engine = LiveEngine(
        begun.net,
        begun.card,
        precision=options.engine,
        device=options.device,
        threads=options.threads,
    )
    return Inference(begun.card, engine)


def opener_of(options: ReinforceOptions) -> Callable[[Path], Evaluator]:
    """Return a function that opens other nets as this run computes."""

    def opened(path: Path) -> Evaluator:
        return open_net(path, engine=options.engine, device=options.device, threads=options.threads)

    return opened


def open_baseline(options: ReinforceOptions) -> Evaluator | None:
    """Open `baseline_net`. Raises `Mistake` if it does not tell who wins on this board."""
    if options.baseline_net is None:
        return None
    where = f"baseline_net={options.baseline_net}"
    net = opener_of(options)(Path(options.baseline_net))
    if not isinstance(net, Inference):
        raise ReinforceError(f"{where}: a policy of patterns; a value or dual net is needed")
    if VALUE not in net.face.answers:
        raise ReinforceError(f"{where}: this net does not tell who wins; a value or dual net does")
    assert options.size is not None
    if not net.fits(options.size):
        raise ReinforceError(
            f"{where}: a net for boards of {net.card.sizes()}, games are on "
            f"{options.size}x{options.size}"
        )
    return net


def openings_of(options: ReinforceOptions, size: int) -> Openings:
    if options.opening.games is None:
        return Openings([empty_record(size)], options.komi, options.ko)
    return read_openings(
        options.opening.games, size, options.opening.ply, options.komi, options.ko, options.seed
    )
