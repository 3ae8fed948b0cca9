"""GTP commands that tell what the engine thinks while it thinks, and overlays for GoGui.

lz-analyze, kata-analyze                     lines every so often, until the next line comes in; analyze is short for the first
lz-genmove_analyze, kata-genmove_analyze     the same while a move is searched, and then the move; genmove_analyze likewise
kata-search_analyze                          the same, and the move is not played
cgos-genmove_analyze                         one line of JSON, and the move
"""

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from data.game.coords import PASS, to_gtp
from mcts.gtp.arguments import COLOURS, GtpError, colour, number, take, vertex, whole
from mcts.gtp.commands import command, name_of
from mcts.play.commentary import Wanted, to_cgos, to_kata, to_lz, to_table
from mcts.play.player import Choice
from mcts.search.protocols import Limits, Report

if TYPE_CHECKING:
    from mcts.gtp.engine import Engine

# Of kata-analyze; those that nothing here can answer are understood and left.
FLAGS = (
    "ownership",
    "rootinfo",
    "ownershipstdev",
    "movesownership",
    "movesownershipstdev",
    "pvvisits",
    "pvedgevisits",
    "noresultvalue",
)
Line = Callable[["Engine", Report, int, Wanted], str]


@command("lz-genmove_analyze", "genmove_analyze")
def lz_genmove_analyze(engine: "Engine", arguments: list[str]) -> str:
    return genmove_with(engine, arguments, lz_line)


@command("kata-genmove_analyze")
def kata_genmove_analyze(engine: "Engine", arguments: list[str]) -> str:
    return genmove_with(engine, arguments, kata_line)


@command("kata-search_analyze")
def kata_search_analyze(engine: "Engine", arguments: list[str]) -> str:
    player = engine.player
    kept = copy.deepcopy(player.sides)
    try:
        return genmove_with(engine, arguments, kata_line, player.choose)
    finally:
        player.sides = kept


@command("cgos-genmove_analyze")
def cgos_genmove_analyze(engine: "Engine", arguments: list[str]) -> str:
    """The last word on the position alone: whoever stores it wants one line."""
    who, wanted = analysis(engine, arguments)
    board = engine.player.position(who)
    choice = engine.player.genmove(who, only=wanted.only)
    engine.begin_stream()
    engine.write(to_cgos(choice.report, board.size, board.komi, who) + "\n")
    return f"play {name_of(engine, choice)}"


@command("lz-analyze", "analyze")
def lz_analyze(engine: "Engine", arguments: list[str]) -> str:
    return analyze_with(engine, arguments, lz_line)


@command("kata-analyze")
def kata_analyze(engine: "Engine", arguments: list[str]) -> str:
    return analyze_with(engine, arguments, kata_line)


def lz_line(engine: "Engine", report: Report, who: int, wanted: Wanted) -> str:
    return to_lz(report, engine.player.board.size, wanted)


def kata_line(engine: "Engine", report: Report, who: int, wanted: Wanted) -> str:
    board = engine.player.board
    return to_kata(report, board.size, engine.player.area_komi, who, wanted)


def genmove_with(
    engine: "Engine", arguments: list[str], line: Line, find: Callable[..., Choice] | None = None
) -> str:
    who, wanted = analysis(engine, arguments)
    spoken: list[bool] = []

    def watch(report: Report) -> None:
        if has_visits(report):
            say(report)

    def say(report: Report) -> None:
        if not spoken:  # only now: until there is something to say it may still become an error
            engine.begin_stream()
        spoken.append(True)
        engine.write(line(engine, report, who, wanted) + "\n")

    choice = (find or engine.player.genmove)(who, watch, wanted.interval, only=wanted.only)
    if not spoken:
        say(choice.report)
    return f"play {name_of(engine, choice)}"


def analyze_with(engine: "Engine", arguments: list[str], line: Line) -> str:
    """Until the next line comes in.

    A thinker that is done earlier has its last word repeated once, and then all is quiet.
    """
    who, wanted = analysis(engine, arguments)
    player = engine.player
    player.thinker  # noqa: B018  (made now: what can't be opened is then an error, not an empty analysis)
    engine.begin_stream()

    def watch(report: Report) -> None:
        if has_visits(report):
            engine.write(line(engine, report, who, wanted) + "\n")

    watch(player.analyze(who, engine.inbox.waiting, watch, wanted.interval, only=wanted.only))
    engine.inbox.waiting.wait()
    return ""


