"""Sweeps: many runs of one script by Hydra's multirun.

A stopped one goes on, a failed job hides no other, one table ends it.

    outputs/train_model/<time>_multirun/
        sweep.json       what was typed, and where; the jobs, or their number
        0/ 1/ 2/ ...     a folder a job: an ordinary run, and job.json: its settings, state, metrics
        sweep.csv sweep.md sweep.png

`resume=<folder>` goes on with a sweep:

- a job that is done is not done again;
- a job that was stopped goes on from its last checkpoint;
- a job that failed is tried again, but not with Optuna, whose later trials depend on the failure.
"""

import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from data.base.atomic import write_text
from data.base.errors import first_line
from data.base.text import count_of
from pipelines.shell import run_folders
from pipelines.shell.console import bold, console, prefixed
from pipelines.shell.environment import PACKAGE, ROOT
from pipelines.shell.mistakes import explain
from pipelines.shell.path_keys import hydra_quotes, path_in, without_references
from pipelines.sweeping.jobs import (
    DIRECTIONS,
    JOB_FILE,
    SWEEP_FILE,
    Job,
    SweepError,
    read_job,
    read_jobs,
    read_json,
)
from pipelines.sweeping.tables import report


def in_multirun() -> bool:
    return HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN


# --- one job


def run_job(cfg: DictConfig, run: Callable[[DictConfig], dict[str, Any]]) -> float | None:
    """Do one job of a sweep; return its objective, or None if it failed.

    `cfg.resume` tells `run` the folder of a job that goes on.
    """
    if cfg.direction not in DIRECTIONS:
        raise SweepError(f"direction={cfg.direction}: {' or '.join(DIRECTIONS)}")
    number = int(HydraConfig.get().job.num)
    one_by_one = "basic" in str(HydraConfig.get().launcher.get("_target_")).lower()
    with nullcontext() if one_by_one else prefixed(f"[{number}] "):
        job = Job(number, list(HydraConfig.get().overrides.task), cfg.objective, cfg.direction)
        folder = Path(cfg.output)
        if (folder / JOB_FILE).is_file():
            before = read_job(folder / JOB_FILE)
            if is_over(before, job, folder):
                return before.value() if before.state == "done" else None
            job.seconds = before.seconds
            if any((folder / "checkpoints").glob("*.ckpt")):
                cfg.resume = str(folder)
        # the job of a sweep that was killed may still be at work there
        with run_folders.claimed(folder, named=True):
            job.write(folder)
            say(job, "")
            return work(job, folder, cfg, run)


def is_over(before: Job, job: Job, folder: Path) -> bool:
    """Whether what an earlier session left of this job is all that will come."""
    if before.overrides != job.overrides:
        raise SweepError(
            f"{folder}: the job there is another one ({' '.join(before.overrides)}); choose "
            "another hydra.sweep.dir"
        )
    if before.state == "done":
        say(job, " is done")
        return True
    if before.state == "failed" and by_optuna(HydraConfig.get()):
        say(job, " failed")
        return True
    return False


def say(job: Job, what: str) -> None:
    console.print()
    console.print(bold(f"job {job.number}", f"{what}: {' '.join(job.overrides)}"), soft_wrap=True)


def work(
    job: Job, folder: Path, cfg: DictConfig, run: Callable[[DictConfig], dict[str, Any]]
) -> float | None:
    """Run the job, and write down what became of it."""
    began = time.monotonic() - job.seconds
    try:
        result = run(cfg)
        if cfg.objective not in result:
            known = ", ".join(name for name in result if name.startswith("val/"))
            raise SweepError(f"objective={cfg.objective}: not measured; there are {known}")
    except Exception as error:
        job.state, job.error = (
            "failed",
            explain(error) or f"{type(error).__name__}: {first_line(error)}",
        )
        job.write(folder)
        write_text(folder / "error.txt", traceback.format_exc())
        console.print(f"job {job.number} failed: {job.error}")
        return None
    except SystemExit:  # told to stop
        job.seconds = time.monotonic() - began
        job.write(folder)
        raise
    stopped_by = result.pop("stopped_by", None)
    resumed = job.seconds > 0
    job.state, job.seconds = "done", time.monotonic() - began
    job.metrics = {name: value for name, value in result.items() if isinstance(value, int | float)}
    job.metrics["minutes"] = job.seconds / 60
    if resumed:
        job.metrics["positions_a_second"] = result["positions"] / job.seconds
    job.write(folder)
    if stopped_by is not None:  # when it was over; the sweep is not
        raise SystemExit(128 + stopped_by)
    return job.value()


