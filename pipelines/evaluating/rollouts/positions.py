"""How well judges know the winner of recorded games, by phase of the game: figure 2b of the paper.

`measure_positions` returns what `metrics.json` holds:

    judges             who judged, and by how many games
    phases             squared errors of their values against the winner
    without_variance   the same less the variance that values have by chance
    differences        of each two of these, on the same positions

The mean of n results has a squared error that is too large by its variance, which is about 1 / n
where nothing is decided. Judges by few games are compared with others when it is taken off: that
is the error of endlessly many games. All intervals come from drawing games again.
"""

from collections.abc import Callable
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.positions import read_labels
from data.loading.order import key, shuffled
from data.patterns.files import PatternWeights
from models.judging.scores import Draws, Group, Scores, Summary, phase_name
from pipelines.drawing import evaluations
from pipelines.evaluating.material import choose
from pipelines.evaluating.rollouts.games import PLAYERS, rollouts_of
from pipelines.evaluating.rollouts.judges import About, Asked, Judgement, judgements, open_nets
from pipelines.evaluating.rollouts.options import DIFFERENCE, POLICY, UNIFORM, RolloutOptions
from pipelines.shell.console import console, make_table

DRAWS = 1000
ALL = "all"


def measure_positions(
    options: RolloutOptions,
    patterns: PatternWeights,
    watch: Callable[[dict[str, Any]], None] = lambda found: None,
) -> dict[str, Any]:
    """Ask all judges about the same positions; return their squared errors by phase.

    `watch` is told the result so far after both kinds of rollouts, and after each further judge.
    """
    file = DatasetFile(options.dataset or "")
    nets = open_nets(options, file)
    source = None if options.source is None else list(options.source)
    material = choose(file, "test", "value", None, options.seed, source=source)
    order = shuffled(len(material.rows), key(options.seed, "positions"))
    chosen = np.sort(order[: options.positions])
    rows = material.rows[chosen]
    asked = Asked(file, rows, read_labels(file, rows))
    outcome = asked.labels["outcome"].astype(np.float64)
    numbers, game = np.unique(material.game[chosen], return_inverse=True)
    draws = Draws(len(numbers), DRAWS, options.seed)
    judged: list[Judgement] = []
    found: dict[str, Any] = {}
    for one in judgements(options, rollouts_of(options, patterns, file.size), nets, asked):
        judged.append(one)
        if len(judged) < len(PLAYERS):  # figures compare these two
            continue
        found = {
            "dataset": file.path.name,
            "positions": len(chosen),
            "games": len(numbers),
            "rollouts": options.rollouts,
            "judges": [each.about.plain() for each in judged],
            **scores_by_phase(judged, outcome, game, material.phase[chosen], draws),
        }
        watch(found)
    file.close()
    return found


def scores_by_phase(
    judged: list[Judgement], outcome: np.ndarray, game: np.ndarray, phase: np.ndarray, draws: Draws
) -> dict[str, Any]:
    """Return errors and differences over all positions and by phase, as plain values.

    `game` numbers the games of the positions from 0.
    """
    errors: Scores = {one.about.name: (one.value - outcome) ** 2 for one in judged}
    without = {one.about.name: errors[one.about.name] - one.variance for one in judged}
    pairs = list(combinations(without, 2))

    def groups(scores: Scores) -> dict[str, Group]:
        summary = Summary(scores, game, draws.times.shape[1], draws)
        names = {int(k): phase_name(int(k)) for k in np.unique(phase)}
        return {ALL: summary.of(), **summary.by(phase, names)}

    errors[DIFFERENCE] = errors[POLICY] - errors[UNIFORM]
    between = groups({str(k): without[a] - without[b] for k, (a, b) in enumerate(pairs)})
    return {
        "phases": {name: asdict(group) for name, group in groups(errors).items()},
        "without_variance": {name: asdict(group) for name, group in groups(without).items()},
        "differences": [
            {
                "of": a,
                "less": b,
                "phases": {name: asdict(group.scores[str(k)]) for name, group in between.items()},
            }
            for k, (a, b) in enumerate(pairs)
        ],
    }


# --- for people


def show_positions(found: dict[str, Any]) -> None:
    """Print three tables: all judges, their errors by phase, and their differences."""
    judges = [About(**entry) for entry in found["judges"]]
    where = f"{found['dataset']}, split test"
    errors, without = found["phases"][ALL]["scores"], found["without_variance"][ALL]["scores"]
    rows = [
        [one.title, f"{one.games or '-'}", in_words(errors[one.name]), in_words(without[one.name])]
        for one in judges
    ]
    columns = ["judge", "games each", "squared error", "without their variance"]
    console.print(make_table(f"The winner, on -1..+1; {where}", columns, rows))
    rows = [
        [
            name,
            f"{group['positions']:,}",
            f"{group['games']:,}",
            *(in_short(group["scores"][one.name]) for one in judges),
        ]
        for name, group in found["without_variance"].items()
    ]
    columns = ["plies", "positions", "games", *(one.title for one in judges)]
    console.print()
    console.print(make_table("Squared error without their variance, by phase", columns, rows))
    titles = {one.name: one.title for one in judges}
    rows = [
        [f"{titles[pair['of']]} less {titles[pair['less']]}", in_words(pair["phases"][ALL])]
        for pair in found["differences"]
    ]
    console.print()
    console.print(make_table("Differences on the same positions", ["of", "all plies"], rows))


def in_words(mean: dict[str, float]) -> str:
    return f"{mean['value']:.3f} ({mean['low']:.3f} to {mean['high']:.3f})"


def in_short(mean: dict[str, float]) -> str:
    half = (mean["high"] - mean["low"]) / 2
    return f"{mean['value']:.2f}" + (f" ±{half:.2f}" if np.isfinite(half) else "")


def draw_positions(found: dict[str, Any], output: Path) -> None:
    judges = [About(**entry) for entry in found["judges"]]
    phases = {name: group for name, group in found["without_variance"].items() if name != ALL}
    subtitle = f"{found['dataset']}, split test: {found['positions']:,} positions of "
    subtitle += f"{found['games']:,} games; the variance of means of games is taken off"
    lines = {one.name: str(one) for one in judges}
    evaluations.rollout_phases(output / "rollouts_by_phase.png", phases, lines, subtitle)
