"""Golden texts: what a search, a GTP dialogue, planes and a build look like, compared word for
word.

Each test draws with the public functions of the project. `make golden` rewrites the files.
"""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from data.features.alphago48 import PlaneEncoder
from data.features.feature_set import ALPHAGO48
from data.game.board import Board
from data.game.coords import BLACK, to_gtp
from data.game.diagram import draw
from mcts.play.commentary import to_table
from mcts.search.fakes import FakePolicy, FakeValue
from mcts.search.params import SearchParams
from mcts.search.protocols import Limits, Report
from mcts.search.search import Search
from pipelines.drawing.text_boards import feature_lines
from tests.support.boards import board_from
from tests.support.damage import script
from tests.support.golden import FOLDER, HINT, VARIABLE, golden, names_in_tests
from tests.support.gtp_talk import Talk
from tests.support.own_games import collect, contents, write_folder

WIDTH = 96  # letters


# --- the files themselves


def test_golden_files_all_belong_to_a_test() -> None:
    stale = {path.name for path in FOLDER.iterdir()} - {f"{name}.txt" for name in names_in_tests()}
    assert not stale, f"no test compares {', '.join(sorted(stale))} in tests/golden; delete it"


def test_a_golden_file_is_compared_or_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(AssertionError, match=r"\+\. X"):
        golden("board", ". X\n", folder=tmp_path)
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv(VARIABLE, "rewrite")
    golden("board", ". X \n", folder=tmp_path)
    path = tmp_path / "board.txt"
    assert path.read_text() == ". X\n"
    os.utime(path, (0, 0))
    golden("board", ". X", folder=tmp_path)
    assert path.stat().st_mtime == 0, "a file that is right stays as it is"
    monkeypatch.delenv(VARIABLE)
    golden("board", ". X", folder=tmp_path)
    with pytest.raises(AssertionError) as failure:
        golden("board", ". O", folder=tmp_path)
    assert "-. X\n+. O\n" in str(failure.value) and HINT in str(failure.value)
    assert path.read_text() == ". X\n"


# --- a search

# Black takes four stones at `a`, or White saves them there.
CAPTURE_OR_SAVE = """
    . X . X X O .
    X X X X X O O
    X O O O a O .
    X X X X X O O
    . X . X X O .
    X X X X X O O
    . X . X X O .
"""


def make_search(lam: float) -> Search:
    """A repeatable search.

    The policy net prefers C7, and E5 comes second; the value net counts stones.
    """
    params = SearchParams(
        lam=lam, c_puct=1.5, n_thr=1, n_thr_adjusts=False, threads=1, leaves=4, nodes=500, symmetry="none",
        deterministic=True, seed=3,
    )  # fmt: skip
    policy = FakePolicy({2: 0.41, 18: 0.23, 20: 0.11, 48: 0.07})
    value = FakeValue(lambda own, other: float(own.sum() - other.sum()) / len(own))
    return Search(params, policy=policy, value=value)


def describe_search(lam: float) -> list[str]:
    """The root, then the same tree after one move and after two; nothing more is searched there."""
    board, _ = board_from(CAPTURE_OR_SAVE, to_play=BLACK, komi=17.5)
    search = make_search(lam)
    lines = [f"lambda {lam:g}: 64 simulations"]
    try:
        report = search.think(board, Limits(simulations=64))
        lines += drawn(board, report)
        for move in report.best.line[:2]:
            board.play(move)
            lines += drawn(board, search.think(board, Limits(simulations=0)))
    finally:
        search.close()
    return lines


def drawn(board: Board, report: Report) -> list[str]:
    """The board, and the moves that have visits; the others differ in nothing but their priors."""
    last = board.moves[-1][0] if board.moves else None
    title = f"{colour_name(board.to_play)} to play" + (
        f" after {to_gtp(last, 7)}" if last is not None else ""
    )
    visited = sorted((c for c in report.candidates if c.visits), key=lambda c: (-c.visits, c.move))
    table = to_table(replace(report, candidates=tuple(visited)), 7, rows=len(visited)).splitlines()[
        1:
    ]
    return [
        "",
        title,
        "",
        draw(board.colours(), last=last),
        "",
        *table,
        f"{len(report.candidates)} legal moves",
    ]


def colour_name(colour: int) -> str:
    return "Black" if colour == BLACK else "White"


def test_golden_tree_of_a_search() -> None:
    lines = [
        "Policy net: fixed priors. Value net: the difference in stones, as a share of the board."
    ]
    for lam in (0.0, 0.5):
        lines += ["", "", *describe_search(lam)]
    golden("search_tree", "\n".join(lines))


