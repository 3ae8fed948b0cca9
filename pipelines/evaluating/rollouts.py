"""The evaluation of a rollout policy: its three measures as figures, and how they are shown.

`measure_match`, `measure_positions` and `measure_endings` return what `metrics.json` holds; the
`show_...` functions print it. The measures themselves are in `mcts/play/rollout_trials.py`.
"""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.positions import read_labels
from data.loading.order import key, shuffled
from data.patterns.files import PatternWeights
from mcts.play.rollout_trials import ALIKE, MatchRules, count_endings, mean_results, play_match
from mcts.rollouts.policy import PolicyRollouts, RolloutPolicy
from mcts.rollouts.protocols import Rollouts
from mcts.rollouts.tree_policy import PatternPriors
from mcts.rollouts.uniform import UniformRollouts
from models.judging.scores import Draws, Summary, phase_name
from pipelines.drawing import evaluations
from pipelines.evaluating.material import choose
from pipelines.evaluating.rollout_options import RolloutOptions
from pipelines.matches.scores import wilson
from pipelines.shell.console import bold, console, make_table, progress

PLAYERS = ("policy", "uniform")


def rollouts_of(
    options: RolloutOptions, patterns: PatternWeights, size: int
) -> tuple[Rollouts, Rollouts]:
    """Return the policy's rollouts and uniform ones, in the order of `PLAYERS`."""
    policy = RolloutPolicy.of(patterns, size, temperature=options.temperature)
    return PolicyRollouts(policy, mercy=options.mercy), UniformRollouts()


def measure_match(options: RolloutOptions, patterns: PatternWeights) -> dict[str, Any]:
    policy, uniform = rollouts_of(options, patterns, options.board)
    scaled = replace(patterns, weights=patterns.weights / options.temperature)
    odds = PatternPriors(scaled, options.board)
    rules = MatchRules(
        options.board,
        options.komi,
        options.simulations,
        options.opening,
        options.bias,
        options.seed,
    )
    with progress("games", "games") as watch:
        wins = play_match(
            policy, uniform, odds, rules, options.games, threads=options.threads, watch=watch
        )
    kept = ("board", "komi", "simulations", "opening", "bias", "mercy")
    return {
        "games": options.games,
        "wins": wins,
        "rate": asdict(wilson(wins, options.games)),
        **{name: getattr(options, name) for name in kept},
    }


def show_match(found: dict[str, Any]) -> None:
    rate = found["rate"]
    text = f"{found['wins']:g} of {found['games']} games: {100 * rate['value']:.1f}%"
    text += f" (95%: {100 * rate['low']:.1f} to {100 * rate['high']:.1f})"
    board = f"{found['board']}x{found['board']}, komi {found['komi']:g}"
    board += f", {found['simulations']:,} rollouts a move"
    console.print(bold("Against uniform rollouts", f", {board}: the policy wins {text}"))


def measure_positions(options: RolloutOptions, patterns: PatternWeights) -> dict[str, Any]:
    """Return squared errors of the mean of rollouts against the winner, by phase of the game."""
    file = DatasetFile(options.dataset or "")
    source = None if options.source is None else list(options.source)
    material = choose(file, "test", "value", None, options.seed, source=source)
    order = shuffled(len(material.rows), key(options.seed, "positions"))
    chosen = np.sort(order[: options.positions])
    columns = read_labels(file, material.rows[chosen])
    with progress("positions", "positions") as watch:
        values = mean_results(
            file,
            rollouts_of(options, patterns, file.size),
            columns,
            options.rollouts,
            seed=options.seed,
            threads=options.threads,
            watch=watch,
        )
    outcome = columns["outcome"].astype(np.float64)
    numbers, game = np.unique(material.game[chosen], return_inverse=True)
    scores = {name: (values[:, k] - outcome) ** 2 for k, name in enumerate(PLAYERS)}
    scores["difference"] = scores["policy"] - scores["uniform"]
    summary = Summary(scores, game, len(numbers), Draws(len(numbers), 1000, options.seed))
    phase = material.phase[chosen]
    names = {int(k): phase_name(int(k)) for k in np.unique(phase)}
    groups = {"all": summary.of(), **summary.by(phase, names)}
    file.close()
    return {
        "dataset": file.path.name,
        "positions": len(chosen),
        "games": len(numbers),
        "rollouts": options.rollouts,
        "phases": {name: asdict(group) for name, group in groups.items()},
    }


def show_positions(found: dict[str, Any]) -> None:
    def words(mean: dict[str, float]) -> str:
        return f"{mean['value']:.3f} ({mean['low']:.3f} to {mean['high']:.3f})"

    rows = [
        [
            name,
            f"{group['positions']:,}",
            f"{group['games']:,}",
            *(words(group["scores"][k]) for k in (*PLAYERS, "difference")),
        ]
        for name, group in found["phases"].items()
    ]
    title = f"Squared error, on -1..+1, of the mean of {found['rollouts']} rollouts"
    columns = ["plies", "positions", "games", *PLAYERS, "policy less uniform"]
    console.print(make_table(f"{title}; {found['dataset']}, split test", columns, rows))


def draw_positions(found: dict[str, Any], output: Path) -> None:
    phases = {name: group for name, group in found["phases"].items() if name != "all"}
    subtitle = f"{found['dataset']}, split test: {found['positions']:,} positions of "
    subtitle += f"{found['games']:,} games, {found['rollouts']} rollouts each"
    evaluations.rollout_phases(output / "rollouts_by_phase.png", phases, subtitle)


def measure_endings(options: RolloutOptions, patterns: PatternWeights) -> dict[str, Any]:
    """Return how many final positions get the score that their players counted."""
    file = DatasetFile(options.dataset or "")
    with progress("endings", "games") as watch:
        games, right = count_endings(
            file,
            rollouts_of(options, patterns, file.size),
            options.endings,
            seed=options.seed,
            threads=options.threads,
            watch=watch,
        )
    file.close()
    return {"games": games, "points": ALIKE, **dict(zip(PLAYERS, right, strict=True))}


def show_endings(found: dict[str, Any]) -> None:
    # half of the policy's rollouts are uniform ones: see `dead_stones.judge`
    for name, kinds in (("policy", "policy and uniform"), ("uniform", "uniform")):
        rate = wilson(found[name], found["games"])
        what = f", {kinds} rollouts: within {found['points']:g} points of the score that was "
        what += f"counted in {found[name]} of {found['games']:,} games: {100 * rate.value:.1f}%"
        interval = f" (95%: {100 * rate.low:.1f} to {100 * rate.high:.1f})"
        console.print(bold("Final positions", what + interval))
