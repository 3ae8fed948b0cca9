"""What a rollout policy is worth: `python pipelines/evaluate_rollouts.py dataset=datasets/kgs.h5`."""

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
import numpy as np
from omegaconf import DictConfig

from data.base.atomic import write_text
from data.base.errors import Mistake
from pipelines.shell.configuration import plain
from pipelines.shell.console import BuildProgress, bold, clock, console, make_table
from pipelines.shell.project import find_weights
from pipelines.shell.script import script

ALIKE = 1.5  # points between scores
MOST_PLIES = 3  # times the points: a game that is not over then is counted as it stands


class RolloutError(Mistake):
    """Nothing can be judged as asked; the message says why."""


def run(cfg: DictConfig) -> dict[str, Any]:
    options = plain(cfg)
    check(options)
    from data.patterns.files import read_patterns

    began = time.monotonic()
    patterns = read_patterns(find_weights(options["rollout"]))
    result: dict[str, Any] = {
        "rollout": str(options["rollout"]),
        "temperature": options["temperature"],
        "seed": options["seed"],
    }
    rollouts_of(options, patterns, options["board"])  # what is wrong with them is said now
    output = Path(options["output"])
    if options["dataset"]:
        result["judgement"] = judge(options, patterns)
        show_judgement(result["judgement"])
        output.mkdir(parents=True, exist_ok=True)
        draw(result["judgement"], output)
        if options["endings"]:
            result["endings"] = judge_endings(options, patterns)
            show_endings(result["endings"])
        write_text(output / "metrics.json", json.dumps(result, indent=1) + "\n")
    if options["games"]:
        result["match"] = match(options, patterns)
        show_match(result["match"])
        output.mkdir(parents=True, exist_ok=True)
        write_text(output / "metrics.json", json.dumps(result, indent=1) + "\n")
    made = ", ".join(
        sorted(path.name for path in output.iterdir() if path.suffix in (".json", ".png"))
    )
    console.print()
    console.print(bold(str(output), f": {made}; {clock(time.monotonic() - began)}"))
    return result


def check(options: dict[str, Any]) -> None:
    least = {
        "games": 0,
        "board": 2,
        "simulations": 1,
        "opening": 0,
        "positions": 1,
        "endings": 0,
        "rollouts": 1,
        "threads": 1,
        "seed": 0,
        "mercy": 0,
    }
    for key, smallest in least.items():
        if type(options[key]) is not int or options[key] < smallest:
            raise RolloutError(f"{key}={options[key]}: a whole number from {smallest} up")
    for key in ("komi", "temperature", "bias"):
        if isinstance(options[key], bool) or not isinstance(options[key], int | float):
            raise RolloutError(f"{key}={options[key]}: a number")
    if not isinstance(options["rollout"], str):
        raise RolloutError(f"rollout={options['rollout']}: a file of weights of a rollout policy")
    if options["opening"] > options["board"] ** 2 // 4:
        raise RolloutError(
            f"opening={options['opening']}: at most a quarter of the board's points, {options['board'] ** 2 // 4}"
        )
    if options["board"] > 19:
        raise RolloutError(f"board={options['board']}: at most 19")
    if not options["games"] and not options["dataset"]:
        raise RolloutError("games=0 and no dataset: there is nothing to do")
    if isinstance(options["source"], str):
        options["source"] = [options["source"]]


def rollouts_of(options: dict[str, Any], patterns: Any, size: int) -> dict[str, Any]:
    from mcts.rollouts.policy import PolicyRollouts, RolloutPolicy
    from mcts.rollouts.uniform import UniformRollouts

    policy = RolloutPolicy.of(patterns, size, temperature=options["temperature"])
    return {"policy": PolicyRollouts(policy, mercy=options["mercy"]), "uniform": UniformRollouts()}


def side_by_side(
    options: dict[str, Any], what: str, unit: str, total: int, work: Callable[[int], Any]
) -> list[Any]:
    """The results for 0..total, several at a time, in order."""
    progress = BuildProgress()
    progress.begin(what, total, unit)
    results = []
    with progress, ThreadPoolExecutor(options["threads"]) as threads:
        for result in threads.map(work, range(total)):
            results.append(result)
            progress.advance(1)
        progress.end()
    return results


# --- games