# --- a GTP dialogue

DIALOGUE = """
    1 protocol_version
    name
    list_everything
    boardsize 25
    boardsize 7
    clear_board
    komi 5.5
    komi many
    showboard
    fixed_handicap 40
    play black D4
    play white D4
    play white K3
    play green A1
    play white E5
    play b pass
    undo
    12 genmove black
    genmove white
    showboard
    final_score
    final_status_list dead
    set_position B B1 B B2 B B3 B B4 B B5 B B6 B B7 W D1 W D2 W D3 W D4 W D5 W D6 W D7 W A6 W F4
    showboard
    final_status_list dead
    final_score
    lz-genmove_analyze black maxmoves 4
    printsgf
    kata-raw-nn 0
    quit
"""


def test_golden_dialogue_in_gtp() -> None:
    talk = Talk(7, make_search(0.0), seconds=None, simulations=64, resign=None)
    lines = []
    try:
        for command in filter(None, map(str.strip, DIALOGUE.splitlines())):
            lines += [f"> {command}", talk.raw(command).rstrip("\n"), ""]
    finally:
        talk.player.close()
    golden("gtp_dialogue", "\n".join(lines))


# --- planes

POSITIONS = {
    "a ladder: White catches two black stones": (
        """
        . . . . . . . . .
        . . O O . . . . .
        . O X X . . . . .
        . . O . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        """,
        -BLACK,
    ),
    "a snapback: Black throws in at D7, is taken, and takes three": (
        """
        . X O . O O .
        . X O . X O O
        . . X X X . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
        BLACK,
    ),
    "eyes and self-atari: A7 is an eye, and A1 puts three stones into atari": (
        """
        . X . . . O .
        X X . . . O O
        . . . . . . .
        . . . X . . .
        . . . . . . .
        X O . . . O O
        . X O . . O .
        """,
        BLACK,
    ),
}


def test_golden_planes_of_three_positions() -> None:
    encoder = PlaneEncoder()
    names = [feature.name for feature in ALPHAGO48.features]
    lines = ["Planes are drawn from the view of the player to move."]
    for title, (text, to_play) in POSITIONS.items():
        board, _ = board_from(text, to_play=to_play, ko="simple")
        planes = encoder.planes(board, to_play)
        lines += ["", "", title, f"{colour_name(to_play)} to play", "", draw(board.colours()), ""]
        lines += feature_lines(planes, names, WIDTH, ascii_only=True)
    golden("planes", "\n".join(lines))


# --- the report of a build

BROKEN_RECORDS = {
    "odd/illegal.sgf": b"(;GM[1]SZ[9]KM[7]RE[W+R];B[aa];W[bb];B[cc];W[cc];B[dd])",
    "odd/no moves.sgf": b"(;GM[1]SZ[9]KM[7]RE[W+R])",
    "odd/large.sgf": b"(;GM[1]SZ[19]KM[7]RE[W+R];B[aa])",
    "odd/noise.sgf": b"no game at all",
    "odd/cut off.sgf": b"(;GM[1]SZ[9]KM[6]RE[B+2.5];B[ee];W[cc];B[gg];W[c",
}
MEASURED = (  # what differs from run to run or with versions of HDF5 and Zstandard
    (r"compiling, which takes .*\n", ""),  # only where kernels are not compiled yet
    (r"[\d,.]+/s", "N/s"),
    (r"[\d,]+ positions/s", "N positions/s"),
    (r"[\d.,]+ [MG]B", "N MB"),
    (r"[\d.]+ bytes a position", "N bytes a position"),
    (r"in \d+:\d\d(, of these \d+:\d\d to compile)?", "in M:SS"),
    (r"(next: +)\S.* (\S+=)", r"\1inspect_dataset \2"),
)


def test_golden_report_of_a_build(tmp_path: Path) -> None:
    write_folder(tmp_path / "games", {**contents(collect(12, moves=30, seed=5)), **BROKEN_RECORDS})
    options = [
        "source=games",
        "output=games.h5",
        "size=9",
        "executor.workers=1",
        "splits.validation=0.2",
    ]
    line = script("build_dataset", *options)
    done = subprocess.run(
        line, cwd=tmp_path, env={**os.environ, "COLUMNS": "80"},
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = done.stdout.replace(str(tmp_path), "FOLDER")
    for pattern, instead in MEASURED:
        text = re.sub(pattern, instead, text)
    golden("build_report", f"build_dataset {' '.join(options)}\n\n{text}")