def threads_of_a_job(cores: int) -> int:
    """Return how many of the cores a job may use; the launcher may run several at a time."""
    launcher = HydraConfig.get().launcher
    if given := launcher.get("cpus_per_task"):  # submitit
        return int(given)
    if "submitit" in str(launcher.get("_target_")):  # all jobs at once
        return 1
    jobs = launcher.get("n_jobs") or 1  # joblib; below zero: one a core
    return max(1, cores // (jobs if jobs > 0 else cores))


# --- all of them


class SweepStarted(Callback):
    """Hydra's callback: claims the folder of the sweep, and saves what was typed there."""

    folder: Path | None = None
    claims = ExitStack()  # until `watched` ends

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """End the process if another sweep works in the folder.

        Hydra turns all exceptions but SystemExit into warnings.
        """
        try:
            folder = claim(config)
        except run_folders.FolderTaken as error:
            print(f"{config.hydra.job.name}: {error}", file=sys.stderr)
            sys.exit(2)
        jobs = planned(config)
        if not (folder / SWEEP_FILE).exists():
            typed = {"arguments": sys.argv[1:], "stood_in": os.getcwd(), "jobs": jobs}
            write_text(folder / SWEEP_FILE, json.dumps(typed, indent=1, ensure_ascii=False) + "\n")
        SweepStarted.folder = folder
        if by_optuna(config.hydra):
            silence_optuna()
        announce(config, jobs if isinstance(jobs, int) else len(jobs or []))
        if PACKAGE == "pipelines":  # jobs in other processes find the packages of a checkout
            os.environ["PYTHONPATH"] = os.pathsep.join(
                filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
            )


def claim(config: DictConfig) -> Path:
    """Hold the folder of the sweep until `watched` ends.

    A folder that is named after the time is a new one.
    """
    named = "${now:" not in str(OmegaConf.to_container(config.hydra.sweep, resolve=False)["dir"])  # type: ignore[index,call-overload]
    wanted = Path(config.hydra.sweep.dir).absolute()
    folder = SweepStarted.claims.enter_context(run_folders.claimed(wanted, named=named))
    if not named:
        with read_write(config), open_dict(config):
            config.hydra.sweep.dir = str(folder)
            # for jobs
            config.hydra.overrides.hydra.append(
                f"hydra.sweep.dir={hydra_quotes(without_references(str(folder)))}"
            )
    return folder


def planned(config: DictConfig) -> list[list[str]] | int | None:
    """Return the overrides of each job; for Optuna only their number, for others None."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    sweeper = config.hydra.sweeper
    if by_optuna(config.hydra):
        return int(sweeper.n_trials)
    if not str(sweeper.get("_target_")).endswith(".BasicSweeper"):
        return None
    words = [f"{key}={value}" for key, value in (sweeper.params or {}).items()] + list(
        config.hydra.overrides.task
    )
    try:
        overrides = OverridesParser.create(GlobalHydra.instance().config_loader()).parse_overrides(
            words
        )
        return BasicSweeper.split_arguments(overrides, None)[0]
    except HydraException:  # the sweeper will say what is wrong with them
        return None


def by_optuna(hydra_config: Any) -> bool:
    return "optuna" in str(hydra_config.sweeper.get("_target_")).lower()


def silence_optuna() -> None:
    """Silence Optuna's coloured lines; the table at the end says the same."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    optuna.logging.disable_default_handler()


def announce(config: DictConfig, jobs: int) -> None:
    """Say where jobs of submitit print: nothing more is seen here until they have ended."""
    target = str(config.hydra.launcher.get("_target_"))
    if "submitit" not in target or ("Slurm" in target and shutil.which("srun") is None):
        return
    logs = str(config.hydra.launcher.submitit_folder).partition("%")[0]
    where = "Slurm" if "Slurm" in target else "processes of this machine"
    what = f"{count_of(jobs, 'job')} handed over to {where}"
    console.print(f"{what}; what they print is in {logs}", soft_wrap=True)


@contextmanager
def watched(script: str) -> Iterator[None]:
    """Around a script that can be swept: the end of a sweep, however it came, is a report."""
    with SweepStarted.claims:
        try:
            yield
        finally:
            if SweepStarted.folder is not None:
                jobs = reported(SweepStarted.folder, script)
                raised = sys.exc_info()[1]
                # If all trials fail Optuna raises, for want of a value.
                if raised is None or (isinstance(raised, Exception) and all_failed(jobs)):
                    conclude(script, jobs)


def reported(folder: Path, script: str) -> list[Job]:
    """The jobs of a sweep, after the table of them was shown."""
    try:
        jobs = read_jobs(folder)
        if jobs:
            report(folder, jobs)
        return jobs
    except SweepError as error:
        print(f"{script}: {error}", file=sys.stderr)
        sys.exit(2)


def all_failed(jobs: list[Job]) -> bool:
    return bool(jobs) and all(job.state == "failed" for job in jobs)


def conclude(script: str, jobs: list[Job]) -> None:
    """Exit code 1 where some jobs failed, 2 and their reason where all did."""
    errors = [job.error for job in jobs if job.state == "failed"]
    if all_failed(jobs):
        print(f"{script}: {errors[0]}", file=sys.stderr)
        sys.exit(2)
    if errors:
        sys.exit(1)


def continued(arguments: list[str]) -> list[str]:
    """Return what began a sweep instead of `resume=<its folder>`, and go where that was typed.

    Other arguments come back as they are. Raises `SweepError`.
    """
    resumed = [argument for argument in arguments if argument.startswith("resume=")]
    folder = Path(path_in("train_model", resumed[-1])).absolute() if resumed else None
    if folder is None or not (folder / SWEEP_FILE).is_file():
        return arguments
    if others := [argument for argument in arguments if argument not in resumed]:
        raise SweepError(
            f"{resumed[-1]}: a sweep goes on as it was typed; leave out {' '.join(others)}"
        )
    typed = read_json(folder / SWEEP_FILE)
    if not (
        isinstance(typed, dict)
        and isinstance(typed.get("arguments"), list)
        and isinstance(typed.get("stood_in"), str)
    ):
        raise SweepError(f"{folder / SWEEP_FILE}: damaged, it does not say what began the sweep")
    os.chdir(typed["stood_in"])
    return [
        *(word for word in typed["arguments"] if not word.startswith("hydra.sweep.dir=")),
        f"hydra.sweep.dir={hydra_quotes(without_references(str(folder)))}",
    ]
