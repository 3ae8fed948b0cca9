"""What a rollout policy is worth, against uniformly random rollouts and beside nets.

`python pipelines/evaluate_rollouts.py dataset=datasets/kgs.h5` plays games, and judges positions
and ends of recorded games. `policy=` and `value=` add nets that judge the same positions.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from pipelines.evaluating.rollouts.options import RolloutOptions
from pipelines.shell.configuration import plain
from pipelines.shell.console import bold, clock, console
from pipelines.shell.options import read
from pipelines.shell.project import find_weights
from pipelines.shell.script import script


def run(cfg: DictConfig) -> dict[str, Any]:
    options = read(RolloutOptions, plain(cfg))
    from data.patterns.files import read_patterns
    from pipelines.evaluating.rollouts import games, positions

    began = time.monotonic()
    patterns = read_patterns(find_weights(options.rollout))
    games.rollouts_of(options, patterns, options.board)  # raises if they are unfit
    output = Path(options.output)
    result: dict[str, Any] = {
        "rollout": options.rollout,
        "temperature": options.temperature,
        "seed": options.seed,
    }
    if options.dataset:
        result["judgement"] = positions.measure_positions(
            options,
            patterns,
            # what is there so far is kept, should the next judge take too long
            lambda found: write_metrics(output, {**result, "judgement": found}),
        )
        positions.show_positions(result["judgement"])
        positions.draw_positions(result["judgement"], output)
        if options.endings:
            result["endings"] = games.measure_endings(options, patterns)
            games.show_endings(result["endings"])
        write_metrics(output, result)
    if options.games:
        result["match"] = games.measure_match(options, patterns)
        games.show_match(result["match"])
        write_metrics(output, result)
    made = sorted(path.name for path in output.iterdir() if path.suffix in (".json", ".png"))
    console.print()
    console.print(bold(str(output), f": {', '.join(made)}; {clock(time.monotonic() - began)}"))
    return result


def write_metrics(output: Path, result: dict[str, Any]) -> None:
    from data.base.atomic import write_text
    from pipelines.evaluating.output import without_nan

    output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(without_nan(result), indent=1, allow_nan=False) + "\n"
    write_text(output / "metrics.json", text)


@script("evaluate_rollouts")
def main(cfg: DictConfig) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    run(cfg)


if __name__ == "__main__":
    main()
