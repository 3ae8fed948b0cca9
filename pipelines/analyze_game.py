"""What the program thinks of a game, move by move: `python pipelines/analyze_game.py game.sgf`.

For each move: Black's chance to win before it, by the search, the value net and rollouts; the
score; what the move cost; how surprising the policy net found it; and what the search preferred. A
table, a chart (PNG), all figures (JSON) and the game with comments, labels and variations (SGF).
`rows.py` thinks, `table.py` and `sgf.py` show.
"""

import json
import math
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from data.base.cores import available_cores
from data.base.errors import Mistake
from data.records.metadata import to_compensation
from pipelines.drawing.fonts import is_drawable
from pipelines.engine.thinkers import Thinkers, checked_numbers, counted, thinker_options
from pipelines.shell.command_line import first_word_is
from pipelines.shell.configuration import plain
from pipelines.shell.console import console
from pipelines.shell.options import OptionError
from pipelines.shell.script import remove_empty, script

if TYPE_CHECKING:
    from data.records.record import GameRecord
    from pipelines.analysing.rows import Analysis

USUAL_KOMI = 7.5  # where the record says nothing
SCALES = (  # of the JSON, whose figures are as the search has them
    "In this file value, net, rollouts and best_value are Black's, from -1 to +1: a chance is 50 * (value + 1) per cent.",
    "loss is of the mover's value, from -2 to +2; score is Black's points ahead; end is the position after the last move.",
)


class GameError(Mistake):
    """There is no game to analyse."""


def run(cfg: DictConfig) -> dict[str, Any]:
    from pipelines.analysing.rows import analyse
    from pipelines.analysing.table import legend, show

    options = checked(plain(cfg))
    path = Path(str(options["game"])).expanduser().absolute()
    thinkers = Thinkers(thinker_options(options), lambda text: console.print(text))
    record, content = read_game(path), path.read_bytes()
    komi, known = komi_of(record, options["komi"])
    area_komi = komi + to_compensation(record.handicap, record.rules)
    check_moves(record, area_komi, options)
    if record.cut:
        console.print(
            f"{record.source}: {record.cut} after move {len(record.moves)}, where the game ends here"
        )
    with made_folder(options["output"]) as folder:
        analysis = analyse(record, area_komi, thinkers, options)
    found: dict[str, Any] = {
        "game": str(path),
        "black": record.black_name,
        "white": record.white_name,
        "komi": komi,
        "komi_known": known,
        "result": record.result,
        "moves": analysis.rows,
        "end": analysis.end,
    }
    found["legend"] = [*SCALES, *legend(found)]
    show(found)
    files = write_all(folder, path.stem, record, content, found)
    if options["board"] is not None:
        picture = folder / f"{path.stem}.board.png"
        files += write_board(picture, record, area_komi, analysis, found, options["board"])
    console.print(f"{', '.join(file.name for file in files)} in {folder}", soft_wrap=True)
    if not analysis.complete:
        raise KeyboardInterrupt
    return found


def komi_of(record: "GameRecord", asked: float | None) -> tuple[float, bool]:
    """What is asked for, else what the record says; and whether either of them says anything."""
    if asked is not None:
        return asked, True
    return (USUAL_KOMI, False) if math.isnan(record.komi) else (float(record.komi), True)


def checked(options: dict[str, Any]) -> dict[str, Any]:
    kinds: dict[str, Any] = {
        "engine": str, "device": str, "threads": int, "symmetries": int, "temperature": float, "seed": int,
        "rollout_temperature": float, "reply_share": float, "mercy": int,
        "seconds": float | None, "simulations": int | None, "first": int, "last": int | None, "komi": float | None,
        "board": int | str | None, "output": str,
    }  # fmt: skip
    checked_numbers(options, kinds, {"threads": 0, "seed": 0})
    if options["first"] < 1 or (options["last"] is not None and options["last"] < options["first"]):
        last = "" if options["last"] is None else f" last={options['last']}"
        raise OptionError(f"first={options['first']}{last}: moves are numbered from 1")
    check_board(options["board"], options["first"], options["last"])
    for key in ("seconds", "simulations"):
        if options[key] is not None and not options[key] > 0:
            raise OptionError(f"{key}={options[key]}: above 0")
    counted(options)
    options["threads"] = options["threads"] or available_cores()
    return options


