"""A user's mistake in one line, in the words of the scripts and not of the libraries below.

`explain` returns None for a mistake of the program, which keeps its traceback. One line get:

- every `Mistake`, the root of the errors that this project raises about values and files;
- what Hydra and OmegaConf say of the command line and of configurations;
- the `TypeError` or `ValueError` of an object that a configuration describes with wrong values;
- missing files, full disks and the like (`OSError`), too little memory;
- what Lightning, submitit and pathlib say of machines and paths, recognised by their words.
"""

import difflib
import re
from collections.abc import Iterator
from typing import Any

import yaml
from hydra.errors import (
    ConfigCompositionException,
    HydraException,
    InstantiationException,
    MissingConfigException,
    OverrideParseException,
)
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)

from data.base.errors import Mistake, first_line
from pipelines.shell.configuration import CONF

HELP = "(--help lists all keys)"
OURS = ("data", "models", "mcts", "pipelines", "lambdago")
OF_THE_EXTRA = re.compile(
    r"hydra/(launcher/(joblib|submitit_local|submitit_slurm)|sweeper/optuna)\b"
)


def explain(error: BaseException, script: str | None = None) -> str | None:
    """Return one line for a user's mistake; None for a mistake of the program.

    An unknown key is compared with those of `script`.
    """
    for cause in chain(error):
        if isinstance(cause, OverrideParseException):
            letters = "brackets, commas or letters beyond A to Z"
            return (
                f"{cause.override}: not understood; a value with {letters} wants quotes of its "
                "own, as in \"key='[a]'\""
            )
        if isinstance(cause, MissingMandatoryValue):
            key = cause.full_key
            return (
                f"{key or first_line(cause)} is missing: say {key}=... (--help explains every key)"
            )
    if isinstance(error, InstantiationException) and error.__cause__ is not None:
        return explain_instance(error, error.__cause__)
    if isinstance(error, HydraException | OmegaConfBaseException):
        return explain_composition(error, script)
    if type(error).__name__ == "MisconfigurationException":  # of Lightning, while it runs
        return first_line(error)
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({first_line(error)})"
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror or first_line(error)}{where}"
    if isinstance(error, Mistake):
        return str(error)
    if isinstance(error, ValueError) and str(error).startswith("Only one of --run"):  # of Hydra
        return f"{first_line(error)}; --cfg shows the configuration of a run, without -m"
    # ~name of nobody, by Path.expanduser
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        return f"a path with ~: {first_line(error)}"
    if isinstance(error, RuntimeError) and 'Could not detect "srun"' in str(error):  # of submitit
        return (
            "there is no Slurm on this machine (no srun); hydra/launcher=submitit_local does the "
            "same with processes of this one"
        )
    return None


def explain_instance(error: InstantiationException, cause: BaseException) -> str | None:
    """Return the key of an object that can't be made, and why; None for a bug in making it.

    Constructors refuse values by TypeError and ValueError themselves. A subclass, such as
    JSONDecodeError, comes from a bug, unless it is a `Mistake`.
    """
    refused = type(cause) in (TypeError, ValueError) or isinstance(
        cause, Mistake | OSError | ModuleNotFoundError
    )
    if not refused and type(cause).__name__ != "MisconfigurationException":
        return None
    key = (
        next((line for line in str(error).splitlines() if line.startswith("full_key:")), "")
        .removeprefix("full_key:")
        .strip()
    )
    ours = type(cause).__module__.partition(".")[0] in OURS
    text = (
        "; ".join(line.strip() for line in str(cause).splitlines()) if ours else first_line(cause)
    )
    return (f"{key}: " if key else "") + text + (f" {HELP}" if isinstance(cause, TypeError) else "")


def explain_composition(error: BaseException, script: str | None) -> str:
    """Return what is wrong with keys, values or groups that make no configuration."""
    causes = [
        cause
        for cause in chain(error)
        if isinstance(cause, HydraException | OmegaConfBaseException)
    ]
    texts = [str(cause) for cause in causes]
    for cause, text in zip(causes, texts, strict=True):
        if isinstance(cause, MissingConfigException) and (extra := OF_THE_EXTRA.search(text)):
            advice = 'pip install "lambdago[sweep]"'
            return f"{extra[0]} comes with an extra that is not installed: {advice}"
        if isinstance(cause, MissingConfigException) and cause.options and cause.missing_cfg_file:
            group, _, name = cause.missing_cfg_file.rpartition("/")
            return f"{group}={name}: one of {', '.join(sorted(cause.options))}"
        if ambiguous := re.match(r"Ambiguous value for argument '(.*?)'$", text, re.MULTILINE):
            return several_values(ambiguous[1])
        unknown = re.match(r"Could not override '([^']+)'", text)
        if unknown and (
            isinstance(
                causes[-1], ConfigAttributeError | ConfigKeyError | ConfigCompositionException
            )
        ):
            return unknown_key(unknown[1], script)
    # The deepest one that is meant for people: below it there may be the parser's own, without a
    # word.
    text = first_line(causes[-1])
    return text if "--help" in text else f"{text} {HELP}"


def several_values(argument: str) -> str:
    key, _, values = argument.partition("=")
    return (
        f"{argument}: several values want -m (a run with each of them); a list wants brackets: "
        f"{key}=[{values}]"
    )


def unknown_key(key: str, script: str | None) -> str:
    """Return a line with the nearest known key: by its whole name, or by its last part."""
    # another choice of a group may have this very key
    known = sorted(set(known_keys(script)) - {key}) if script else []
    near = difflib.get_close_matches(key, known, 1, 0.75)
    near = near or [k for k in known if k.rpartition(".")[2] == key.rpartition(".")[2]][:1]
    return f"{key}: there is no such key" + (f"; is {near[0]} meant?" if near else "") + f" {HELP}"


def known_keys(script: str) -> Iterator[str]:
    """Yield the keys of the script's configuration, and of all choices of its groups."""
    text = (CONF / f"{script}.yaml").read_text(encoding="utf-8")
    yield from ("hydra/launcher", "hydra/sweeper", "hydra.run.dir", "hydra.sweep.dir")
    values = yaml.safe_load(text)
    defaults = values.pop("defaults", [])
    yield from flat(values)
    for group in (
        str(name).lstrip("/") for entry in defaults if isinstance(entry, dict) for name in entry
    ):
        yield group
        for path in (CONF / group).glob("*.yaml"):
            content = path.read_text(encoding="utf-8")
            if "@package _global_" not in content:  # what such files set are keys of others
                yield from flat(yaml.safe_load(content) or {}, f"{group}.")


def flat(values: Any, prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        if key not in ("defaults", "_target_"):
            yield f"{prefix}{key}"
            if isinstance(value, dict):
                yield from flat(value, f"{prefix}{key}.")


def chain(error: BaseException) -> list[BaseException]:
    """Return the error and what caused it, the deepest last."""
    errors = [error]
    while (
        cause := errors[-1].__cause__ or errors[-1].__context__
    ) is not None and cause not in errors:
        errors.append(cause)
    return errors
