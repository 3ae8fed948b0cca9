"""Players from options: `black` and `white`, or `players` by name.

Each is a command line of another program, or overrides of play_gtp.yaml for an own engine.
"""

import hashlib
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException

from data.base.errors import Mistake
from pipelines.engine.net_files import BOTH, EVALUATED, NET_OPTIONS, SHIPPED, find_nets
from pipelines.engine.options import GtpOptions, read_options
from pipelines.matches.fixtures import Contestant, MatchError
from pipelines.matches.options import MatchOptions
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.environment import ROOT
from pipelines.shell.mistakes import explain
from pipelines.shell.path_keys import quoted

OWN = [sys.executable, str(ROOT / "pipelines" / "play_gtp.py")]
# These don't change how an own engine plays; its search is saved by itself.
NO_MATTER = ("search", "threads", "log", "name")
WORDS_OF_OWN = re.compile(r"[+~]?[\w.@/]+=.*")


def read_contestants(options: MatchOptions) -> Iterator[Contestant]:
    """Yield the players of the match. Raises `MatchError`."""
    players = options.players or named_by_colour(options)
    if not isinstance(players, dict):
        raise MatchError(
            f"players={players}: names are wanted, as in "
            "players={{a: policy_only, b: 'search=uct seconds=1'}}"
        )
    if len(players) < 2:
        raise MatchError(f"players: {len(players)} is not enough for a game")
    for name, given in players.items():
        command = to_command(given, str(name))
        is_own = command[: len(OWN)] == OWN
        agrees = any(word.startswith("agreed=") for word in command)
        if is_own and options.referee == "area" and not agrees:
            command.append("agreed=false")  # nobody takes dead stones off, so they have to be taken
        settings = own_settings(command[len(OWN) :], str(name)) if is_own else {}
        yield Contestant(str(name), tuple(command), settings)


def named_by_colour(options: MatchOptions) -> dict[str, Any]:
    """Return `black` and `white` by short names that differ."""
    given = {
        key: getattr(options, key)
        for key in ("black", "white")
        if getattr(options, key) is not None
    }
    if len(given) < 2:
        raise MatchError(
            "who plays? black=... white=..., or players={NAME: ..., NAME: ..., ...} for several "
            "(--help has examples)"
        )
    names = [short_name(text, key) for key, text in given.items()]
    if names[0] == names[1]:
        names = [f"{name} ({k})" for k, name in enumerate(names, 1)]
    return dict(zip(names, given.values(), strict=True))


def own_settings(overrides: list[str], name: str) -> dict[str, Any]:
    """Return what an own engine plays with: its search, its manners, and the contents of its nets.

    A match does not go on with others: files may change while it is stopped.
    """
    # as a script; not where `run` is called by itself
    started = GlobalHydra.instance().is_initialized()
    try:
        with nullcontext() if started else initialize_config_dir(str(CONF), version_base="1.3"):
            composed = compose("play_gtp", quoted("play_gtp", overrides))
            options = read_options(GtpOptions, plain(composed))
        files = find_nets(options)
    except (Mistake, HydraException) as error:
        if (message := explain(error)) is None:
            raise
        raise MatchError(f"{name}: {message}") from None
    nets = {kind: getattr(files, kind) for kind in SHIPPED}
    # threads are a matter of the machine
    search = {key: value for key, value in asdict(options.search).items() if key != "threads"}
    manners = {
        key: value
        for key, value in asdict(options).items()
        if key not in NO_MATTER and key not in NET_OPTIONS
    }
    contents = {kind: path and fingerprint(path) for kind, path in nets.items()}
    return {"search": search, "manners": manners, "nets": contents}


def fingerprint(path: Path) -> str:
    """Return the name of a file and its hash; the hash of a card covers the net's files, too."""
    return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"


def to_command(given: Any, name: str) -> list[str]:
    """Return the command that starts a player.

    | given                                   | started                     |
    | --------------------------------------- | --------------------------- |
    | `policy_only`, a file of conf/search    | an own engine               |
    | `search=uct seconds=1`, or as a mapping | an own engine               |
    | anything else                           | that program                |
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
            f"{name}: {words[0]} is neither a program nor one of conf/search/: "
            f"{', '.join(searches)}{hint}"
        )
    return [*OWN, *words] if all(WORDS_OF_OWN.fullmatch(word) for word in words) else words


def split(given: Any, name: str) -> list[str]:
    try:
        return shlex.split(str(given))
    except ValueError as error:
        raise MatchError(f"{name}={given}: not a command line ({str(error).lower()})") from None


def literal(value: Any) -> str:
    """Return a value as Hydra reads it."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def short_name(text: Any, key: str = "player") -> str:
    """Return a name for a player, such as `gnugo level 10`.

    An own engine is called by its search, its nets and whatever else is set.
    """
    words = split(text, key)
    if not words:
        raise MatchError(f"{key}: the command is empty")
    if all(WORDS_OF_OWN.fullmatch(word) for word in words):
        given = [word.split("=", 1) for word in words if not word.startswith("threads=")]
        pairs = [
            (key, Path(value).name if key in (*NET_OPTIONS, "search") else value)
            for key, value in given
        ]
        shown = (
            value if key in (BOTH, *EVALUATED, "search", "rank") else f"{key}={value}"
            for key, value in pairs
        )
        return " ".join(shown) or "own"
    level = re.search(r"--level[ =](\d+)", str(text))
    return Path(words[0]).name + (f" level {level[1]}" if level else "")