def match(options: dict[str, Any], patterns: Any) -> dict[str, Any]:
    from mcts.rollouts.tree_policy import PatternPriors
    from pipelines.matches.scores import wilson

    players = rollouts_of(options, patterns, options["board"])
    odds = PatternPriors(
        replace(patterns, weights=patterns.weights / options["temperature"]), options["board"]
    )

    def work(number: int) -> float:
        return game(options, players, odds, number)

    scores = side_by_side(options, "games", "games", options["games"], work)
    rate = wilson(float(sum(scores)), len(scores))
    return {"games": len(scores), "wins": float(sum(scores)), "rate": asdict(rate),
            **{key: options[key] for key in ("board", "komi", "simulations", "opening", "bias", "mercy")}}  # fmt: skip


def game(options: dict[str, Any], players: dict[str, Any], odds: Any, number: int) -> float:
    """1 where the policy's rollouts win, 0 where the uniform ones do; it is Black in every second
    game.
    """
    from data.game.board import Board
    from mcts.play.rollout_player import RolloutPlayer
    from mcts.search.protocols import Limits

    board = Board(options["board"], komi=options["komi"])
    rng = np.random.default_rng([options["seed"], number // 2])
    for _ in range(options["opening"]):
        board.play(int(rng.choice(board.legal_points())))
    policys = 1 if number % 2 == 0 else -1
    thinkers = {
        colour: RolloutPlayer(
            players[name],
            board.size,
            odds=odds if name == "policy" else None,
            bias=options["bias"],
            seed=1000 * options["seed"] + number,
        )
        for name, colour in (("policy", policys), ("uniform", -policys))
    }
    while not board.ended and board.ply < MOST_PLIES * board.size**2:
        report = thinkers[board.to_play].think(board, Limits(simulations=options["simulations"]))
        board.play(report.best.move)
    return (np.sign(board.score()) * policys + 1) / 2


def show_match(found: dict[str, Any]) -> None:
    rate = found["rate"]
    text = f"{found['wins']:g} of {found['games']} games: {100 * rate['value']:.1f}%"
    text += f" (95%: {100 * rate['low']:.1f} to {100 * rate['high']:.1f})"
    board = f"{found['board']}x{found['board']}, komi {found['komi']:g}, {found['simulations']:,} rollouts a move"
    console.print(bold("Against uniform rollouts", f", {board}: the policy wins {text}"))


# --- positions


def judge(options: dict[str, Any], patterns: Any) -> dict[str, Any]:
    """Squared error of the mean of rollouts as what is said of the winner, by phase of the game."""
    from data.base.random_kernels import new_state
    from data.dataset.file import DatasetFile
    from data.dataset.games import Games
    from data.dataset.positions import read_labels
    from data.game.board_kernels import VERTICES, new_boards
    from data.loading.order import key, shuffled
    from models.judging.scores import Draws, Summary, phase_name
    from pipelines.evaluating.material import choose

    file = DatasetFile(options["dataset"])
    material = choose(file, "test", "value", None, options["seed"], source=options["source"])
    chosen = np.sort(
        shuffled(len(material.rows), key(options["seed"], "positions"))[: options["positions"]]
    )
    columns = read_labels(file, material.rows[chosen])
    komi = file.area_komi[columns["game"]]
    games, players, count = (
        Games(file),
        rollouts_of(options, patterns, file.size),
        options["rollouts"],
    )

    def work(number: int) -> list[float]:
        record = games.replay(columns["game"][number], columns["ply"][number])
        record["to_play"] = columns["to_play"][number]
        found = []
        for rollouts in players.values():
            boards, balances = new_boards(count, file.size), np.zeros(count, np.int32)
            boards[:] = record[0]
            rollouts.run(
                boards,
                0,
                count,
                balances,
                np.zeros(VERTICES, np.int32),
                new_state(options["seed"], number),
            )
            found.append(
                float(np.sign(balances - komi[number]).mean()) * int(columns["to_play"][number])
            )
        return found

    values = np.array(side_by_side(options, "positions", "positions", len(chosen), work))
    outcome = columns["outcome"].astype(np.float64)
    numbers, game = np.unique(material.game[chosen], return_inverse=True)
    scores = {name: (values[:, k] - outcome) ** 2 for k, name in enumerate(players)}
    scores["difference"] = scores["policy"] - scores["uniform"]
    summary = Summary(scores, game, len(numbers), Draws(len(numbers), 1000, options["seed"]))
    phase = material.phase[chosen]
    names = {int(k): phase_name(int(k)) for k in np.unique(phase)}
    tables = {
        "all": asdict(summary.of()),
        **{name: asdict(group) for name, group in summary.by(phase, names).items()},
    }
    file.close()
    return {
        "dataset": file.path.name,
        "positions": len(chosen),
        "games": len(numbers),
        "rollouts": count,
        "phases": tables,
    }


def show_judgement(found: dict[str, Any]) -> None:
    def words(mean: dict[str, float]) -> str:
        return f"{mean['value']:.3f} ({mean['low']:.3f} to {mean['high']:.3f})"

    rows = [
        [
            name,
            f"{group['positions']:,}",
            f"{group['games']:,}",
            *(words(group["scores"][k]) for k in ("policy", "uniform", "difference")),
        ]
        for name, group in found["phases"].items()
    ]
    title = f"Squared error, on -1..+1, of the mean of {found['rollouts']} rollouts; {found['dataset']}, split test"
    console.print(
        make_table(
            title, ["plies", "positions", "games", "policy", "uniform", "policy less uniform"], rows
        )
    )


# --- final positions


def judge_endings(options: dict[str, Any], patterns: Any) -> dict[str, Any]:
    """How often the score with dead stones taken off is the one that the players counted, in even
    games of the test split. Area and territory may differ by a point.
    """
    from data.dataset.file import DatasetFile
    from data.dataset.games import Games
    from data.game.board import Board
    from data.loading.order import key, shuffled
    from data.records.metadata import to_margin
    from mcts.play.dead_stones import judge

    file = DatasetFile(options["dataset"])
    margin = np.array([to_margin(result) for result in file.column("result")])
    komi, setup = file.games["komi"][:], np.diff(file.games["setup_offset"][:])
    even = (file.games["handicap"][:] == 0) & (setup == 0) & (file.games["value"][:] != 0)
    first, stop = file.split_games["test"]
    usable = first + np.flatnonzero((np.isfinite(margin) & np.isfinite(komi) & even)[first:stop])
    chosen = usable[shuffled(len(usable), key(options["seed"], "endings"))[: options["endings"]]]
    games, players = Games(file), rollouts_of(options, patterns, file.size)

    def work(number: int) -> list[bool]:
        game = chosen[number]
        games.replay(game)  # or it says which game is not legal
        moves = games.game(game)
        board = Board(file.size, komi=float(komi[game]), ko="simple")
        for move, colour in zip(moves.moves, moves.colours, strict=True):
            board.play(int(move), int(colour))
        return [
            abs(judge(board, rollouts).score - margin[game]) <= ALIKE
            for rollouts in players.values()
        ]

    right = np.array(side_by_side(options, "endings", "games", len(chosen), work), bool).reshape(
        -1, len(players)
    )
    file.close()
    return {
        "games": len(chosen),
        "points": ALIKE,
        **{name: int(right[:, k].sum()) for k, name in enumerate(players)},
    }


def show_endings(found: dict[str, Any]) -> None:
    from pipelines.matches.scores import wilson

    for name in ("policy", "uniform"):
        rate = wilson(found[name], found["games"])
        percent = f"{100 * rate.value:.1f}% (95%: {100 * rate.low:.1f} to {100 * rate.high:.1f})"
        # of the former half are the latter: see `judge`
        kinds = {"policy": "policy and uniform", "uniform": "uniform"}[name]
        what = (
            f", {kinds} rollouts: within {found['points']:g} points of the score that was counted"
        )
        console.print(
            bold(
                "Final positions", f"{what} in {found[name]} of {found['games']:,} games: {percent}"
            )
        )


def draw(found: dict[str, Any], output: Path) -> None:
    from pipelines.drawing import evaluations

    phases = {name: group for name, group in found["phases"].items() if name != "all"}
    subtitle = f"{found['dataset']}, split test: {found['positions']:,} positions of {found['games']:,} games"
    subtitle += f", {found['rollouts']} rollouts each"
    evaluations.rollout_phases(output / "rollouts_by_phase.png", phases, subtitle)


@script("evaluate_rollouts")
def main(cfg: DictConfig) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    run(cfg)


if __name__ == "__main__":
    main()
