"""The whole pipeline on the games that ship with the project, in a few minutes.

This is what `make demo` runs. Each step is a command that a user could type; it is printed before
it runs. What it makes stays in `outputs/demo` of the current folder, where an earlier demo is
replaced.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from pipelines.shell.environment import PACKAGE, PROGRAMS, ROOT, start_of_command

IS_MODULE = __spec__ is not None and __name__ == "__main__"  # python -m pipelines.run_demo


def shown(path: Path) -> str:
    """Return a path relative to the current folder, if it is below."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


FOLDER = Path("outputs") / "demo"
DATASET = FOLDER / "games.h5"

RUN = FOLDER / "policy"
MATCH = FOLDER / "match"

SAMPLE_GAMES = shown(ROOT / "data" / "sample_games")
SMALL = ("model=policy_resnet", "model.net.filters=32", "model.net.blocks=3", "logger=none")

STEPS = (
    ("Build a dataset of 48-plane positions from game records",
     ["build_dataset", f"source={SAMPLE_GAMES}", f"output={DATASET}", "overwrite=true"]),
    ("Look into it",
     ["inspect_dataset", f"dataset={DATASET}"]),
    ("Look at one position",
     ["inspect_dataset", f"dataset={DATASET}", "sample=random", "seed=1", "planes=none"]),
    ("Check the file against the rules",
     ["inspect_dataset", f"dataset={DATASET}", "verify=true"]),
    ("Train a small policy net",
     ["train_model", f"dataset={DATASET}", *SMALL, "positions=60_000", "validate_every=30_000",
      f"hydra.run.dir={RUN}"]),
    ("See how well it predicts moves",
     ["evaluate_model", f"dataset={DATASET}", f"checkpoint={RUN}/checkpoints/best.ckpt",
      f"hydra.run.dir={FOLDER}/evaluation"]),
    ("Let the policy net that ships play a game against itself",
     ["play_match", "black=policy_only", "white=policy_only", "games=1", f"output={MATCH}"]),
    ("Ask the search what it thinks of the first forty moves",
     ["analyze_game", f"{MATCH}/games/00001.sgf", "last=40", "seconds=0.2",
      f"output={FOLDER}/analysis"]),
)  # fmt: skip


def main() -> int:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    started = time.monotonic()
    for folder in (RUN, MATCH):  # what an earlier demo trained and played
        shutil.rmtree(folder, ignore_errors=True)
    for number, (title, command) in enumerate(STEPS, 1):
        program, *rest = [*script(command[0]), *command[1:]]
        print(f"\n{number}/{len(STEPS)}  {title}\n$ {shlex.join([program, *rest])}\n", flush=True)
        done = subprocess.run(
            [sys.executable if program == "python" else program, *rest], check=False
        )
        if done.returncode:
            print(f"\nthe demo stopped at step {number}", file=sys.stderr)
            return done.returncode
    print(f"\nDone in {time.monotonic() - started:.0f} s; everything is in {FOLDER.absolute()}")
    print("Worth a look there: evaluation/moves_by_phase.png and analysis/00001.png;")
    print("in any Go program: analysis/00001.analysis.sgf")
    print(what_next(), flush=True)
    return 0


def script(name: str) -> list[str]:
    """Return the words that start a script, in the way in which this one was started."""
    if Path(sys.argv[0]).name in PROGRAMS.values():
        return start_of_command(name)
    if IS_MODULE:
        return ["python", "-m", f"{PACKAGE}.{name}"]
    return ["python", shown(ROOT / "pipelines" / f"{name}.py")]


def what_next() -> str:
    activate = Path(sys.prefix) / "bin" / "activate"
    is_active = os.environ.get("VIRTUAL_ENV") == sys.prefix
    first = [] if is_active or not activate.is_file() else [f"  . {shlex.quote(shown(activate))}"]
    lines = [
        shlex.join([*script(name), *rest])
        for name, *rest in (("play_gtp",), ("train_model", "--help"))
    ]
    return "\n".join(["To go on:", *first, *(f"  {line}" for line in lines)])


if __name__ == "__main__":
    sys.exit(main())
