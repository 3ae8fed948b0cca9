"""Count the files that one game passes on its way from an archive to an answer in GTP.

    python tests/support/files_on_the_way.py [checkout]

Builds a dataset of one 9x9 game, takes a training step, exports the net and asks it for a move,
with kernels interpreted. A file is passed if one of its functions runs. What every script shares
(options, messages, tables) is listed apart: no game passes through it.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ("pipelines/shell/", "data/base/")
GAMES = 40  # so that each part of the split has some


def game(number: int) -> str:
    """A record of 24 moves on every second line, which begins at another point for each number."""
    points = [chr(97 + x) + chr(97 + y) for x in range(1, 9, 2) for y in range(0, 9, 2)]
    points = points[number % 20 :] + points[: number % 20]
    moves = "".join(
        f";{'BW'[k % 2]}[{point}]" for k, point in enumerate(points[: 12 + number // 20])
    )
    return f"(;GM[1]FF[4]SZ[9]KM[7]RE[B+R]{moves})"


WATCH = """
import json, os, runpy, sys, threading
root, out, script, *sys.argv[1:] = sys.argv[1:]
files = set()
importing = threading.local()
def watch(frame, event, argument):
    name = frame.f_code.co_filename
    if frame.f_code.co_name == "<module>":
        if name != sys.argv[0]:
            importing.depth = getattr(importing, "depth", 0) + {"call": 1, "return": -1}.get(event, 0)
    elif event == "call" and not getattr(importing, "depth", 0):
        files.add(name)
def write():
    kept = sorted(os.path.relpath(name, root) for name in files if name.startswith(root + os.sep))
    json.dump([name for name in kept if not name.startswith(".")], open(out, "w"))
def leave(status, leave=os._exit):
    sys.setprofile(None)
    write()
    leave(status)
os._exit = leave
sys.argv[0] = os.path.join(root, script)
sys.path[0] = os.path.dirname(sys.argv[0])
threading.setprofile(watch)
sys.setprofile(watch)
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    sys.setprofile(None)
    write()
"""
TRAIN = [
    "dataset=games.h5", "model=policy", "model.net.filters=4", "model.net.layers=2",
    "loader.batch_size=8", "loader.num_workers=0", "positions=8", "trainer.precision=32-true",
    "hydra.run.dir=run",
]  # fmt: skip
STEPS = {
    "archive to dataset": (
        "build_dataset",
        ["source=games", "output=games.h5", "size=9", "filters.min_moves=0", "executor.workers=1"],
    ),
    "dataset to weights": ("train_model", TRAIN),
    "weights to net": (
        "export_model",
        ["checkpoint=run/checkpoints/last.ckpt", "formats=[safetensors]", "output=net"],
    ),
    "net to answer": ("play_gtp", ["policy=net/policy.json", "value=none", "simulations=16"]),
}
DIALOGUE = "boardsize 9\nclear_board\nplay b e5\ngenmove w\nquit\n"


def passed(root: Path, folder: Path, script: str, arguments: list[str]) -> list[str]:
    out = folder / f"{script}.json"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", WATCH, str(root), str(out), f"pipelines/{script}.py"]
    done = subprocess.run(
        command + arguments, input=DIALOGUE, cwd=folder, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{script}: {done.stderr[-1500:]}")
    return list(json.loads(out.read_text()))


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "games").mkdir()
        for number in range(GAMES):
            (folder / "games" / f"{number}.sgf").write_text(game(number))
        steps = {step: passed(root, folder, *how) for step, how in STEPS.items()}
    every: set[str] = set()
    for step, files in steps.items():
        print(f"{step}: {len(files)}\n  {' '.join(files)}")
        every |= set(files)
    shared = sorted(file for file in every if file.startswith(SHARED))
    print(f"all: {len(every)}, of which {len(shared)} shared by scripts: {' '.join(shared)}")


if __name__ == "__main__":
    main()