def has_visits(report: Report) -> bool:
    """Before the first visit there is nothing to tell, and a graphical interface would draw it as
    50%.
    """
    return any(candidate.visits for candidate in report.candidates)


def analysis(engine: "Engine", arguments: list[str]) -> tuple[int, Wanted]:
    """`[colour] [interval] [key value ...]`: intervals are in hundredths of a second.

    `avoid COLOUR POINTS TURNS` and `allow` say which moves the search may begin with, and the
    engine play; whatever the number of turns, only the first is bound by it, and what is said of
    the opponent's moves binds nobody.
    """
    words = arguments.copy()
    board = engine.player.board
    who = COLOURS[words.pop(0).lower()] if words and words[0].lower() in COLOURS else board.to_play
    found: dict[str, float] = {}
    flags: dict[str, bool] = {}
    points: dict[str, set[int]] = {"avoid": set(), "allow": set()}
    if words and words[0].isascii() and words[0].isdigit():
        found["interval"] = whole(words.pop(0))
    while words:
        key = words.pop(0).lower()
        if key in ("interval", "minmoves", "maxmoves"):
            found[key] = number(take(words, key))
        elif key in FLAGS:
            flags[key] = take(words, key).lower() == "true"
        elif key in points:
            whose, listed, _ = colour(take(words, key)), take(words, key), whole(take(words, key))
            if whose == who:
                points[key] |= {vertex(text, board.size) for text in listed.split(",") if text}
        else:
            raise GtpError(f"syntax error: {key}")
    return who, Wanted(
        interval=max(0.01, found.get("interval", 50) / 100),
        least=max(1, int(found.get("minmoves", 1))),
        most=max(1, int(found.get("maxmoves", 50))),
        only=choose_from(engine, who, points["allow"], points["avoid"]),
        ownership=flags.get("ownership", False),
        root=flags.get("rootinfo", False),
    )


def choose_from(
    engine: "Engine", who: int, allow: set[int], avoid: set[int]
) -> frozenset[int] | None:
    if not allow and not avoid:
        return None
    board = engine.player.position(who)
    only = frozenset((allow or {*range(board.size**2), PASS}) - avoid)
    if not any(board.is_legal(point) for point in only):
        raise GtpError("no legal move is left to choose from")
    return only


# --- GoGui's overlays


@command("gogui-analyze_commands")
def gogui_analyze_commands(engine: "Engine", arguments: list[str]) -> str:
    lines = (
        "dboard/Owner of each point/lambdago-owner",
        "dboard/Prior of each move/lambdago-prior",
        "hstring/Candidates of the last search/lambdago-candidates",
        "plist/Dead stones/lambdago-dead",
        "none/Forget what was searched/clear_cache",
    )
    return "\n".join(lines)


@command("lambdago-owner")
def owner(engine: "Engine", arguments: list[str]) -> str:
    """Black's +1, White's -1: the mean of rollouts."""
    return matrix(engine.player.judge().owner, engine.player.board.size)


@command("lambdago-prior")
def prior(engine: "Engine", arguments: list[str]) -> str:
    player = engine.player
    player.rest()
    report = player.thinker.think(player.position(player.board.to_play), Limits(simulations=1))
    priors = np.zeros(player.board.size**2)
    for candidate in report.candidates:
        if candidate.move != PASS:
            priors[candidate.move] = candidate.prior
    return matrix(priors, player.board.size)


@command("lambdago-candidates")
def candidates(engine: "Engine", arguments: list[str]) -> str:
    last = engine.player.last
    if last is None:
        raise GtpError("no move has been searched yet")
    return to_table(last.report, engine.player.board.size)


@command("lambdago-dead")
def dead(engine: "Engine", arguments: list[str]) -> str:
    size = engine.player.board.size
    return " ".join(
        to_gtp(point, size) for string in engine.player.judge().dead for point in string
    )


def matrix(values: np.ndarray, size: int) -> str:
    return "\n".join(
        " ".join(f"{value:.3f}" for value in row) for row in values.reshape(size, size)
    )
