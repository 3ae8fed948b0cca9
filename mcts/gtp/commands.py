"""The commands of GTP: each is a function from an engine and its arguments to the text of the
answer, entered by `@command`.

A function that can't do what it is asked for raises `GtpError`, or any ValueError whose message is
fit for the controller. Those that answer with lines while they think are in `analysis.py`.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from data.game.board import IllegalMove
from data.game.coords import BLACK, COLOUR_NAMES, MAX_SIZE, MIN_SIZE, PASS, WHITE, to_gtp
from data.game.diagram import draw
from data.records.load import NoGame, load_record
from data.records.sgf_writer import write_game
from mcts.gtp.arguments import MAX_KOMI, GtpError, colour, number, numbers, one, vertex, whole
from mcts.play.clock import TimeRules, describe
from mcts.play.clock import from_gtp as time_rules_from_gtp
from mcts.play.commentary import percent, to_table
from mcts.play.player import RESIGN, Choice
from mcts.play.positions import free_handicap_points, handicap_points

if TYPE_CHECKING:
    from mcts.gtp.engine import Engine

Handler = Callable[["Engine", list[str]], str]
COMMANDS: dict[str, Handler] = {}


def command(*names: str) -> Callable[[Handler], Handler]:
    def enter(handler: Handler) -> Handler:
        for name in names:
            COMMANDS[name] = handler
        return handler

    return enter


# --- about the engine


@command("protocol_version")
def protocol_version(engine: "Engine", arguments: list[str]) -> str:
    return "2"


@command("name")
def name(engine: "Engine", arguments: list[str]) -> str:
    return engine.name


@command("version")
def version(engine: "Engine", arguments: list[str]) -> str:
    return engine.version


@command("known_command")
def known_command(engine: "Engine", arguments: list[str]) -> str:
    return "true" if arguments and arguments[0] in COMMANDS else "false"


@command("list_commands")
def list_commands(engine: "Engine", arguments: list[str]) -> str:
    return "\n".join(COMMANDS)


@command("quit")
def quit_engine(engine: "Engine", arguments: list[str]) -> str:
    engine.running = False
    return ""


# --- the game


@command("boardsize")
def boardsize(engine: "Engine", arguments: list[str]) -> str:
    size = whole(one(arguments, "a size"))
    if not MIN_SIZE <= size <= MAX_SIZE:
        raise GtpError("unacceptable size")
    engine.player.new_game(size)
    return ""


@command("clear_board")
def clear_board(engine: "Engine", arguments: list[str]) -> str:
    engine.player.new_game()
    return ""


@command("komi")
def komi(engine: "Engine", arguments: list[str]) -> str:
    value = number(one(arguments, "a komi"))
    if abs(value) > MAX_KOMI:
        raise GtpError(f"komi from {-MAX_KOMI:g} to {MAX_KOMI:g} is possible")
    engine.player.set_komi(value)
    return ""


@command("get_komi")
def get_komi(engine: "Engine", arguments: list[str]) -> str:
    return f"{engine.player.board.komi:g}"


@command("play")
def play(engine: "Engine", arguments: list[str]) -> str:
    if len(arguments) != 2:
        raise GtpError("syntax error: play COLOUR VERTEX")
    colour_, move = colour(arguments[0]), vertex(arguments[1], engine.player.board.size)
    try:
        engine.player.play(move, colour_)
    except IllegalMove as error:
        raise GtpError(f"illegal move: {error}") from None
    return ""


@command("undo")
def undo(engine: "Engine", arguments: list[str]) -> str:
    if not engine.player.board.moves:
        raise GtpError("cannot undo")
    engine.player.undo()
    return ""


@command("showboard")
def showboard(engine: "Engine", arguments: list[str]) -> str:
    board = engine.player.board
    last = board.moves[-1][0] if board.moves else PASS
    about = f"{COLOUR_NAMES[board.to_play]} to play, move {board.ply + 1}, komi {board.komi:g}"
    if board.moves:
        about += f", last {to_gtp(last, board.size)}"
    drawn = draw(board.colours(), last=None if last == PASS or board.colour_at(last) == 0 else last)
    return f"\n{drawn}\n{about}\nclock: {describe(engine.player.rules)}"


@command("set_position")
def set_position(engine: "Engine", arguments: list[str]) -> str:
    if len(arguments) % 2:
        raise GtpError("syntax error: set_position COLOUR VERTEX COLOUR VERTEX ...")
    size = engine.player.board.size
    stones = {
        vertex(where, size): colour(who)
        for who, where in zip(arguments[::2], arguments[1::2], strict=True)
    }
    if len(stones) * 2 != len(arguments) or PASS in stones:
        raise GtpError("each point once, and no passes")
    engine.player.place(stones, BLACK)
    return ""


@command("fixed_handicap")
def fixed_handicap(engine: "Engine", arguments: list[str]) -> str:
    points = handicap_points(whole(one(arguments, "a number of stones")), engine.player.board.size)
    return hand_out(engine, points)


@command("place_free_handicap")
def place_free_handicap(engine: "Engine", arguments: list[str]) -> str:
    """Where there is no room for so many, fewer are placed, as GTP allows."""
    count = whole(one(arguments, "a number of stones"))
    if count < 2:
        raise GtpError("from 2 handicap stones up are possible")
    return hand_out(engine, free_handicap_points(count, engine.player.board.size))


@command("set_free_handicap")
def set_free_handicap(engine: "Engine", arguments: list[str]) -> str:
    size = engine.player.board.size
    points = [vertex(text, size) for text in arguments]
    if len(set(points)) != len(points) or PASS in points or not 2 <= len(points) < size**2:
        raise GtpError("bad vertex list")
    hand_out(engine, points)
    return ""


def hand_out(engine: "Engine", points: list[int]) -> str:
    board = engine.player.board
    if board.ply or board.colours().any():
        raise GtpError("board not empty")
    engine.player.place(dict.fromkeys(points, BLACK), WHITE, handicap=len(points))
    return " ".join(to_gtp(point, board.size) for point in points)


@command("kgs-chat")
def kgs_chat(engine: "Engine", arguments: list[str]) -> str:
    last = engine.player.last
    thoughts = (
        f"; my last move seemed to win {percent(last.report.value)} of the time" if last else ""
    )
    return f"I am {engine.name}, a program{thoughts}."


@command("kgs-game_over", "stop")
def kgs_game_over(engine: "Engine", arguments: list[str]) -> str:
    engine.player.rest()
    return ""


# --- records


@command("loadsgf")
def loadsgf(engine: "Engine", arguments: list[str]) -> str:
    """`loadsgf FILE [MOVE]`: the position before that move.

    The answer is who is to play, as GNU Go has it.
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
    engine.player.load(record, None if before is None else max(0, before))
    if record.cut:
        engine.player.log(
            f"{record.source}: {record.cut} after move {len(record.moves)}, where the game ends here"
        )
    return COLOUR_NAMES[engine.player.board.to_play].lower()


