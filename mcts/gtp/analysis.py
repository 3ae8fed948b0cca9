"""GTP commands that report the search while it runs, and overlays for GoGui.

lz-analyze, kata-analyze                     lines at intervals until the next line comes in
lz-genmove_analyze, kata-genmove_analyze     the same while a move is searched, and then the move
kata-search_analyze                          the same, and the move is not played
cgos-genmove_analyze                         one line of JSON, and the move
analyze, genmove_analyze                     short for those that begin with lz-
"""

import copy
from collections.abc import Callable

import numpy as np

from data.game.coords import PASS, to_gtp
from mcts.gtp.arguments import COLOURS, GtpError, colour, number, take, vertex, whole
from mcts.gtp.commands import name_of
from mcts.gtp.session import Session, command
from mcts.play.commentary import Wanted, to_cgos, to_kata, to_lz, to_table
from mcts.play.player import Choice
from mcts.search.protocols import Limits, Report

# Of kata-analyze. Flags that nothing here can answer are accepted and ignored.
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
Line = Callable[[Session, Report, int, Wanted], str]


@command("lz-genmove_analyze", "genmove_analyze")
def lz_genmove_analyze(session: Session, arguments: list[str]) -> str:
    return genmove_with(session, arguments, lz_line)


@command("kata-genmove_analyze")
def kata_genmove_analyze(session: Session, arguments: list[str]) -> str:
    return genmove_with(session, arguments, kata_line)


@command("kata-search_analyze")
def kata_search_analyze(session: Session, arguments: list[str]) -> str:
    player = session.player
    kept = copy.deepcopy(player.sides)
    try:
        return genmove_with(session, arguments, kata_line, player.choose)
    finally:
        player.sides = kept


@command("cgos-genmove_analyze")
def cgos_genmove_analyze(session: Session, arguments: list[str]) -> str:
    """Write the final report alone: servers that store it want one line."""
    who, wanted = analysis(session, arguments)
    board = session.player.game.position(who)
    choice = session.player.genmove(who, only=wanted.only)
    session.begin_stream()
    session.write(to_cgos(choice.report, board.size, board.komi, who) + "\n")
    return f"play {name_of(session, choice)}"


@command("lz-analyze", "analyze")
def lz_analyze(session: Session, arguments: list[str]) -> str:
    return analyze_with(session, arguments, lz_line)


@command("kata-analyze")
def kata_analyze(session: Session, arguments: list[str]) -> str:
    return analyze_with(session, arguments, kata_line)


def lz_line(session: Session, report: Report, who: int, wanted: Wanted) -> str:
    return to_lz(report, session.player.board.size, wanted)


def kata_line(session: Session, report: Report, who: int, wanted: Wanted) -> str:
    board = session.player.board
    return to_kata(report, board.size, session.player.game.area_komi, who, wanted)


def genmove_with(
    session: Session, arguments: list[str], line: Line, find: Callable[..., Choice] | None = None
) -> str:
    who, wanted = analysis(session, arguments)
    begun: list[bool] = []

    def watch(report: Report) -> None:
        if has_visits(report):
            write(report)

    def write(report: Report) -> None:
        if not begun:  # only now: without a report it may still become an error
            session.begin_stream()
        begun.append(True)
        session.write(line(session, report, who, wanted) + "\n")

    choice = (find or session.player.genmove)(who, watch, wanted.interval, only=wanted.only)
    if not begun:
        write(choice.report)
    return f"play {name_of(session, choice)}"


def analyze_with(session: Session, arguments: list[str], line: Line) -> str:
    """Write reports until the next line comes in.

    If the thinker is done earlier, its last report is written once more, and then nothing.
    """
    who, wanted = analysis(session, arguments)
    player = session.player
    player.load_thinker()  # before the stream: after it, a failure could not be answered
    session.begin_stream()

    def watch(report: Report) -> None:
        if has_visits(report):
            session.write(line(session, report, who, wanted) + "\n")

    watch(player.analyze(who, session.next_line, watch, wanted.interval, only=wanted.only))
    session.next_line.wait()
    return ""


def has_visits(report: Report) -> bool:
    """Whether there is anything to report; without a visit an interface would draw 50%."""
    return any(candidate.visits for candidate in report.candidates)


def analysis(session: Session, arguments: list[str]) -> tuple[int, Wanted]:
    """Parse `[colour] [interval] [key value ...]`; intervals are in hundredths of a second.

    `avoid COLOUR POINTS TURNS` and `allow COLOUR POINTS TURNS` limit the first move of the search.
    TURNS is ignored: only the first move is limited. So are points for the opponent.
    """
    words = arguments.copy()
    board = session.player.board
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
        only=choose_from(session, who, points["allow"], points["avoid"]),
        ownership=flags.get("ownership", False),
        root=flags.get("rootinfo", False),
    )


def choose_from(
    session: Session, who: int, allow: set[int], avoid: set[int]
) -> frozenset[int] | None:
    if not allow and not avoid:
        return None
    board = session.player.game.position(who)
    only = frozenset((allow or {*range(board.size**2), PASS}) - avoid)
    if not any(board.is_legal(point) for point in only):
        raise GtpError("no legal move is left to choose from")
    return only


# --- GoGui's overlays


@command("gogui-analyze_commands")
def gogui_analyze_commands(session: Session, arguments: list[str]) -> str:
    lines = (
        "dboard/Owner of each point/lambdago-owner",
        "dboard/Prior of each move/lambdago-prior",
        "hstring/Candidates of the last search/lambdago-candidates",
        "plist/Dead stones/lambdago-dead",
        "none/Forget what was searched/clear_cache",
    )
    return "\n".join(lines)


@command("lambdago-owner")
def owner(session: Session, arguments: list[str]) -> str:
    """Answer with the mean owner over rollouts: Black's +1, White's -1."""
    return matrix(session.player.judge().owner, session.player.board.size)


@command("lambdago-prior")
def prior(session: Session, arguments: list[str]) -> str:
    player = session.player
    player.rest()
    report = player.load_thinker().think(
        player.game.position(player.board.to_play), Limits(simulations=1)
    )
    priors = np.zeros(player.board.size**2)
    for candidate in report.candidates:
        if candidate.move != PASS:
            priors[candidate.move] = candidate.prior
    return matrix(priors, player.board.size)


@command("lambdago-candidates")
def candidates(session: Session, arguments: list[str]) -> str:
    last = session.player.last
    if last is None:
        raise GtpError("no move has been searched yet")
    return to_table(last.report, session.player.board.size)


@command("lambdago-dead")
def dead(session: Session, arguments: list[str]) -> str:
    size = session.player.board.size
    return " ".join(
        to_gtp(point, size) for string in session.player.judge().dead for point in string
    )


def matrix(values: np.ndarray, size: int) -> str:
    return "\n".join(
        " ".join(f"{value:.3f}" for value in row) for row in values.reshape(size, size)
    )
