"""Games between engines, own configurations and other programs: `python pipelines/play_match.py
black=... white=... games=100`.

Every game is kept as it ends, as SGF and as a line of results.jsonl; the same command with the
same output folder goes on where it stopped.
"""

import hashlib
import json
import math
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
import numpy as np
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig

from data.base.words import count_of
from mcts.gtp.arguments import MAX_KOMI
from mcts.play.clock import TimeRules, describe
from pipelines import play_gtp
from pipelines.engine.thinkers import thinker_options
from pipelines.matches.games import GameRules, draw_opening
from pipelines.matches.runner import (
    Contestant,
    Fixture,
    Match,
    MatchError,
    prepare_folder,
    read_results,
)
from pipelines.matches.summary import show, summarise, write_summary
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.console import console
from pipelines.shell.environment import ROOT
from pipelines.shell.mistakes import explain
from pipelines.shell.options import OptionError, convert
from pipelines.shell.path_keys import quoted
from pipelines.shell.project import commit
from pipelines.shell.script import script

OWN = [sys.executable, str(ROOT / "pipelines" / "play_gtp.py")]
NETS = ("policy", "value", "rollout", "tree")
# for how an own engine plays; the search is kept by itself
NO_MATTER = ("search", "threads", "log", "name")
WORDS_OF_OWN = re.compile(r"[+~]?[\w.@/]+=.*")


def run(cfg: DictConfig) -> dict[str, Any]:
    options = checked(plain(cfg))
    contestants = list(read_contestants(options))
    rules = game_rules(options)
    folder = Path(options["output"]).expanduser().absolute()
    fixtures = list(draw_fixtures(contestants, rules, options))
    return play(contestants, fixtures, rules, options, folder)


def play(
    contestants: list[Contestant],
    fixtures: list[Fixture],
    rules: GameRules,
    options: dict[str, Any],
    folder: Path,
) -> dict[str, Any]:
    prepare_folder(folder, contestants, rules, options, commit() or "an unknown version")
    done = read_results(folder / "results.jsonl")
    left = [fixture for fixture in fixtures if fixture.key not in done]
    if beyond := len(done) + len(left) - len(fixtures):
        raise MatchError(
            f"games={options['games']}: in {folder} there are {beyond} more; ask for as many, or choose another output"
        )
    who = " - ".join(contestant.name for contestant in contestants)
    how = f"{rules.size}x{rules.size}, komi {rules.komi:g}, time {describe(rules.time)}"
    before = f"{len(fixtures) - len(left)} played before"
    console.print(
        f"{who}: {count_of(len(fixtures), 'game')}, {before}; {how}; {folder}", soft_wrap=True
    )
    if left:
        Match(contestants, rules, options, folder, done, len(fixtures)).play(left)
    names = [contestant.name for contestant in contestants]
    games = [done[fixture.key] for fixture in fixtures if fixture.key in done]
    summary = summarise(games, names, rules)
    show(summary)
    write_summary(folder, summary, games, names)
    return summary


# --- what is asked for


def checked(options: dict[str, Any]) -> dict[str, Any]:
    kinds: dict[str, Any] = {
        **dict.fromkeys(
            ("games", "parallel", "size", "opening_moves", "seed", "max_moves", "overtime_count"),
            int,
        ),
        **dict.fromkeys(("komi", "move_timeout", "overtime"), float),
        **dict.fromkeys(("ko", "referee", "overtime_kind"), str),
        "main_time": float | None,
        "output": str,
    }
    for key, kind in kinds.items():
        options[key] = convert(options[key], kind, key)
        if isinstance(options[key], float) and not math.isfinite(options[key]):
            raise OptionError(f"{key}={options[key]}: a number that ends is expected")
    if abs(options["komi"]) > MAX_KOMI:
        raise OptionError(f"komi={options['komi']:g}: from {-MAX_KOMI:g} to {MAX_KOMI:g}")
    for key, least in {
        "games": 1,
        "parallel": 1,
        "opening_moves": 0,
        "seed": 0,
        "max_moves": 1,
        "overtime_count": 0,
    }.items():
        if options[key] < least:
            raise OptionError(f"{key}={options[key]}: from {least} up")
    if not options["move_timeout"] > 0:
        raise OptionError(f"move_timeout={options['move_timeout']:g}: seconds, above 0")
    if not 2 <= options["size"] <= 19:
        raise OptionError(f"size={options['size']}: from 2 to 19")
    if options["ko"] not in ("positional", "situational", "simple"):
        raise OptionError(f"ko={options['ko']}: positional, situational or simple")
    return options


def read_contestants(options: dict[str, Any]) -> Iterator[Contestant]:
    """`players` by name, or `black` and `white`; each a command line, or overrides of
    play_gtp.yaml for an own engine.
    """
    players = options["players"] or {}
    if not isinstance(players, dict):
        raise MatchError(
            f"players={players}: names are wanted, as in players={{a: policy_only, b: 'search=uct seconds=1'}}"
        )
    if not players:
        given = {key: options[key] for key in ("black", "white") if options[key] is not None}
        if len(given) < 2:
            raise MatchError(
                "who plays? black=... white=..., or players={NAME: ..., NAME: ..., ...} for several (--help has examples)"
            )
        names = [short_name(text, key) for key, text in given.items()]
        if names[0] == names[1]:
            names = [f"{name} ({k})" for k, name in enumerate(names, 1)]
        players = dict(zip(names, given.values(), strict=True))
    if len(players) < 2:
        raise MatchError(f"players: {len(players)} is not enough for a game")
    for name, given in players.items():
        command = to_command(given, str(name))
        is_own = command[: len(OWN)] == OWN
        if (
            is_own
            and options["referee"] == "area"
            and not any(word.startswith("agreed=") for word in command)
        ):
            command.append("agreed=false")  # nobody takes dead stones off, so they have to be taken
        yield Contestant(
            str(name),
            tuple(command),
            own_settings(command[len(OWN) :], str(name)) if is_own else {},
        )


