"""What the program thinks of a game, move by move: `python pipelines/analyze_game.py game.sgf`.

For each move: how likely Black was to win before it, by the search, the value net and rollouts; what the move cost; how
surprising the policy net found it; and what it would have preferred. A table, a chart and the game with comments.
"""

import json
import math
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipelines import environment  # noqa: F401  (first: says what to do where packages are missing)

# isort: split
from omegaconf import DictConfig
from rich.markup import escape

from data.metadata import to_compensation
from pipelines.analysis_sgf import COSTLY, chance, share
from pipelines.console import BuildProgress, console, make_table
from pipelines.fonts import is_drawable
from pipelines.options import OptionError
from pipelines.path_keys import hydra_quotes, without_references
from pipelines.thinkers import Thinkers, checked_numbers, counted, thinker_options
from pipelines.wiring import plain, remove_empty, script

if TYPE_CHECKING:
    from data.board import Board
    from data.record import GameRecord
    from mcts.protocols import Report

LINE = 8  # moves of a continuation that are shown
MISTAKES = 10  # in the list of the worst


class GameError(ValueError):
    """There is no game to analyse."""


def run(cfg: DictConfig) -> dict[str, Any]:
    options = checked(plain(cfg))
    path = Path(str(options["game"])).expanduser().absolute()
    thinkers = Thinkers(thinker_options(options), lambda text: console.print(text, markup=False))
    record, content = read_game(path), path.read_bytes()
    komi = options["komi"] if options["komi"] is not None else (7.5 if math.isnan(record.komi) else float(record.komi))
    area_komi = komi + to_compensation(record.handicap, record.rules)
    check_moves(record, area_komi, options)
    with made_folder(options["output"]) as folder:
        rows, complete = analyse(record, area_komi, thinkers, options)
    found = {"game": str(path), "black": record.black_name, "white": record.white_name, "komi": komi, "moves": rows}
    show(found, rows)
    files = write_all(folder, path.stem, record, content, found)
    console.print(f"{', '.join(file.name for file in files)} in {folder}", markup=False, soft_wrap=True)
    if not complete:
        raise KeyboardInterrupt
    return found


def checked(options: dict[str, Any]) -> dict[str, Any]:
    kinds: dict[str, Any] = {
        "engine": str, "device": str, "threads": int, "symmetries": int, "temperature": float, "seed": int,
        "rollout_temperature": float, "reply_share": float, "mercy": int,
        "seconds": float | None, "simulations": int | None, "first": int, "last": int | None, "komi": float | None,
        "output": str,
    }  # fmt: skip
    checked_numbers(options, kinds, {"threads": 0, "seed": 0})
    if options["first"] < 1 or (options["last"] is not None and options["last"] < options["first"]):
        last = "" if options["last"] is None else f" last={options['last']}"
        raise OptionError(f"first={options['first']}{last}: moves are numbered from 1")
    for key in ("seconds", "simulations"):
        if options[key] is not None and not options[key] > 0:
            raise OptionError(f"{key}={options[key]}: above 0")
    counted(options)
    options["threads"] = options["threads"] or os.cpu_count() or 1
    return options


@contextmanager
def made_folder(output: str) -> Iterator[Path]:
    """Before any thinking: what can't be written would be lost. Where nothing comes of that, the folder goes again."""
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
    from mcts.gtp_commands import NoGame, load_record

    try:
        return load_record(path)
    except NoGame as error:
        raise GameError(f"{path}: {error}") from None


