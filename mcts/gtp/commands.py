"""The commands of GTP: game, records, time, moves, score.

Commands that write lines while the player thinks are in `analysis.py`, those about rules in
`rules.py`, those that look into nets and settings in `inside.py`.
"""

import copy
from pathlib import Path

from data.game.board import IllegalMove
from data.game.coords import BLACK, COLOUR_NAMES, MAX_SIZE, MIN_SIZE, PASS, WHITE, to_gtp
from data.game.diagram import draw
from data.records.load import NoGame, load_record
from data.records.sgf_writer import write_game
from mcts.gtp.arguments import MAX_KOMI, GtpError, colour, number, numbers, one, vertex, whole
from mcts.gtp.session import COMMANDS, Session, command
from mcts.play.clock import TimeRules, describe
from mcts.play.clock import from_gtp as time_rules_from_gtp
from mcts.play.commentary import percent, to_table
from mcts.play.handicap import free_handicap_points, handicap_points
from mcts.play.manners import RESIGN
from mcts.play.player import Choice

# --- about the engine


@command("protocol_version")
def protocol_version(session: Session, arguments: list[str]) -> str:
    return "2"


@command("name")
def name(session: Session, arguments: list[str]) -> str:
    return session.name


@command("version")
def version(session: Session, arguments: list[str]) -> str:
    return session.version


@command("known_command")
def known_command(session: Session, arguments: list[str]) -> str:
    return "true" if arguments and arguments[0] in COMMANDS else "false"


@command("list_commands")
def list_commands(session: Session, arguments: list[str]) -> str:
    return "\n".join(COMMANDS)


@command("quit")
def quit_engine(session: Session, arguments: list[str]) -> str:
    session.running = False
    return ""


# --- the game


@command("boardsize")
def boardsize(session: Session, arguments: list[str]) -> str:
    size = whole(one(arguments, "a size"))
    if not MIN_SIZE <= size <= MAX_SIZE:
        raise GtpError("unacceptable size")
    session.player.new_game(size)
    return ""


@command("clear_board")
def clear_board(session: Session, arguments: list[str]) -> str:
    session.player.new_game()
    return ""


@command("komi")
def komi(session: Session, arguments: list[str]) -> str:
    value = number(one(arguments, "a komi"))
    if abs(value) > MAX_KOMI:
        raise GtpError(f"komi from {-MAX_KOMI:g} to {MAX_KOMI:g} is possible")
    session.player.set_komi(value)
    return ""


@command("get_komi")
def get_komi(session: Session, arguments: list[str]) -> str:
    return f"{session.player.board.komi:g}"


@command("play")
def play(session: Session, arguments: list[str]) -> str:
    if len(arguments) != 2:
        raise GtpError("syntax error: play COLOUR VERTEX")
    colour_, move = colour(arguments[0]), vertex(arguments[1], session.player.board.size)
    try:
        session.player.play(move, colour_)
    except IllegalMove as error:
        raise GtpError(f"illegal move: {error}") from None
    return ""


@command("undo")
def undo(session: Session, arguments: list[str]) -> str:
    if not session.player.board.moves:
        raise GtpError("cannot undo")
    session.player.undo()
    return ""


@command("showboard")
def showboard(session: Session, arguments: list[str]) -> str:
    board = session.player.board
    last = board.moves[-1][0] if board.moves else PASS
    about = f"{COLOUR_NAMES[board.to_play]} to play, move {board.ply + 1}, komi {board.komi:g}"
    if board.moves:
        about += f", last {to_gtp(last, board.size)}"
    drawn = draw(board.colours(), last=None if last == PASS or board.colour_at(last) == 0 else last)
    return f"\n{drawn}\n{about}\nclock: {describe(session.player.rules)}"


@command("set_position")
def set_position(session: Session, arguments: list[str]) -> str:
    if len(arguments) % 2:
        raise GtpError("syntax error: set_position COLOUR VERTEX COLOUR VERTEX ...")
    size = session.player.board.size
    stones = {
        vertex(where, size): colour(who)
        for who, where in zip(arguments[::2], arguments[1::2], strict=True)
    }
    if len(stones) * 2 != len(arguments) or PASS in stones:
        raise GtpError("each point once, and no passes")
    session.player.place(stones, BLACK)
    return ""


@command("fixed_handicap")
def fixed_handicap(session: Session, arguments: list[str]) -> str:
    points = handicap_points(whole(one(arguments, "a number of stones")), session.player.board.size)
    return place_handicap(session, points)


@command("place_free_handicap")
def place_free_handicap(session: Session, arguments: list[str]) -> str:
    """Place fewer stones where there is no room for so many, as GTP allows."""
    count = whole(one(arguments, "a number of stones"))
    if count < 2:
        raise GtpError("from 2 handicap stones up are possible")
    return place_handicap(session, free_handicap_points(count, session.player.board.size))


@command("set_free_handicap")
def set_free_handicap(session: Session, arguments: list[str]) -> str:
    size = session.player.board.size
    points = [vertex(text, size) for text in arguments]
    if len(set(points)) != len(points) or PASS in points or not 2 <= len(points) < size**2:
        raise GtpError("bad vertex list")
    place_handicap(session, points)
    return ""


def place_handicap(session: Session, points: list[int]) -> str:
    board = session.player.board
    if board.ply or board.colours().any():
        raise GtpError("board not empty")
    session.player.place(dict.fromkeys(points, BLACK), WHITE, handicap=len(points))
    return " ".join(to_gtp(point, board.size) for point in points)


@command("kgs-chat")
def kgs_chat(session: Session, arguments: list[str]) -> str:
    last = session.player.last
    thoughts = (
        f"; my last move seemed to win {percent(last.report.value)} of the time" if last else ""
    )
    return f"I am {session.name}, a program{thoughts}."


