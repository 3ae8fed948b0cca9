"""Games between rollouts, and the ends of recorded games: two measures of a rollout policy.

`measure_match` and `measure_endings` return what `metrics.json` holds; the `show_...` functions
print it. The measures themselves are in `mcts/play/rollout_trials.py`.
"""

from dataclasses import asdict, replace
from typing import Any

from data.dataset.file import DatasetFile
from data.patterns.files import PatternWeights
from mcts.play.rollout_trials import ALIKE, MatchRules, count_endings, play_match
from mcts.rollouts.policy import PolicyRollouts, RolloutPolicy
from mcts.rollouts.protocols import Rollouts
from mcts.rollouts.tree_policy import PatternPriors
from mcts.rollouts.uniform import UniformRollouts
from pipelines.evaluating.rollouts.options import POLICY, UNIFORM, RolloutOptions
from pipelines.matches.scores import wilson
from pipelines.shell.console import bold, console, progress

PLAYERS = (POLICY, UNIFORM)


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
    for name, kinds in ((POLICY, "policy and uniform"), (UNIFORM, "uniform")):
        rate = wilson(found[name], found["games"])
        what = f", {kinds} rollouts: within {found['points']:g} points of the score that was "
        what += f"counted in {found[name]} of {found['games']:,} games: {100 * rate.value:.1f}%"
        interval = f" (95%: {100 * rate.low:.1f} to {100 * rate.high:.1f})"
        console.print(bold("Final positions", what + interval))
