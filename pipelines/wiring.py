"""What every script shares: Hydra's decorator, help that is the commented configuration itself, and errors as one line.

    @script("build_dataset")
    def main(cfg): ...

A mistake of the user (a wrong key or value, a missing or unfit file, a full disk) ends with one line on stderr and exit code 2; a
mistake of the program keeps its traceback. Ctrl-C ends with 130. Relative paths are relative to where the user stands.
"""

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CONF = ROOT / "conf"

# Scripts run as files: their own folder is first on the path then, and the project may not be installed.
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import hydra  # noqa: E402  (needs nothing of the above, but stands with what does)
from hydra.core.hydra_config import HydraConfig  # noqa: E402
from hydra.types import RunMode  # noqa: E402
from omegaconf import DictConfig, OmegaConf  # noqa: E402
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException  # noqa: E402

from data.errors import first_line  # noqa: E402
from data.visible_text import visible  # noqa: E402

OmegaConf.register_new_resolver("short", lambda direction: str(direction)[:3], replace=True)  # min, max
OmegaConf.register_new_resolver("times", lambda a, b: None if a is None else a * b, replace=True)
OmegaConf.register_new_resolver("first", lambda *values: next((v for v in values if v), None), replace=True)


def script(name: str) -> Callable[[Callable[[DictConfig], Any]], Callable[[], None]]:
    def decorate(function: Callable[[DictConfig], Any]) -> Callable[[], None]:
        def main() -> None:
            if {"-h", "--help"} & set(sys.argv[1:]):
                print(help_text(name))
                return
            sys.argv[1:] = with_groups(name, sys.argv[1:])
            os.environ["HYDRA_FULL_ERROR"] = "1"  # else Hydra prints errors its own way and ends with 1
            failure: list[Exception] = []

            @functools.wraps(function)
            def job(cfg: DictConfig) -> Any:
                single = HydraConfig.get().mode != RunMode.MULTIRUN
                try:
                    return function(cfg)
                except Exception as error:
                    if not single:  # its launcher must know which job failed
                        raise
                    failure.append(error)  # past Hydra, which would print a line of its own
                    return None
                finally:
                    if single:
                        remove_empty(Path(HydraConfig.get().runtime.output_dir))

            try:
                hydra.main(version_base="1.3", config_path=str(CONF), config_name=name)(job)()
                if failure:
                    raise failure[0]
            except KeyboardInterrupt as stop:
                print(f"\n{stop.args[0] if stop.args else 'stopped'}", file=sys.stderr)
                sys.exit(130)
            except Exception as error:
                message = explain(error)
                if message is None:
                    raise
                print(visible(f"{name}: {message}", keep="\n"), file=sys.stderr)  # it may quote a stranger's file
                sys.exit(2)

        main.__doc__ = function.__doc__
        return main

    return decorate


def remove_empty(folder: Path) -> None:
    """The folder of a run that left nothing there, and those above it with nothing else in them, below where one stands."""
    with suppress(OSError):
        while folder != Path.cwd() and folder.is_relative_to(Path.cwd()):
            folder.rmdir()
            folder = folder.parent


def with_groups(name: str, arguments: list[str]) -> list[str]:
    """Hydra wants a name for each group; the null of the configuration may be said for those that have it there.

    A name that is none ends the script with those there are; who brings a folder of configurations has others, left to Hydra."""
    text = (CONF / f"{name}.yaml").read_text(encoding="utf-8")
    own = not any(word.startswith(("--config-dir", "-cd", "hydra.searchpath")) for word in arguments)
    kept = []
    for argument in arguments:
        group, _, value = argument.partition("=")
        choices = sorted(path.stem for path in (CONF / group).glob("*.yaml")) if group and (CONF / group).is_dir() else []
        if choices and value == "null" and f"- {group}: null" in text:
            continue
        if choices and own and value not in choices and re.fullmatch(r"\w+", value):
            print(f"{name}: {argument}: one of {', '.join(choices)}", file=sys.stderr)
            sys.exit(2)
        kept.append(argument)
    return kept


def help_text(name: str) -> str:
    """The configuration file as it stands, and those that it takes its groups from: their comments explain every key."""
    groups = [folder.name for folder in sorted(CONF.iterdir()) if folder.is_dir() and any(folder.glob("*.yaml"))]
    lines = [f"python pipelines/{name}.py key=value ...", ""]
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
    return "\n".join(lines)


def explain(error: BaseException) -> str | None:
    """One line for a user's mistake; None for a mistake of the program."""
    from hydra.errors import HydraException, InstantiationException, OverrideParseException

    for cause in chain(error):
        if isinstance(cause, OverrideParseException):
            return f"{cause.override}: not understood; a value with brackets or commas in it wants quotes, as in \"key='[a]'\""
        if isinstance(cause, MissingMandatoryValue):
            return f"{cause.full_key or first_line(cause)} is missing: say {cause.full_key}=... (--help explains every key)"
    if isinstance(error, InstantiationException) and (inner := error.__cause__) is not None:
        key = next((line for line in str(error).splitlines() if line.startswith("full_key:")), "")
        known = (
            isinstance(inner, TypeError | ValueError | OSError | ModuleNotFoundError)
            or type(inner).__name__ == "MisconfigurationException"
        )
        where = f"{key.removeprefix('full_key:').strip()}: " if key.removeprefix("full_key:").strip() else ""
        ours = type(inner).__module__.partition(".")[0] in ("data", "models", "mcts", "pipelines")
        text = "; ".join(line.strip() for line in str(inner).splitlines()) if ours else first_line(inner)
        return f"{where}{text} (--help lists all keys)" if known else None
    if isinstance(error, HydraException | OmegaConfBaseException):
        # The deepest one that is meant for people: below it there may be the parser's own, without a word.
        text = [first_line(cause) for cause in chain(error) if isinstance(cause, HydraException | OmegaConfBaseException)][-1]
        return text if "--help" in text else f"{text} (--help lists all keys)"
    if type(error).__name__ == "MisconfigurationException":  # of Lightning, while it runs
        return f"{first_line(error)} (--help lists all keys)"
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({first_line(error)})"
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror or first_line(error)}{where}"
    if isinstance(error, ValueError) and type(error) is not ValueError:
        return str(error)
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # ~name of nobody, by Path.expanduser
        return f"a path with ~: {first_line(error)}"
    return None


def chain(error: BaseException) -> list[BaseException]:
    """The error and what caused it, the deepest last."""
    errors = [error]
    while (cause := errors[-1].__cause__ or errors[-1].__context__) is not None and cause not in errors:
        errors.append(cause)
    return errors


def find_weights(path: str) -> Path:
    """A file of weights, looked for where the user stands and in the project."""
    given = Path(path).expanduser()
    return given if given.is_absolute() or given.exists() else ROOT / given


def commit() -> str:
    """The commit of the code, marked where the files differ from it; '' outside a checkout."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def plain(cfg: Any) -> Any:
    """A configuration as dicts, lists and values."""
    return OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