@command("kgs-game_over", "stop")
def kgs_game_over(session: Session, arguments: list[str]) -> str:
    session.player.rest()
    return ""


# --- records


@command("loadsgf")
def loadsgf(session: Session, arguments: list[str]) -> str:
    """`loadsgf FILE [MOVE]`: load the position before that move.

    The answer is the colour to play, as in GNU Go.
    """
    if not arguments:
        raise GtpError("syntax error: loadsgf FILE [MOVE]")
    before = None
    if len(arguments) > 1 and arguments[-1].isascii() and arguments[-1].isdigit():
        before = whole(arguments.pop()) - 1
    try:
        record = load_record(named_file(arguments))
    except NoGame as error:
        raise GtpError(f"cannot load file: {error}") from None
    session.player.load(record, None if before is None else max(0, before))
    if record.cut:
        session.player.log(
            f"{record.source}: {record.cut} after move {len(record.moves)}, "
            "where the game ends here"
        )
    return COLOUR_NAMES[session.player.board.to_play].lower()


def named_file(arguments: list[str]) -> Path:
    return Path(" ".join(arguments)).expanduser()


@command("printsgf")
def printsgf(session: Session, arguments: list[str]) -> str:
    """Answer with the game as SGF, or write it to a file.

    Only an existing file whose name ends in .sgf is overwritten.
    """
    text = write_game(session.player.game.record(black="?", white="?"))
    if not arguments:
        return text
    path = named_file(arguments)
    if path.exists() and path.suffix.lower() != ".sgf":
        raise GtpError(f"{path} exists and is not called .sgf")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise GtpError(f"{path}: {error.strerror}") from None
    return ""


# --- time


TIME_KINDS = {
    "none": "",
    "absolute": "MAIN",
    "byoyomi": "MAIN PERIOD COUNT",
    "canadian": "MAIN PERIOD COUNT",
    "fischer": "MAIN INCREMENT",
    "fischer-capped": "MAIN INCREMENT LIMIT MOVE",
}


@command("time_settings")
def time_settings(session: Session, arguments: list[str]) -> str:
    main, period, moves = numbers(arguments, 3, "MAIN OVERTIME MOVES")
    session.player.set_time(time_rules_from_gtp(main, period, int(moves)))
    return ""


@command("kata-list_time_settings")
def list_time_settings(session: Session, arguments: list[str]) -> str:
    return " ".join(TIME_KINDS)


@command("kgs-time_settings", "kata-time_settings")
def kgs_time_settings(session: Session, arguments: list[str]) -> str:
    kind, rest = (arguments[0].lower() if arguments else ""), arguments[1:]
    if kind == "byo-yomi":
        kind = "byoyomi"
    if kind not in TIME_KINDS:
        raise GtpError(f"syntax error: one of {', '.join(TIME_KINDS)}")
    names = TIME_KINDS[kind]
    given = numbers(rest, len(names.split()), names)
    if kind == "none":
        rules = TimeRules()
    elif kind == "absolute":
        rules = TimeRules("absolute", given[0])
    elif kind.startswith("fischer"):
        # negative: no limit
        most, move = [seconds if seconds >= 0 else None for seconds in given[2:]] or (None, None)
        rules = TimeRules("fischer", given[0], given[1], most=most, move=move)
    else:
        main, period, count = given
        rules = TimeRules("canadian" if kind == "canadian" else "byoyomi", main, period, int(count))
    session.player.set_time(rules)
    return ""


@command("time_left")
def time_left(session: Session, arguments: list[str]) -> str:
    if len(arguments) != 3:
        raise GtpError("syntax error: time_left COLOUR SECONDS MOVES")
    side = session.player.sides[colour(arguments[0])]
    seconds, count = (number(text) for text in arguments[1:])
    side.clock.set_left(seconds, int(count))
    return ""


# --- moves


@command("genmove")
def genmove(session: Session, arguments: list[str]) -> str:
    return name_of(session, session.player.genmove(colour(one(arguments, "a colour"))))


@command("reg_genmove")
def reg_genmove(session: Session, arguments: list[str]) -> str:
    player = session.player
    kept = copy.deepcopy(player.sides)
    try:
        return name_of(session, player.choose(colour(one(arguments, "a colour"))))
    finally:
        player.sides = kept


@command("kgs-genmove_cleanup")
def kgs_genmove_cleanup(session: Session, arguments: list[str]) -> str:
    return name_of(
        session, session.player.genmove(colour(one(arguments, "a colour")), cleanup=True)
    )


def name_of(session: Session, choice: Choice) -> str:
    size = session.player.board.size
    move = "resign" if choice.move == RESIGN else to_gtp(choice.move, size)
    why = f" ({choice.why})" if choice.why else ""
    session.log(f"{move}{why} in {choice.seconds:.2f} s\n{to_table(choice.report, size)}")
    return move


@command("clear_cache")
def clear_cache(session: Session, arguments: list[str]) -> str:
    session.player.rest()
    session.player.load_thinker().forget()
    return ""


# --- the end of the game


@command("final_score")
def final_score(session: Session, arguments: list[str]) -> str:
    return session.player.final_score()


@command("final_status_list")
def final_status_list(session: Session, arguments: list[str]) -> str:
    status = one(arguments, "a status").lower()
    if status not in ("alive", "dead", "seki"):
        raise GtpError("syntax error: alive, dead or seki")
    size = session.player.board.size
    strings = getattr(session.player.judge(), status)
    return "\n".join(" ".join(to_gtp(point, size) for point in string) for string in strings)
