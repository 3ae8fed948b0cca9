"""Which keys of the scripts are paths, and how a path is quoted for Hydra and for the shell.

Hydra's grammar gives a meaning to brackets, commas, quotes and spaces and knows no letters beyond
ASCII. So a path is quoted before Hydra sees it, whatever it contains: `source=/games/囲碁
(2015).zip` needs no quotes but those of the shell.

    quoted("build_dataset", ["source=/a b.zip", "size=9"])   ->   ["source='/a b.zip'", "size=9"]
    command("inspect_dataset", dataset="/a b.h5")
        ->  python pipelines/inspect_dataset.py dataset='/a b.h5'

What is quoted for Hydra already is read as Hydra reads it. `~` is the home folder, `${...}` refers
to other keys.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipelines.shell.environment import start_of_command

# Keys by script; [] marks those that may be a list [a,b] of paths.
PATH_KEYS = {
    "analyze_game": ("game", "net", "policy", "value", "rollout", "tree", "output"),
    "build_dataset": ("source[]", "output"),
    "estimate_owners": ("dataset", "owners", "rollout"),
    "estimate_rank": ("game[]", "dataset", "net", "output"),
    "evaluate_model": ("checkpoint[]", "dataset", "output"),
    "evaluate_rollouts": ("rollout", "dataset", "policy[]", "value[]", "output"),
    "export_model": ("checkpoint[]", "dataset", "evaluation", "output"),
    "generate_positions": ("output", "sl", "rl", "rollout"),
    "inspect_dataset": ("dataset", "png", "sgf", "games"),
    "measure_speed": ("source", "output"),
    "play_gtp": ("net", "policy", "value", "rollout", "tree", "log"),
    "play_match": ("output",),
    "reinforce_policy": ("start", "baseline_net", "opening.games[]", "resume", "output"),
    "report_zero": ("run[]", "output"),
    "train_zero": ("start", "resume", "output"),
    "train_model": (
        *("dataset", "start", "resume", "output"),
        *("loader.owners", "loader.mixed", "loader.mixed_owners"),
    ),
}
HYDRA_KEYS = ("hydra.run.dir", "hydra.sweep.dir")

ARGUMENT = re.compile(r"(\+{0,2})([\w./]+)=(.*)", re.DOTALL)
QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
ITEM = re.compile(rf"\s*({QUOTED.pattern}|\[[^\]]*\])\s*(?=,|\Z)|([^,]*)", re.DOTALL)
CALL = re.compile(r"(choice|glob|sort|shuffle|tag)\(.*\)", re.DOTALL)  # the ways to spell a sweep


def quoted(script: str, arguments: list[str]) -> list[str]:
    """The arguments as Hydra is to get them: each path in quotes."""
    sweep = is_sweep(arguments)
    return [quoted_argument(script, argument, sweep) for argument in arguments]


def is_sweep(arguments: list[str]) -> bool:
    flags = ("-m", "--multirun")
    return any(
        a in flags or re.fullmatch(r"\+?sweep=(?!null$).+|hydra\.mode=multirun", a, re.IGNORECASE)
        for a in arguments
    )


def quoted_argument(script: str, argument: str, sweep: bool) -> str:
    found = ARGUMENT.fullmatch(argument)
    if found is None:
        return argument
    plus, key, text = found.groups()
    keys = PATH_KEYS.get(script, ())
    if key not in HYDRA_KEYS and key not in keys and f"{key}[]" not in keys:
        return argument
    several = sweep and key not in HYDRA_KEYS and not Path(text).exists()
    if several and CALL.fullmatch(text):
        return argument
    parts = items(text) if several else [text]
    return f"{plus}{key}=" + ",".join(
        quoted_value(part, is_list=f"{key}[]" in keys) for part in parts
    )


def quoted_value(text: str, *, is_list: bool) -> str:
    if text == "" or text.lower() == "null":
        return text
    if is_list and text.startswith("[") and text.endswith("]") and not Path(text).exists():
        return "[" + ",".join(quoted_path(item) for item in items(text[1:-1])) + "]"
    return quoted_path(text)


def items(text: str) -> Iterator[str]:
    """What commas separate; those in quotes or brackets separate nothing."""
    at = 0
    while at <= len(text):
        found = ITEM.match(text, at)
        assert found is not None  # its second half matches anything
        yield found[1] or found[2].strip()
        at = found.end() + 1


def quoted_path(text: str) -> str:
    path = unquoted(text) if QUOTED.fullmatch(text) else text
    if "${" in path and Path(path).exists():
        path = without_references(path)
    return hydra_quotes(
        str(Path(path).expanduser()) if path.startswith("~/") or path == "~" else path
    )


def unquoted(text: str) -> str:
    """Hydra's reading: a backslash escapes a quote or, before one, a backslash."""
    halved = re.compile(rf"(\\+)({text[0]}|\Z)")
    return halved.sub(lambda found: "\\" * (len(found[1]) // 2) + found[2], text[1:-1])


def hydra_quotes(text: str) -> str:
    escaped = re.sub(r"(\\*)('|\Z)", lambda found: 2 * found[1] + ("\\'" if found[2] else ""), text)
    return f"'{escaped}'"


def without_references(path: str) -> str:
    """`${` as two letters, where OmegaConf would fill in the value of a key."""
    return re.sub(r"(\\*)\$\{", lambda found: 2 * found[1] + "\\${", path)


def path_in(script: str, argument: str) -> str:
    """The path that an argument `key=path` names."""
    return unquoted(quoted_argument(script, argument, False).partition("=")[2])


# --- printing


def argument(script: str, key: str, path: Any) -> str:
    """`key=path`, such that the script reads the same path back; quotes for Hydra only where it
    would not.
    """
    text = f"./{path}" if str(path).startswith("~") else str(path)
    safe = f"{key}={hydra_quotes(without_references(text))}"
    return f"{key}={text}" if quoted_argument(script, f"{key}={text}", True) == safe else safe


def command(script: str, *words: str, **paths: Any) -> str:
    """A line for a shell that starts another script: `words` as they stand, then `key=path` for
    each path.
    """
    line = [
        *start_of_command(script),
        *words,
        *(argument(script, key, path) for key, path in paths.items()),
    ]
    return " ".join(shlex.quote(word) for word in line)
