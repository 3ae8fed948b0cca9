"""How a script was started: are its packages there, and how is another script started alike?

This is the first import of every script. It imports nothing but the standard library, so that a
Python without the project's packages gets one line that says what to do. Scripts that run as files
find it by `pipelines/pipelines.py`, which says how.
"""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]  # of the scripts
ROOT = FOLDER.parent
# The name of the package of scripts: `pipelines`, in an installation `lambdago.pipelines`.
PACKAGE = __name__.rpartition(".shell.")[0]

umbrella = ""  # the path of the program `lambdago`, where it started the script

# The program that an installation puts beside its Python, for each script.
PROGRAMS = {
    "analyze_game": "lambdago-analyze",
    "build_dataset": "lambdago-build",
    "estimate_owners": "lambdago-owners",
    "estimate_rank": "lambdago-rank",
    "evaluate_model": "lambdago-evaluate",
    "evaluate_rollouts": "lambdago-rollouts",
    "export_model": "lambdago-export",
    "generate_positions": "lambdago-positions",
    "inspect_dataset": "lambdago-inspect",
    "measure_speed": "lambdago-speed",
    "play_gtp": "lambdago-gtp",
    "play_match": "lambdago-match",
    "reinforce_policy": "lambdago-reinforce",
    "report_sweep": "lambdago-sweep",
    "report_zero": "lambdago-report",
    "run_demo": "lambdago-demo",
    "train_model": "lambdago-train",
    "train_zero": "lambdago-zero",
}


def check_packages() -> None:
    """End a script with one line if this Python lacks the packages that all scripts need."""
    program = Path(sys.argv[0])
    if program.resolve().parent != FOLDER or importlib.util.find_spec("omegaconf") is not None:
        return
    there = (ROOT / ".venv" / "bin" / "activate").is_file()
    advice = (
        "activate the environment: . .venv/bin/activate"
        if there
        else "make the environment with: make test (or make demo)"
    )
    print(
        f"{program.stem}: this Python ({sys.executable}) lacks the project's packages; {advice}",
        file=sys.stderr,
    )
    sys.exit(2)


def is_installed_program() -> bool:
    """Whether a program of an installation runs, and not a script of a checkout."""
    return bool(umbrella) or Path(sys.argv[0]).name in PROGRAMS.values()


def start_of_command(script: str) -> list[str]:
    """Return the words that start `script` as the script that runs now was started."""
    program = Path(sys.argv[0])
    if umbrella:
        name = Path(umbrella).name
        command = PROGRAMS[script].removeprefix("lambdago-")
        return [name if shutil.which(name) else umbrella, command]
    if program.name in PROGRAMS.values():
        other = PROGRAMS[script]
        return [other if shutil.which(other) else str(program.with_name(other))]
    if str(getattr(getattr(sys.modules["__main__"], "__spec__", None), "name", "")).startswith(
        f"{PACKAGE}."
    ):
        return [python(), "-m", f"{PACKAGE}.{script}"]
    if program.suffix == ".py" and program.stem in PROGRAMS:
        return [python(), str(program.with_name(f"{script}.py"))]
    # called from a test, a notebook or the worker of a sweep
    return ["python", f"pipelines/{script}.py"]


def python() -> str:
    """Return `python` if that starts this interpreter, else the interpreter as it was typed."""
    found = shutil.which("python")
    return "python" if found and os.path.abspath(found) == sys.executable else sys.orig_argv[0]


check_packages()