def analyse(record: "GameRecord", komi: float, thinkers: Thinkers, options: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """A row for each move that was asked for, and whether these are all: who stops with Ctrl-C gets those that are done."""
    from data.coords import to_gtp
    from mcts.positions import walk
    from mcts.protocols import Limits

    last = last_move(record, options)
    if record.cut:
        console.print(f"{record.source}: {record.cut} after move {len(record.moves)}, where the game ends here", markup=False)
    thinker = thinkers(record.size)
    priors = Surprise(thinkers, record.size)
    rows: list[dict[str, Any]] = []
    standings: list[float | None] = []  # Black's, before each of the moves and after the last one
    closing = closing_passes(record)
    over = len(record.moves) - closing
    try:
        with BuildProgress() as progress:
            progress.begin("thinking", last - options["first"] + 1, "moves")
            for ply, (board, _) in enumerate(islice(walk(record, komi), last + 1)):
                if ply < options["first"] - 1:
                    continue
                if closing and ply > over:
                    standings.append(None)  # what is counted there is no opinion, and passing costs nothing
                    if ply < last:
                        rows.append(counted_row(record, ply, board, thinker))
                        progress.advance(1)
                    continue
                shown = board.copy()
                shown.ko_rule = "positional"  # not held against the record, but against what is advised
                if shown.record["passes"]:  # a search would judge whether to end the game with another pass
                    shown.record["passes"] = 0
                    thinker.forget()
                report = thinker.think(shown, Limits(simulations=options["simulations"], seconds=options["seconds"]))
                standings.append(standing(report, board.to_play))
                if ply < last:
                    at_end = closing and ply == over
                    row = counted_row(record, ply, board, thinker) if at_end else make_row(record, ply, board, report, priors)
                    rows.append(row)
                    progress.advance(1)
            progress.end()
    except KeyboardInterrupt:
        if not rows:
            raise
    finally:
        thinker.close()
    set_up = set(record.setup_ply.tolist())  # what was put on the board after a move is not what it cost
    for row, before, after in zip(rows, standings, standings[1:], strict=False):
        if before is not None and after is not None and row["number"] not in set_up:
            row["loss"] = (1 if row["colour"] == "B" else -1) * (before - after)
    assert all(to_gtp(int(record.moves[row["number"] - 1]), record.size) == row["move"] for row in rows)
    return rows, len(rows) == last - options["first"] + 1


def last_move(record: "GameRecord", options: dict[str, Any]) -> int:
    return len(record.moves) if options["last"] is None else min(options["last"], len(record.moves))


def check_moves(record: "GameRecord", komi: float, options: dict[str, Any]) -> None:
    """Before any thinking: an illegal move may be the last one."""
    from mcts.positions import walk

    last = last_move(record, options)
    if last == 0:
        raise GameError(f"{record.source}: the game has no moves")
    if options["first"] > last:
        raise GameError(f"first={options['first']}: the game has {len(record.moves)} moves")
    played = 0
    try:
        for played, _ in enumerate(walk(record, komi)):
            if played == last:
                break
    except ValueError as error:
        hint = f"; last={played} analyses the moves before it" if played else ""
        raise GameError(f"{record.source}: {error}{hint}") from None


def closing_passes(record: "GameRecord") -> int:
    """How many passes end the game, if two do: what they show is that both agree, and no choice of a move."""
    from data.coords import PASS

    count = 0
    while count < len(record.moves) and record.moves[-1 - count] == PASS:
        count += 1
    return count if count >= 2 else 0


def counted_row(record: "GameRecord", ply: int, board: "Board", thinker: Any) -> dict[str, Any]:
    """Of a pass that ends the game: what the board counts to, dead stones taken off as rollouts see them."""
    from data.coords import BLACK
    from mcts.dead_stones import judge, to_result

    score = judge(board, getattr(thinker, "rollouts", None)).score
    nothing = dict.fromkeys(("net", "rollouts", "loss", "prior", "rank", "surprise", "best_prior"))
    return {
        "number": ply + 1,
        "colour": "B" if board.to_play == BLACK else "W",
        "move": "pass",
        "value": float((score > 0) - (score < 0)),
        **nothing,
        "best": "pass",
        "line": ["pass"],
        "simulations": 0,
        "counted": to_result(score) if score else "Draw",
    }


def make_row(record: "GameRecord", ply: int, board: "Board", report: "Report", priors: "Surprise") -> dict[str, Any]:
    from data.coords import BLACK, to_gtp

    move, sign, best = int(record.moves[ply]), board.to_play, report.best
    share, rank = priors.of(board, move)
    return {
        "number": ply + 1,
        "colour": "B" if sign == BLACK else "W",
        "move": to_gtp(move, record.size),
        "value": standing(report, sign),
        "net": mean(report, "net_value", sign),
        "rollouts": mean(report, "rollout_value", sign),
        "loss": None,  # of the mover's value, from -2 to +2: known when the next position is
        "prior": share,
        "rank": rank,
        "surprise": None if share is None else -math.log2(max(share, 1e-9)),
        "best": to_gtp(best.point, record.size),
        "best_prior": best.prior,
        "line": [to_gtp(point, record.size) for point in best.line[:LINE]],
        "simulations": report.simulations,
        "counted": None,  # of passes that end the game: the result
    }


def standing(report: "Report", sign: int) -> float | None:
    """Black's value; None where the thinker has no opinion, as a policy net alone."""
    silent = all(math.isnan(c.net_value) and math.isnan(c.rollout_value) for c in report.candidates)
    return None if silent else sign * report.value


def mean(report: "Report", part: str, sign: int) -> float | None:
    """Black's value by the net or by rollouts alone, over all moves that were tried; None where there is none."""
    known = [(getattr(c, part), c.visits) for c in report.candidates if c.visits and not math.isnan(getattr(c, part))]
    visits = sum(count for _, count in known)
    return sign * sum(value * count for value, count in known) / visits if visits else None


class Surprise:
    """What the policy net alone says of a move: a search's priors may be flattened."""

    def __init__(self, thinkers: Thinkers, size: int):
        from data.planes import PlaneEncoder

        net = thinkers.open({"policy": True, "value": False}).get("policy")
        self.net = net if net is not None and net.fits(size) else None
        self.encoder = PlaneEncoder()

    def of(self, board: "Board", move: int) -> tuple[float | None, int | None]:
        """Its probability, and its place among the moves; None for passes, which nets don't know."""
        import numpy as np

        if self.net is None or move >= board.size**2:
            return None, None
        logs = self.net.answer_packed(self.encoder.packed(board)[None], np.array([board.to_play], np.int8))[0]
        return float(np.exp(logs[move])), int((logs > logs[move]).sum()) + 1


# --- showing


def show(found: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    lines = [cells(row) for row in rows]
    names = ["", "", "move", "B wins", "net", "rollouts", "cost", "policy", "rank", "bits", "preferred", "and then"]
    title = f"{found['black'] or 'Black'} - {found['white'] or 'White'}, komi {found['komi']:g}"
    console.print(make_table(escape(title), names, lines), "")
    for text in conclusions(rows):
        console.print(text, markup=False, soft_wrap=True)


def cells(row: dict[str, Any]) -> list[str]:
    """A line of the table."""
    cost = "" if row["loss"] is None else f"{50 * row['loss']:+.1f}"
    bits = "" if row["surprise"] is None else f"{row['surprise']:.1f}"
    place = "" if row["rank"] is None else str(row["rank"])
    chances = [chance(row[key]) for key in ("value", "net", "rollouts")]
    preferred = [f"{row['best']} {share(row['best_prior'])}", " ".join(row["line"][1:5])]
    return [str(row["number"]), row["colour"], row["move"], *chances, cost, share(row["prior"]), place, bits, *preferred]


def conclusions(rows: list[dict[str, Any]]) -> list[str]:
    """A few sentences: how often each player found the policy's first choice, and what cost most."""
    texts = []
    for key, name in (("B", "Black"), ("W", "White")):
        ranks = [row["rank"] for row in rows if row["colour"] == key and row["rank"] is not None]
        if ranks:
            bits = [row["surprise"] for row in rows if row["colour"] == key and row["surprise"] is not None]
            first, five = (sum(rank <= k for rank in ranks) / len(ranks) for k in (1, 5))
            texts.append(f"{name}: {first:.0%} of moves are the policy's first choice, {five:.0%} among five; "
                         f"{sum(bits) / len(bits):.2f} bits of surprise a move")  # fmt: skip
    costly = sorted((row for row in rows if (row["loss"] or 0) >= COSTLY), key=lambda row: -row["loss"])
    if costly:
        texts.append(
            "Cost most: "
            + ", ".join(f"{r['number']} {r['colour']} {r['move']} ({50 * r['loss']:.0f}%)" for r in costly[:MISTAKES])
        )
    return texts


def write_all(folder: Path, stem: str, record: "GameRecord", content: bytes, found: dict[str, Any]) -> list[Path]:
    """The figures first: whatever is wrong with the rest, they are kept."""
    from data.atomic import write_text
    from pipelines.analysis_sgf import annotated
    from pipelines.match_plots import game_chart

    sgf, png, table = (folder / f"{stem}.{suffix}" for suffix in ("analysis.sgf", "png", "json"))
    rows = found["moves"]
    write_text(table, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    text, given = annotated(content, record, rows)
    write_text(sgf, text)
    if not given:
        console.print(f"{sgf.name}: written anew; what stood beside the moves of the record could not be kept", markup=False)
    names = {"Black": found["black"], "White": found["white"]}
    unwritten = [name for name in names.values() if not is_drawable(name or "")]
    if unwritten:
        console.print(f"{png.name}: no font of this machine writes {', '.join(unwritten)}", markup=False)
    title = " - ".join(name if name and name not in unwritten else colour for colour, name in names.items())
    simulations = sorted(row["simulations"] for row in rows)[len(rows) // 2]
    thought = f"; {simulations:,} simulations a move" if simulations > 1 else ""
    subtitle = f"{record.date or 'undated'}, komi {found['komi']:g}, {record.result}{thought}"
    game_chart(png, rows, title, subtitle)
    return [table, png, sgf]


@script("analyze_game")
def analyze(cfg: DictConfig) -> None:
    run(cfg)


def main() -> None:
    """A word without `=` is the game: `analyze_game.py game.sgf` is short for `game=game.sgf`."""
    words = sys.argv[1:]
    sys.argv[1:] = [named(word) for word in words]
    games = [word for word, argument in zip(words, sys.argv[1:], strict=True) if word != argument]
    if len(games) > 1:
        print(f"analyze_game: {' '.join(games)}: one game at a time", file=sys.stderr)
        sys.exit(2)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what is done is written
    analyze()


def named(word: str) -> str:
    if word.startswith("-") or ("=" in word and not Path(word).exists()):
        return word
    return f"game={hydra_quotes(without_references(word))}"


if __name__ == "__main__":
    main()