def named_file(arguments: list[str]) -> Path:
    return Path(" ".join(arguments)).expanduser()


@command("printsgf")
def printsgf(engine: "Engine", arguments: list[str]) -> str:
    """The game as SGF in the answer, or in a file; only a file that is called .sgf is written
    over.
    """
    text = write_game(engine.player.record(black="?", white="?"))
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
def time_settings(engine: "Engine", arguments: list[str]) -> str:
    main, period, moves = numbers(arguments, 3, "MAIN OVERTIME MOVES")
    engine.player.set_time(time_rules_from_gtp(main, period, int(moves)))
    return ""


@command("kata-list_time_settings")
def list_time_settings(engine: "Engine", arguments: list[str]) -> str:
    return " ".join(TIME_KINDS)


@command("kgs-time_settings", "kata-time_settings")
def kgs_time_settings(engine: "Engine", arguments: list[str]) -> str:
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
    engine.player.set_time(rules)
    return ""


@command("time_left")
def time_left(engine: "Engine", arguments: list[str]) -> str:
    if len(arguments) != 3:
        raise GtpError("syntax error: time_left COLOUR SECONDS MOVES")
    side = engine.player.sides[colour(arguments[0])]
    seconds, count = (number(text) for text in arguments[1:])
    side.clock.set_left(seconds, int(count))
    return ""


# --- moves


@command("genmove")
def genmove(engine: "Engine", arguments: list[str]) -> str:
    return name_of(engine, engine.player.genmove(colour(one(arguments, "a colour"))))


@command("reg_genmove")
def reg_genmove(engine: "Engine", arguments: list[str]) -> str:
    player = engine.player
    kept = copy.deepcopy(player.sides)
    try:
        return name_of(engine, player.choose(colour(one(arguments, "a colour"))))
    finally:
        player.sides = kept


@command("kgs-genmove_cleanup")
def kgs_genmove_cleanup(engine: "Engine", arguments: list[str]) -> str:
    return name_of(engine, engine.player.genmove(colour(one(arguments, "a colour")), cleanup=True))


def name_of(engine: "Engine", choice: Choice) -> str:
    size = engine.player.board.size
    move = "resign" if choice.move == RESIGN else to_gtp(choice.move, size)
    why = f" ({choice.why})" if choice.why else ""
    engine.log(f"{move}{why} in {choice.seconds:.2f} s\n{to_table(choice.report, size)}")
    return move


@command("clear_cache")
def clear_cache(engine: "Engine", arguments: list[str]) -> str:
    engine.player.rest()
    engine.player.thinker.forget()
    return ""


# --- the end of the game


@command("final_score")
def final_score(engine: "Engine", arguments: list[str]) -> str:
    return engine.player.final_score()


@command("final_status_list")
def final_status_list(engine: "Engine", arguments: list[str]) -> str:
    status = one(arguments, "a status").lower()
    if status not in ("alive", "dead", "seki"):
        raise GtpError("syntax error: alive, dead or seki")
    size = engine.player.board.size
    strings = getattr(engine.player.judge(), status)
    return "\n".join(" ".join(to_gtp(point, size) for point in string) for string in strings)
