"""The objects of a run: `prepare` makes them, once `complete` has filled in the configuration."""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from data.base.cores import compute_cores
from data.build.executors import Executor
from data.features.evaluation import POLICY
from data.features.feature_set import feature_set
from data.features.inputs import Inputs
from mcts.selfplay.memory.memory import Memory
from pipelines.shell.configuration import plain
from pipelines.shell.console import console
from pipelines.shell.options import names, read
from pipelines.shell.project import find_weights
from pipelines.zero.folder import RunFolder
from pipelines.zero.options import RANDOM, ZeroError, ZeroOptions
from pipelines.zero.rounds import Parts

DATASETS = ("loader",)  # groups that models bring along, which are of datasets
SEARCHED = "policy"  # the target of `models/learning/lessons.py` that holds chances of all moves
LOG_EVERY = 50  # of modules that Lightning trains

# torch takes seconds to import, and reads the environment that `run` sets: functions import it.


def read_options(cfg: DictConfig) -> ZeroOptions:
    """Return the checked options. Raises `Mistake`."""
    values = {
        name: plain(cfg[name]) if OmegaConf.is_config(cfg[name]) else cfg[name]
        for name in names(ZeroOptions)
        if name in cfg
    }
    if isinstance(values.get("search"), dict):
        values["search"].pop("_target_", None)
    return read(ZeroOptions, values)


def complete(cfg: DictConfig, *, resumed: bool) -> str:
    """Fill in what follows from the planes and from this machine.

    Returns a line about the precision. Raises `Mistake` for what does not fit.
    """
    from models.answering.engines import check_device, choose_device
    from pipelines.training.precision import settle_precision

    OmegaConf.set_struct(cfg, False)
    for group in DATASETS:
        cfg.pop(group, None)
    cfg.model.log_every = LOG_EVERY
    inputs = inputs_of(cfg)
    net = cfg.model.net
    net.planes, net.uniform = inputs.features.planes, list(inputs.uniform)
    if net.get("names_pass") is None:
        net.names_pass = True
    if not net.names_pass:
        raise ZeroError("model.net.names_pass=false: games of its own teach a net when to pass")
    learn_search(cfg)
    if cfg.get("start") is not None:
        cfg.start = str(find_weights(str(cfg.start)).absolute())
        cfg.first = RANDOM  # the first games are played by the net as it begins
    cfg.device = choose_device(str(cfg.device))
    check_device(cfg.device)
    kind = {"cuda": "gpu"}.get(str(cfg.device).partition(":")[0], "cpu")
    trainer = {"trainer": {"accelerator": kind, "precision": cfg.learn.precision}}
    settled = OmegaConf.create(trainer)
    line = settle_precision(settled, resumed=resumed)
    cfg.learn.precision = settled.trainer.precision
    return line.replace("trainer.precision", "learn.precision")


def learn_search(cfg: DictConfig) -> None:
    """Make the search's chances of all moves the target of the lesson `policy`.

    Models name no target, or the one of datasets, where there is one move. Raises `ZeroError` for
    another target, and for a net that does not learn which move to play.
    """
    lesson = cfg.model.lessons.get(POLICY)
    if lesson is None:
        raise ZeroError("model.lessons.policy=null: searches teach a net which move to play")
    if not OmegaConf.is_config(lesson):
        cfg.model.lessons[POLICY] = {"weight": lesson}
        lesson = cfg.model.lessons[POLICY]
    if lesson.get("target") not in (None, SEARCHED):
        raise ZeroError(
            f"model.lessons.policy.target={lesson.target}: a net learns what searches say of all "
            f"moves here; leave it out, or say {SEARCHED}"
        )
    lesson.target = SEARCHED


def inputs_of(cfg: DictConfig) -> Inputs:
    """Return the planes that the net takes. Raises `Mistake`."""
    return Inputs(feature_set(str(cfg.learn.features)), uniform=tuple(cfg.learn.extras or ()))


def prepare(cfg: DictConfig, options: ZeroOptions, folder: RunFolder) -> Parts:
    """Return the parts of a run whose configuration is complete."""
    from pipelines.zero.nets import ExportedNets
    from pipelines.zero.strength.strength import Strength
    from pipelines.zero.telling.teller import Teller

    inputs = inputs_of(cfg)
    threads = options.threads or compute_cores()
    strength = Strength(options, folder.path)
    strength.check()
    teller = Teller(options, folder.path)
    strength.matching = teller.matching
    return Parts(
        memory=Memory(options.size, inputs.features, inputs.uniform, options.memory, options.seed),
        learner=make_learner(cfg, options, threads, folder),
        nets=ExportedNets(
            folder.nets,
            name=folder.path.name,
            keep=options.keep_nets,
            engine=options.engine,
            device=options.device,
        ),
        strength=strength,
        teller=teller,
        cores=cores_of(options.executor, threads),
        threads=threads,
    )


def make_learner(cfg: DictConfig, options: ZeroOptions, threads: int, folder: RunFolder) -> Any:
    """Return what learns, with weights that follow from the seed, or from those of `start`."""
    import torch
    from hydra.utils import instantiate

    from models.learning.rounds import RoundLearner
    from models.learning.transfer import begin_with
    from pipelines.zero.nets import about_run

    torch.manual_seed(options.seed)
    try:
        module = instantiate(cfg.model)
    except Exception as error:
        cause = error.__cause__ or error
        raise ZeroError(f"model: does not describe a net that learns ({cause})") from None
    if options.start is not None and not folder.checkpoint.is_file():
        taken = begin_with(module.net, options.start, inputs_of(cfg))
        there = len(module.net.state_dict())
        console.print(f"beginning with {taken} of {there} weights of {options.start}")
    learn = options.learn
    config = about_run(
        plain(cfg),
        plain(cfg.model.net),
        name=folder.path.name,
        size=options.size,
        features=learn.features,
        batch=learn.batch,
        precision=learn.precision,
    )
    return RoundLearner(
        module,
        config,
        rounds=options.rounds,
        clip=learn.clip,
        average=learn.average,
        kl=learn.kl,
        precision=learn.precision,
        device=options.device,
        threads=threads,
        seed=options.seed,
    )


def cores_of(executor: Executor, threads: int) -> int:
    """Return the cores of this machine that a run uses. Those of a cluster count by their work."""
    return threads if executor.kind == "dask" else max(threads, executor.count())


def make_folder(output: Path, *, resumed: bool) -> RunFolder:
    """Return the folder of a run. Raises `ZeroError` if another run is there."""
    folder = RunFolder(output.absolute())
    if not resumed and folder.order(0).exists():
        raise ZeroError(f"{output}: there is a run already; resume={output} goes on with it")
    folder.make()
    folder.sweep()
    return folder
