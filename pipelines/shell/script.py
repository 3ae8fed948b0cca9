"""How a script starts: Hydra's decorator, help, and a user's mistakes as one line.

    @script("build_dataset")
    def main(cfg): ...

A mistake of the user (a wrong key or value, a missing or unfit file, a full disk) ends with one
line on stderr and exit code 2. A mistake of the program keeps its traceback. Ctrl-C ends with 130.
Relative paths are relative to where the user stands.
"""

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from data.base.text import visible
from pipelines.shell import command_line, run_folders
from pipelines.shell.configuration import CONF
from pipelines.shell.help import help_text, with_programs
from pipelines.shell.mistakes import explain

# the default of `output`, where a script makes a folder for each run
RUN_FOLDER = "${hydra:runtime.output_dir}"


def script(
    name: str, rewrite: command_line.Rewrite = list
) -> Callable[[Callable[[DictConfig], Any]], Callable[[], None]]:
    """Return a decorator that makes `main()` of a function of the configuration `conf/<name>.yaml`.

    `rewrite` changes the command line before it is read (see `command_line`).
    """

    def decorate(function: Callable[[DictConfig], Any]) -> Callable[[], None]:
        def main() -> None:
            if {"-h", "--help"} & set(sys.argv[1:]):
                print(help_text(name))
                return
            # else Hydra prints errors its own way and ends with 1
            os.environ["HYDRA_FULL_ERROR"] = "1"
            failure: list[Exception] = []

            @functools.wraps(function)
            def job(cfg: DictConfig) -> Any:
                if HydraConfig.get().mode == RunMode.MULTIRUN:
                    return function(cfg)  # its launcher must know which job failed
                made = Path(HydraConfig.get().runtime.output_dir)  # by Hydra
                try:
                    with run_folder(cfg):
                        return function(cfg)
                except Exception as error:
                    failure.append(error)  # past Hydra, which would print a line of its own
                    return None
                finally:
                    remove_empty(made)

            try:
                command_line.prepare(name, rewrite)
                hydra.main(version_base="1.3", config_path=str(CONF), config_name=name)(job)()
                if failure:
                    raise failure[0]
            except KeyboardInterrupt as stop:
                print(f"\n{stop.args[0] if stop.args else 'stopped'}", file=sys.stderr)
                sys.exit(130)
            except Exception as error:
                message = explain(error, name)
                if message is None:
                    raise
                # it may quote a stranger's file
                print(visible(f"{name}: {with_programs(message)}", keep="\n"), file=sys.stderr)
                sys.exit(2)

        main.__doc__ = function.__doc__
        return main

    return decorate


@contextmanager
def run_folder(cfg: DictConfig) -> Iterator[None]:
    """Claim the folder of a run: what `output` names, else the folder that Hydra made."""
    hydra_cfg: Any = HydraConfig.get()
    default = (CONF / f"{hydra_cfg.job.config_name}.yaml").read_text(encoding="utf-8")
    output = cfg.get("resume") or cfg.get("output")
    if (
        f"output: {RUN_FOLDER}" not in default
        or not isinstance(output, str)
        or run_folders.is_follower(of_many=of_many(cfg))
    ):
        if folder := os.environ.get(run_folders.FOLDER_OF_RUN):
            move_output(folder)
        yield
        return
    by_time = (
        "${now:" in unresolved(hydra_cfg.run, "dir") and unresolved(cfg, "output") == RUN_FOLDER
    )
    named = bool(cfg.get("resume")) or not by_time
    with run_folders.claimed(Path(output).expanduser().absolute(), named=named) as claimed:
        if not named:
            move_output(str(claimed))
        os.environ[run_folders.FOLDER_OF_RUN] = str(claimed)
        try:
            yield
        finally:
            del os.environ[run_folders.FOLDER_OF_RUN]
    remove_empty(claimed)


def of_many(cfg: DictConfig) -> bool:
    """Whether the run has several processes."""
    return any(
        OmegaConf.select(cfg, f"trainer.{key}", default=1) != 1 for key in ("devices", "num_nodes")
    )


def unresolved(cfg: DictConfig, key: str) -> str:
    """Return a value as it stands in the file, with its `${...}`."""
    return str(OmegaConf.to_container(cfg, resolve=False)[key])  # type: ignore[index,call-overload]


def move_output(folder: str) -> None:
    """Make this the folder of Hydra, and of the other processes of a DDP run."""
    hydra_cfg: Any = HydraConfig.get()
    with read_write(hydra_cfg), open_dict(hydra_cfg):
        hydra_cfg.runtime.output_dir = hydra_cfg.run.dir = folder


def remove_empty(folder: Path) -> None:
    """Remove the folder of a run that wrote nothing.

    Folders above it that hold nothing else go with it, up to where the user stands.
    """
    with suppress(OSError):
        while folder != Path.cwd() and folder.is_relative_to(Path.cwd()):
            if folder.exists():
                folder.rmdir()
            folder = folder.parent
