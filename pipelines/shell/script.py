"""What every script shares: Hydra's decorator, help that is the commented configuration itself,
and errors as one line.

    @script("build_dataset")
    def main(cfg): ...

A mistake of the user (a wrong key or value, a missing or unfit file, a full disk) ends with one
line on stderr and exit code 2; a mistake of the program keeps its traceback. Ctrl-C ends with 130.
Relative paths are relative to where the user stands.
"""

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from data.base.visible_text import visible
from pipelines.shell import run_folders
from pipelines.shell.environment import start_of_command
from pipelines.shell.mistakes import CONF, explain
from pipelines.shell.path_keys import quoted

ROOT = Path(__file__).resolve().parents[2]
# the default of `output`, where a script makes a folder for each run
RUN_FOLDER = "${hydra:runtime.output_dir}"

# min, max
OmegaConf.register_new_resolver("short", lambda direction: str(direction)[:3], replace=True)
OmegaConf.register_new_resolver("times", lambda a, b: None if a is None else a * b, replace=True)
OmegaConf.register_new_resolver(
    "first", lambda *values: next((v for v in values if v), None), replace=True
)


def script(name: str) -> Callable[[Callable[[DictConfig], Any]], Callable[[], None]]:
    def decorate(function: Callable[[DictConfig], Any]) -> Callable[[], None]:
        def main() -> None:
            if {"-h", "--help"} & set(sys.argv[1:]):
                print(help_text(name))
                return
            sys.argv[1:] = quoted(name, with_groups(name, sys.argv[1:]))
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
                print(visible(f"{name}: {message}", keep="\n"), file=sys.stderr)
                sys.exit(2)

        main.__doc__ = function.__doc__
        return main

    return decorate


@contextmanager
def run_folder(cfg: DictConfig) -> Iterator[None]:
    """Claim the folder of a run: what `output` names, or else, of a script whose `output` is
    Hydra's folder, that one.
    """
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
    return str(OmegaConf.to_container(cfg, resolve=False)[key])  # type: ignore[index,call-overload]


def move_output(folder: str) -> None:
    """Let `${hydra:runtime.output_dir}`, and what DDP tells its other processes, be this folder."""
    hydra_cfg: Any = HydraConfig.get()
    with read_write(hydra_cfg), open_dict(hydra_cfg):
        hydra_cfg.runtime.output_dir = hydra_cfg.run.dir = folder


def remove_empty(folder: Path) -> None:
    """The folder of a run that left nothing there, and those above it with nothing else in them,
    below where one stands.
    """
    with suppress(OSError):
        while folder != Path.cwd() and folder.is_relative_to(Path.cwd()):
            if folder.exists():
                folder.rmdir()
            folder = folder.parent


def with_groups(name: str, arguments: list[str]) -> list[str]:
    """Hydra wants a name for each group; the null of the configuration may be said for those that
    have it there.

    An unknown name ends the script with those there are. Two kinds of groups are left to Hydra:
    its own, to which its plugins add choices, and those of users who bring a folder of
    configurations.
    """
    text = (CONF / f"{name}.yaml").read_text(encoding="utf-8")
    own = not any(
        word.startswith(("--config-dir", "-cd", "hydra.searchpath")) for word in arguments
    )
    kept = []
    for argument in arguments:
        group, _, value = argument.partition("=")
        choices = (
            sorted(path.stem for path in (CONF / group).glob("*.yaml"))
            if group and (CONF / group).is_dir()
            else []
        )
        if choices and value == "null" and f"- {group}: null" in text:
            continue
        if (
            choices
            and own
            and not group.startswith("hydra/")
            and value not in choices
            and re.fullmatch(r"\w+", value)
        ):
            print(f"{name}: {argument}: one of {', '.join(choices)}", file=sys.stderr)
            sys.exit(2)
        kept.append(argument)
    return kept


def help_text(name: str) -> str:
    """The configuration file as it stands, and those that it takes its groups from: their comments
    explain every key.
    """
    groups = [
        folder.name
        for folder in sorted(CONF.iterdir())
        if folder.is_dir() and any(folder.glob("*.yaml"))
    ]
    lines = [f"{' '.join(start_of_command(name))} key=value ...", ""]
    lines += [(CONF / f"{name}.yaml").read_text(encoding="utf-8").strip()]
    used = [group for group in groups if f"- {group}:" in lines[-1] or f"- /{group}" in lines[-1]]
    for group in used:
        choices = ", ".join(sorted(path.stem for path in (CONF / group).glob("*.yaml")))
        lines.append(f"\n{group}= is one of: {choices}  (in conf/{group}/)")
        chosen = re.search(rf"^ *- (?:override )?/?{group}(?:@\S+)?: (\w+)", lines[2], re.MULTILINE)
        if chosen and (CONF / group / f"{chosen[1]}.yaml").is_file():
            text = (CONF / group / f"{chosen[1]}.yaml").read_text(encoding="utf-8").strip()
            lines.append(
                f"  {group}={chosen[1]}; say its keys as {group}.key=value:\n"
                + "\n".join(f"    {line}".rstrip() for line in text.splitlines())
            )
    text = "\n".join(lines)
    return re.sub(
        r"python pipelines/(\w+)\.py", lambda found: " ".join(start_of_command(found[1])), text
    )


def find_weights(path: str) -> Path:
    """A file of weights, looked for where the user stands and in the project."""
    given = Path(path).expanduser()
    return given if given.is_absolute() or given.exists() else ROOT / given


def commit() -> str:
    """The commit of the code, marked where the files differ from it; '' outside a checkout."""
    if not (
        ROOT / ".git"
    ).exists():  # an installation may lie inside the repository of something else
        return ""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def plain(cfg: Any) -> Any:
    """A configuration as dicts, lists and values."""
    return OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
