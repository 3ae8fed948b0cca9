"""The command line on its way from the shell to Hydra: the one place that changes its words.

| step                 | typed                           | Hydra gets                      |
| -------------------- | ------------------------------- | ------------------------------- |
| `first_word_is`      | `analyze_game.py a game.sgf`    | `game='a game.sgf'`             |
| `with_saved_keys`    | `resume=run positions=5`        | `resume=run ++positions=5`      |
| `with_known_groups`  | `experiment=null`               | nothing: it is null already     |
| `path_keys.quoted`   | `dataset=/games/囲碁 (1).h5`    | `dataset='/games/囲碁 (1).h5'`  |

The first two are steps of one script each, which names them: `@script("train_model", rewrite)`.
A sweep that goes on is another (`sweeping.sweeps.continued`): what began it takes the place of
`resume=<sweep>`.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from data.base.errors import Mistake
from pipelines.shell.configuration import CONF
from pipelines.shell.path_keys import hydra_quotes, quoted, without_references

Arguments = list[str]
Rewrite = Callable[[Arguments], Arguments]

OWN_FOLDER = ("--config-dir", "-cd", "hydra.searchpath")  # the user brings configurations


class CommandLineError(Mistake):
    """The words of the command line can't be understood."""


def prepare(script: str, rewrite: Rewrite = list) -> None:
    """Turn the command line into arguments that Hydra understands.

    `rewrite` is the script's own first step. Raises `CommandLineError`.
    """
    sys.argv[1:] = for_hydra(script, rewrite(sys.argv[1:]))


def for_hydra(script: str, arguments: Arguments) -> Arguments:
    """Return the arguments with known choices of groups, and with paths in quotes."""
    return quoted(script, with_known_groups(script, arguments))


def with_known_groups(script: str, arguments: Arguments) -> Arguments:
    """Check the names in `group=name`, and drop `group=null` where null is the default.

    Hydra itself takes no null for a group. Two kinds of groups are left to Hydra: its own, to
    which plugins add choices, and all groups of users who bring a folder of configurations.
    """
    text = (CONF / f"{script}.yaml").read_text(encoding="utf-8")
    ours = not any(argument.startswith(OWN_FOLDER) for argument in arguments)
    kept = []
    for argument in arguments:
        group, _, name = argument.partition("=")
        choices = choices_of(group)
        if choices and name == "null" and f"- {group}: null" in text:
            continue
        is_name = re.fullmatch(r"\w+", name) is not None
        if choices and ours and is_name and name not in choices and "hydra/" not in group:
            raise CommandLineError(f"{argument}: one of {', '.join(choices)}")
        kept.append(argument)
    return kept


def choices_of(group: str) -> list[str]:
    """Return the names of the files in a folder of `conf/`; none if there is no such folder."""
    folder = CONF / group
    return sorted(path.stem for path in folder.glob("*.yaml")) if group else []


# --- steps of single scripts


def with_saved_keys(arguments: Arguments) -> Arguments:
    """Let `key=value` beside `resume=` set keys that only the saved run has.

    Hydra compares keys with the default groups, but the run may have been made with others.
    """
    if not any(argument.startswith("resume=") for argument in arguments):
        return arguments
    groups = {folder.name for folder in CONF.iterdir() if folder.is_dir()}

    def is_value(argument: str) -> bool:
        key, sign, _ = argument.partition("=")
        is_key = bool(sign) and key[:1].isalpha() and "/" not in key
        return is_key and key != "resume" and key not in groups

    return [f"++{argument}" if is_value(argument) else argument for argument in arguments]


def first_word_is(key: str) -> Rewrite:
    """Return a step that reads a word without `=`, or the name of a file, as the value of `key`."""

    def rewrite(arguments: Arguments) -> Arguments:
        words = [word for word in arguments if is_value_alone(word)]
        if len(words) > 1:
            raise CommandLineError(f"{' '.join(words)}: one {key} at a time")
        return [
            f"{key}={hydra_quotes(without_references(word))}" if word in words else word
            for word in arguments
        ]

    return rewrite


def words_are(key: str) -> Rewrite:
    """Return a step that reads all words without `=`, or names of files, as the list `key`."""

    def rewrite(arguments: Arguments) -> Arguments:
        words = [word for word in arguments if is_value_alone(word)]
        if not words:
            return arguments
        listed = ",".join(hydra_quotes(without_references(word)) for word in words)
        return [*(word for word in arguments if word not in words), f"{key}=[{listed}]"]

    return rewrite


def is_value_alone(word: str) -> bool:
    """Whether a word is neither a flag nor `key=value`; a file may have = in its name."""
    return not word.startswith("-") and ("=" not in word or Path(word).exists())
