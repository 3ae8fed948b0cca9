"""A run that learns from nothing, from its configuration to its last net: `run(cfg)`.

| module      | does                                                      |
| ----------- | --------------------------------------------------------- |
| prepare     | makes the objects of a run from its options               |
| rounds      | the loop: games, memory, learning, a new net, and again   |
| games/      | orders and tasks of games, workers, when to resign        |
| nets        | the files of the nets that play                           |
| calibration | positions on which these are made int8                    |
| strength/   | matches                                                   |
| telling/    | what people and files are told                            |
| state       | what the checkpoint remembers of rounds                   |
| folder      | where everything is                                       |

Ctrl-C and SIGTERM end a run at the next safe point. What is lost is what is in work: parts of games
that are not whole, and the learning of the round. The same happens after `kill -9`.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from data.base import interrupts
from data.base.atomic import write_text
from data.build.executors import ExecutorError
from pipelines.shell.console import console
from pipelines.shell.path_keys import command
from pipelines.training.resume import COMPOSED, overrides_of_command_line, resumed_config
from pipelines.zero.options import ZeroOptions
from pipelines.zero.prepare import complete, make_folder, prepare, read_options
from pipelines.zero.rounds import Rounds

# Keys that a run that goes on can't change: its games and its net depend on them.
FIXED = ("size", "games", "seed", "model", "learn.features", "learn.extras")

KL_AND_SCHEDULE = (
    "learn.kl={:g} makes the rate larger again where the schedule makes it smaller; better with "
    "schedule=constant, or schedule.decay=0 in a run that goes on"
)


def run(cfg: DictConfig) -> dict[str, Any]:
    """Learn from nothing, or go on; return where the last net is, and what it cost."""
    output = Path(cfg.resume or cfg.output).expanduser()
    resumed = bool(cfg.resume)
    try:
        if resumed:
            cfg.resume = str(cfg.resume)
            overrides = overrides_of_command_line()
            cfg = resumed_config(cfg, overrides, FIXED, "begin another run with it")
        # Workers are one a core, and inherit this. The learner sets its threads itself.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        precision = complete(cfg, resumed=resumed)
        options = read_options(cfg)
        return learn_from_nothing(cfg, options, output, precision, resumed=resumed)
    except Exception:
        with suppress(OSError):  # Hydra made the folder; it goes if it is empty
            output.rmdir()
        raise


def learn_from_nothing(
    cfg: DictConfig, options: ZeroOptions, output: Path, precision: str, *, resumed: bool
) -> dict[str, Any]:
    folder = make_folder(output, resumed=resumed)
    parts = prepare(cfg, options, folder)
    write_text(folder.path / "config.yaml", OmegaConf.to_yaml(cfg, resolve=True))
    write_text(folder.path / COMPOSED, OmegaConf.to_yaml(cfg))
    rounds = Rounds(options, folder, parts, lambda line: console.print(line, soft_wrap=True))
    with stoppable(output):
        try:
            if folder.checkpoint.is_file():
                rounds.go_on()
            else:
                rounds.begin()
            lines = introduction(options, output, falls=parts.learner.falls)
            parts.teller.begin(*lines, precision)
            rounds.run()
        finally:
            rounds.close()
    return conclude(rounds, output)


@contextmanager
def stoppable(output: Path) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the block at a safe point, and then the process."""
    with interrupts.held_with_sigterm() as signals:
        try:
            yield
        except (KeyboardInterrupt, ExecutorError):
            # a signal to the whole group of processes ends workers, too
            if not interrupts.STATE.noted:
                raise
            interrupts.STATE.raised = True  # it is obeyed
            line = f"stopped; go on with: {command('train_zero', resume=output)}"
            console.print(line, soft_wrap=True)
            raise SystemExit(128 + (signals or [signal.SIGINT])[0]) from None


def introduction(options: ZeroOptions, output: Path, *, falls: bool) -> list[str]:
    """Return the first lines of a run; `falls` says whether its schedule makes the rate fall."""
    spread = f" +- {options.komi_spread:g}" if options.komi_spread else ""
    thinking = options.thinking
    first = {
        "playouts": f"pure tree search of {options.first_simulations:,} playouts a move",
        "random": f"the net of {options.start}" if options.start else "a net with random weights",
    }[options.first]
    return [
        f"{options.size}x{options.size}, komi {options.komi:g}{spread}: {options.rounds:,} rounds "
        f"of {options.games:,} games, {thinking.simulations:,} simulations a move; {output}",
        f"the first games are played by {first}",
        *([KL_AND_SCHEDULE.format(options.learn.kl)] if options.learn.kl and falls else []),
    ]


def conclude(rounds: Rounds, output: Path) -> dict[str, Any]:
    """Print what to do next, and return where the last net is."""
    state, folder = rounds.state, rounds.folder
    hours = state.core_seconds / 3600
    console.print(f"{output}: {state.round + 1:,} rounds, {hours:.2f} core-hours")
    console.print(f"next:   {command('report_zero', run=output)}", soft_wrap=True)
    result = {
        "rounds": state.round + 1,
        "core_hours": hours,
        "net": state.net,
        "checkpoint": str(folder.checkpoint),
    }
    if state.net >= 0:
        card = rounds.parts.nets.card_path(state.net)
        console.print(f"        {command('play_gtp', 'search=zero', net=card)}", soft_wrap=True)
        result["card"] = str(card)
    return result