def check_board(board: int | str | None, first: int, last: int | None) -> None:
    if isinstance(board, str) and board != "worst":
        raise OptionError(f"board={board}: a move's number, worst or null is expected")
    if isinstance(board, int) and (board < first or (last is not None and board > last)):
        analysed = f"from {first} on" if last is None else f"{first} to {last}"
        raise OptionError(f"board={board}: not among the moves that are analysed ({analysed})")


@contextmanager
def made_folder(output: str) -> Iterator[Path]:
    """Before any thinking: what can't be written would be lost.

    Where nothing comes of that, the folder goes again.
    """
    folder = Path(output).expanduser().absolute()
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise GameError(f"output={output}: nothing can be written there")
    try:
        yield folder
    except BaseException:
        if is_new:
            remove_empty(folder)
        raise


def read_game(path: Path) -> "GameRecord":
    from data.records.load import NoGame, load_record

    try:
        return load_record(path)
    except NoGame as error:
        raise GameError(f"{path}: {error}") from None


def check_moves(record: "GameRecord", komi: float, options: dict[str, Any]) -> None:
    """Before any thinking: an illegal move may be the last one."""
    from mcts.play.positions import walk
    from pipelines.analysing.rows import last_move

    last = last_move(record, options)
    if last == 0:
        raise GameError(f"{record.source}: the game has no moves")
    for key in ("first", "board"):
        if isinstance(options[key], int) and options[key] > last:
            raise GameError(f"{key}={options[key]}: the game has {len(record.moves)} moves")
    played = 0
    try:
        for played, _ in enumerate(walk(record, komi)):
            if played == last:
                break
    except ValueError as error:
        hint = f"; last={played} analyses the moves before it" if played else ""
        raise GameError(f"{record.source}: {error}{hint}") from None


def write_all(
    folder: Path, stem: str, record: "GameRecord", content: bytes, found: dict[str, Any]
) -> list[Path]:
    """The figures first: whatever is wrong with the rest, they are kept."""
    from data.base.atomic import write_text
    from pipelines.analysing.sgf import annotated
    from pipelines.drawing.game_chart import game_chart

    sgf, png, table = (folder / f"{stem}.{suffix}" for suffix in ("analysis.sgf", "png", "json"))
    rows, end = found["moves"], found["end"]
    write_text(table, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    text, given = annotated(content, record, rows, end)
    write_text(sgf, text)
    if not given:
        console.print(
            f"{sgf.name}: written anew; what stood beside the moves of the record could not be kept"
        )
    game_chart(png, rows, end, *titles(found, record, png.name))
    return [table, png, sgf]


def titles(found: dict[str, Any], record: "GameRecord", picture: str) -> tuple[str, str]:
    """Title and subtitle of a picture; prints which players' names no font can write."""
    from pipelines.analysing.table import komi_text

    names = {"Black": found["black"], "White": found["white"]}
    unwritten = [name for name in names.values() if not is_drawable(name or "")]
    if unwritten:
        console.print(f"{picture}: no font of this machine writes {', '.join(unwritten)}")
    title = " - ".join(
        name if name and name not in unwritten else colour for colour, name in names.items()
    )
    simulations = sorted(row["simulations"] for row in found["moves"])[len(found["moves"]) // 2]
    thought = f"; {simulations:,} simulations a move" if simulations > 1 else ""
    return title, f"{record.date or 'undated'}, {komi_text(found)}, {record.result}{thought}"


def write_board(
    path: Path,
    record: "GameRecord",
    komi: float,
    analysis: "Analysis",
    found: dict[str, Any],
    wanted: int | str,
) -> list[Path]:
    """The picture of one move; no file where the analysis ended before that move."""
    from pipelines.drawing.game_board import game_board, moment_of

    moment = moment_of(record, komi, analysis, wanted)
    if moment is None:
        console.print(f"{path.name}: not drawn, the analysis has no judgement of that move")
        return []
    game_board(path, moment, analysis.rows, analysis.end, *titles(found, record, path.name))
    return [path]


@script("analyze_game", first_word_is("game"))
def analyze(cfg: DictConfig) -> None:
    run(cfg)


def main() -> None:
    """A word without `=` is the game: `analyze_game.py game.sgf` is short for `game=game.sgf`."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what is done is written
    analyze()


if __name__ == "__main__":
    main()