def own_settings(overrides: list[str], name: str) -> dict[str, Any]:
    """What an own engine plays with: its search, and the contents of its nets, which may change
    while a match is stopped.
    """
    # as a script; not where `run` is called by itself
    started = GlobalHydra.instance().is_initialized()
    try:
        with nullcontext() if started else initialize_config_dir(str(CONF), version_base="1.3"):
            options = play_gtp.checked(plain(compose("play_gtp", quoted("play_gtp", overrides))))
        chosen = thinker_options(options)
    except (ValueError, HydraException) as error:
        raise MatchError(f"{name}: {explain(error) or error}") from None
    nets = {kind: getattr(chosen, kind) for kind in NETS}
    # a matter of the machine
    search = {key: value for key, value in asdict(chosen.search).items() if key != "threads"}
    manners = {
        key: value for key, value in options.items() if key not in NO_MATTER and key not in nets
    }
    contents = {kind: path and fingerprint(path) for kind, path in nets.items()}
    return {"search": search, "manners": manners, "nets": contents}


def fingerprint(path: Path) -> str:
    """The name of a file and the hash of what is in it; a card, in turn, holds those of its files."""
    return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"


def to_command(given: Any, name: str) -> list[str]:
    """`policy_only`, a file of conf/search; `search=uct seconds=1`, or the same as a mapping; else
    a program to start.
    """
    if isinstance(given, dict):
        return [
            *OWN,
            *(f"{key}={literal(value)}" for key, value in given.items()),
            f"name={json.dumps(name)}",
        ]
    words = split(given, name)
    if not words:
        raise MatchError(f"{name}: the command is empty")
    searches = sorted(path.stem for path in (CONF / "search").glob("*.yaml"))
    if len(words) == 1 and words[0] in searches:
        words = [f"search={words[0]}"]
    elif (
        len(words) == 1 and not WORDS_OF_OWN.fullmatch(words[0]) and shutil.which(words[0]) is None
    ):
        close = get_close_matches(words[0], searches, 1)
        hint = f"; {close[0]}?" if close else ""
        raise MatchError(
            f"{name}: {words[0]} is neither a program nor one of conf/search/: {', '.join(searches)}{hint}"
        )
    return [*OWN, *words] if all(WORDS_OF_OWN.fullmatch(word) for word in words) else words


def split(given: Any, name: str) -> list[str]:
    try:
        return shlex.split(str(given))
    except ValueError as error:
        raise MatchError(f"{name}={given}: not a command line ({str(error).lower()})") from None


def literal(value: Any) -> str:
    """As Hydra reads it."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def short_name(text: Any, key: str = "player") -> str:
    """`gnugo level 10`; of an own engine what its nets and its search are called, and what else is
    set.
    """
    words = split(text, key)
    if not words:
        raise MatchError(f"{key}: the command is empty")
    if all(WORDS_OF_OWN.fullmatch(word) for word in words):
        said = [word.split("=", 1) for word in words if not word.startswith("threads=")]
        pairs = [
            (key, Path(value).name if key in (*NETS, "search") else value) for key, value in said
        ]
        shown = (
            value if key in ("policy", "value", "search") else f"{key}={value}"
            for key, value in pairs
        )
        return " ".join(shown) or "own"
    level = re.search(r"--level[ =](\d+)", str(text))
    return Path(words[0]).name + (f" level {level[1]}" if level else "")


def game_rules(options: dict[str, Any]) -> GameRules:
    return GameRules(
        size=options["size"],
        komi=options["komi"],
        ko=options["ko"],
        time=time_rules(options),
        move_timeout=options["move_timeout"],
        max_moves=options["max_moves"],
        referee=options["referee"],
    )


def time_rules(options: dict[str, Any]) -> TimeRules:
    main, period, count, kind = (
        options[key] for key in ("main_time", "overtime", "overtime_count", "overtime_kind")
    )
    if kind not in ("canadian", "byoyomi", "fischer"):
        raise OptionError(f"overtime_kind={kind}: canadian, byoyomi or fischer")
    if main is None:
        if period != 0:
            raise OptionError(
                f"overtime={period:g}: without main_time there are no clocks; main_time=0 is overtime alone"
            )
        return TimeRules()
    if main < 0:
        raise OptionError(f"main_time={main:g}: from 0 up, or null for games without clocks")
    if period == 0:
        return TimeRules("absolute", main)
    try:
        return TimeRules(kind, main, period, count)
    except ValueError as error:
        raise OptionError(f"overtime={period:g} overtime_count={count}: {error}") from None


def draw_fixtures(
    contestants: list[Contestant], rules: GameRules, options: dict[str, Any]
) -> Iterator[Fixture]:
    """Each pair plays `games` games; two in a row share an opening and swap colours.

    Pairs take turns.
    """
    pairs = list(combinations(range(len(contestants)), 2))
    number = 0
    for k in range(options["games"]):
        random = np.random.default_rng([options["seed"], k // 2])
        opening = tuple(draw_opening(rules.size, options["opening_moves"], random))
        for first, second in pairs:
            number += 1
            black = first if k % 2 == 0 else second
            yield Fixture(
                number,
                first,
                second,
                black,
                opening,
                f"{contestants[first].name} - {contestants[second].name} #{k + 1}",
            )


@script("play_match")
def main(cfg: DictConfig) -> None:
    run(cfg)


if __name__ == "__main__":
    main()
