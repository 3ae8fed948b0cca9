"""The program `lambdago`: `lambdago train ...` does what `lambdago-train ...` does; alone, it
lists its commands.
"""

import ast
import difflib
import sys
from importlib import import_module
from pathlib import Path

from data.base.version import version
from pipelines.shell import environment
from pipelines.shell.environment import FOLDER, PACKAGE, PROGRAMS

PREFIX = "lambdago-"
COMMANDS = {program.removeprefix(PREFIX): script for script, program in PROGRAMS.items()}


def main() -> int | None:
    """Run the command that `sys.argv` names, and return its exit code."""
    name, *rest = sys.argv[1:] or ["--help"]
    environment.umbrella = sys.argv[0]
    if name in ("-h", "--help", "help"):
        print(listing())
        return 0
    if name == "--version":
        print(f"lambdago {version()}")
        return 0
    if name not in COMMANDS:
        print(
            f"lambdago: {name}: there is no such command{suggestion(name)} (lambdago --help "
            "lists them)",
            file=sys.stderr,
        )
        return 2
    # A script that starts itself again, as DDP does, finds its own program there.
    sys.argv = [str(Path(sys.argv[0]).with_name(PREFIX + name)), *rest]
    return import_module(f"{PACKAGE}.{COMMANDS[name]}").main()


def listing() -> str:
    """Return the commands, one a line, each with the first sentence of its docstring."""
    width = max(map(len, COMMANDS))
    lines = [f"  lambdago {name:{width}}  {summary(script)}" for name, script in COMMANDS.items()]
    usage = "lambdago <command> key=value ...    (lambdago <command> --help explains every key)"
    return "\n".join([usage, "", *lines, "", "lambdago --version prints the version"])


def summary(script: str) -> str:
    """Read what a script does, without importing it and without the command of a checkout."""
    tree = ast.parse((FOLDER / f"{script}.py").read_text(encoding="utf-8"))
    first = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ")
    return first.partition(": `python pipelines/")[0].rstrip(".")


def suggestion(name: str) -> str:
    """Return a question that names the nearest command, or ''."""
    by_word = {**COMMANDS, **{script.replace("_", "-"): script for script in PROGRAMS}}
    near = difflib.get_close_matches(name.replace("_", "-"), by_word, 1, 0.6)
    return f"; is {PROGRAMS[by_word[near[0]]].removeprefix(PREFIX)} meant?" if near else ""
