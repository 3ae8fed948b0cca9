"""Compare the speed of two checkouts: their benchmarks run by turns, so that both meet one machine.

    python tests/support/compare_speed.py /path/of/the/old/checkout [rounds] [words of names ...]

Prints for each benchmark the best figure of both and the ratio of new to old; above 1 the new one
is better. Nothing else should run meanwhile.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOWER = {  # benchmarks of which a lower figure is better
    "dataset on disk",
    "memory of a building process",
    "first import and compile of the rules, cold cache",
    "import and compile of the rules, warm cache",
    "Lightning and loader on top of a raw loop, 6x64 net",
}


def figures(root: Path, words: list[str], folder: Path) -> dict[str, tuple[float, bool]]:
    """Return the figure of each benchmark, and whether a higher one is better."""
    out = folder / "speed.json"
    only = [f"only=[{','.join(words)}]"] if words else []
    command = [sys.executable, str(root / "pipelines" / "measure_speed.py"), "runs=1", *only]
    subprocess.run(
        [*command, f"output={out}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    found = json.loads(out.read_text())["figures"]
    return {line["name"]: (line["median"], line["name"] not in LOWER) for line in found}


def main() -> None:
    old, rounds, words = Path(sys.argv[1]), int((sys.argv[2:] or ["3"])[0]), sys.argv[3:]
    seen: dict[str, list[dict[str, tuple[float, bool]]]] = {"old": [], "new": []}
    with tempfile.TemporaryDirectory() as name:
        for number in range(rounds):
            pair = [("old", old.resolve()), ("new", ROOT)]
            for which, root in pair if number % 2 == 0 else reversed(pair):
                seen[which].append(figures(root, words, Path(name)))
    print(f"{'':72} {'old':>12} {'new':>12}  new/old")
    for name, (_, higher) in seen["new"][0].items():
        if any(name not in table for table in seen["old"]):
            continue
        best = max if higher else min
        before, after = (best(table[name][0] for table in seen[key]) for key in ("old", "new"))
        ratio = after / before if higher else before / after
        print(f"{name:72} {before:12,.4g} {after:12,.4g}  {ratio:.2f}")


if __name__ == "__main__":
    main()
