"""Play whole 19x19 games between settings of GNU Go and pack them as the archive that ships with
the project.

    python tests/support/make_engine_games.py                 # continues where it stopped, then checks and packs
    python tests/support/make_engine_games.py --count 0       # plays nothing, packs what is there

The only engine is `gnugo`: Debian's `pachi` is a platform game, not the Go program of that name,
and its `leela-zero` has no network. So the variety comes from levels, styles, openings and seeds.

Settings of all games: Chinese rules, positional superko, no suicide, komi 7.5, one fresh process
per player, each with its own seed. Varied, all drawn from `--seed` and the number of the game:

- players     two of PLAYERS, drawn by weight
- opening     2 to 8 moves: corner points, then approaches to corners and points on the sides
- handicap    every sixth game: 2 to 5 stones on the fixed points, komi 0.5, 0 to 3 opening moves, White first
- resigning   allowed in every second game; in the others both play on to two passes
- capturing   in every fifth game both take dead stones off the board before they pass

A result is the area on the board after two passes, without dead stones, minus komi; handicap
stones earn White nothing. Dead is what both players and REFEREE call dead. If they differ, or if a
game exceeds MAX_MOVES, it is dropped and played again with other seeds. The dead stones stand in a
comment on the last move, so that every result can be computed again. There and in the engines
points are GTP vertices; elsewhere they are sgfmill's (row, column) pairs.
"""

import argparse
import collections
import datetime
import io
import lzma
import random
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from sgfmill import ascii_boards, boards, sgf
from sgfmill.common import format_vertex, move_from_vertex, opponent_of

PROGRAM = shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")
PLAYERS = {  # name: (options, weight); level 3 takes twice the time of level 1
    "level 0": ("--level 0", 4),
    "level 0, no joseki": ("--level 0 --nojosekidb --nofusekidb", 4),
    "level 0, cosmic": ("--level 0 --cosmic-gnugo", 3),
    "level 1": ("--level 1", 3),
    "level 3": ("--level 3", 1),
}
RULES = "--chinese-rules --positional-superko --forbid-suicide"
REFEREE = "--level 8 --seed 1"
MAX_MOVES = 600

# Lines from the edge, counted from 0: in the corner first, then beside the corner stone, then on
# the sides.
CORNER = [(3, 3), (3, 3), (2, 3), (3, 2), (2, 2), (2, 4), (4, 2), (3, 4), (4, 3)]
APPROACH = [(2, 5), (5, 2), (3, 5), (5, 3), (2, 6), (6, 2)]
SIDE = [(2, 9), (9, 2), (3, 9), (9, 3), (9, 16), (16, 9), (9, 15), (15, 9)]


class Dropped(Exception):
    """A game that must not be kept."""


class Engine:
    """GNU Go as a subprocess that speaks GTP."""

    def __init__(self, options: str):
        command = [PROGRAM, "--mode", "gtp", "--quiet", *RULES.split(), *options.split()]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, command: str) -> str:
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Dropped(f"{command}: the engine is gone") from None
        lines = []
        while (line := self.process.stdout.readline()).strip():
            lines.append(line.strip())
        if not lines or not lines[0].startswith("="):
            raise Dropped(f"{command}: {' '.join(lines) or 'no answer'}")
        return " ".join(lines)[1:].strip()


def play_game(number: int, seed: str) -> bytes:
    """One finished game as SGF; raises Dropped if it is not one."""
    rng = random.Random(seed)
    names = rng.choices(list(PLAYERS), [weight for _, weight in PLAYERS.values()], k=2)
    handicap = rng.randint(2, 5) if number % 6 == 0 else 0
    komi = 0.5 if handicap else 7.5
    manner = "--resign-allowed" if number % 2 else "--never-resign"
    manner += " --capture-all-dead" if number % 5 == 0 else ""
    options = [f"{PLAYERS[name][0]} --seed {rng.randrange(1, 10**6)}" for name in names]
    engines = {
        "b": Engine(f"{options[0]} {manner}"),
        "w": Engine(f"{options[1]} {manner}"),
        "referee": Engine(REFEREE),
    }
    try:
        for engine in engines.values():
            for command in ("boardsize 19", "clear_board", f"komi {komi}"):
                engine.ask(command)
            stones = engine.ask(f"fixed_handicap {handicap}").split() if handicap else []
        setup = [move_from_vertex(vertex, 19) for vertex in stones]
        opening = draw_opening(
            rng, set(setup), rng.randint(0, 3) if handicap else rng.randint(2, 8)
        )
        moves, result = play_moves(engines, "w" if handicap else "b", opening)
        opinions = (
            {""}
            if result
            else {
                " ".join(sorted(engine.ask("final_status_list dead").split()))
                for engine in engines.values()
            }
        )
        version = f"{engines['b'].ask('name')} {engines['b'].ask('version')}"
    finally:
        for engine in engines.values():
            engine.process.kill()
            engine.process.communicate()
    if len(opinions) > 1:
        raise Dropped("no agreement about the dead stones")
    dead = opinions.pop()

    game = sgf.Sgf_game(19)
    root = game.get_root()
    facts = {
        "AP": ("LambdaGo make_engine_games", "1"),
        "KM": komi,
        "RU": "Chinese",
        "EV": "LambdaGo engine games",
        "DT": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "RE": result or score(setup, moves, dead, komi),
        "PB": f"{version} {names[0]}",
        "PW": f"{version} {names[1]}",
        "GC": f"Engine game {seed}. Black {options[0]}, White {options[1]}, both {RULES} {manner}. "
        f"The first {len(opening)} moves were drawn at random.",
    }
    for key, value in facts.items():
        root.set(key, value)
    if handicap:
        root.set("HA", handicap)
        root.set_setup_stones(setup, [])
    for colour, move in moves:
        game.extend_main_sequence().set_move(colour, move)
    if dead:
        game.get_last_node().set("C", "Dead: " + dead)
    return game.serialise()


def draw_opening(rng: random.Random, taken: set, count: int) -> list:
    """`count` points, first in the corners if the board is empty, then beside them."""
    points = []
    corners = [(rng.choice(CORNER), flip) for flip in ((0, 0), (0, 1), (1, 0), (1, 1))]
    rng.shuffle(corners)
    later = [(rng.choice(APPROACH), flip) for _, flip in corners] + [
        (point, (0, 0)) for point in rng.sample(SIDE, 3)
    ]
    rng.shuffle(later)
    for (row, col), (flip_row, flip_col) in ([] if taken else corners) + later:
        point = (18 - row if flip_row else row, 18 - col if flip_col else col)
        if point not in taken and point not in points:
            points.append(point)
    return points[:count]


def play_moves(engines: dict, colour: str, opening: list) -> tuple[list, str | None]:
    """Moves up to two passes, or up to a resignation and its result."""
    moves = []
    while len(moves) < 2 or moves[-1][1] or moves[-2][1]:
        drawn = len(moves) < len(opening)
        vertex = (
            format_vertex(opening[len(moves)])
            if drawn
            else engines[colour].ask(f"genmove {colour}")
        )
        if vertex.lower() == "resign":
            return moves, f"{opponent_of(colour).upper()}+R"
        for name, engine in engines.items():
            if drawn or name != colour:
                engine.ask(f"play {colour} {vertex}")
        moves.append((colour, move_from_vertex(vertex, 19)))
        colour = opponent_of(colour)
        if len(moves) > MAX_MOVES:
            raise Dropped("too long")
    return moves, None


def score(setup: list, moves: list, dead: str, komi: float) -> str:
    """RE by area; raises ValueError at an occupied point, at a suicide and where a whole position
    returns.
    """
    board = boards.Board(19)
    board.apply_setup(setup, [], [])
    seen = {ascii_boards.render_board(board)}
    for ply, (colour, move) in enumerate(moves):
        if move:
            board.play(*move, colour)
            position = ascii_boards.render_board(board)
            if position in seen or board.get(*move) is None:
                raise ValueError(f"move {ply + 1} repeats a position or is suicide")
            seen.add(position)
    board.apply_setup([], [], [move_from_vertex(vertex, 19) for vertex in dead.split()])
    margin = board.area_score() - komi
    return f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"


def check_game(text: bytes) -> tuple[tuple[str, str], str, int, tuple]:
    """Replay a record and compute its result again; return players, result, length and a key free
    of symmetry.
    """
    game = sgf.Sgf_game.from_bytes(text)
    root, last = game.get_root(), game.get_last_node()
    moves = [node.get_move() for node in game.get_main_sequence()[1:]]
    dead = last.get("C").removeprefix("Dead: ") if last.has_property("C") else ""
    result, expected = (
        root.get("RE"),
        score(root.get_setup_stones()[0], moves, dead, root.get("KM")),
    )
    if not result.endswith("+R") and (result != expected or moves[-1][1] or moves[-2][1]):
        raise ValueError(
            f"result {result}, but the board says {expected}, and the last moves are {moves[-2:]}"
        )
    points = [move or (9, 9) for _, move in moves]  # a pass stays what it is when the board turns
    turns = [
        tuple((abs(a - row), abs(b - col)) for row, col in across)
        for a in (0, 18)
        for b in (0, 18)
        for across in (points, [(col, row) for row, col in points])
    ]
    return (root.get("PB"), root.get("PW")), result, len(moves), min(turns)


def pack(work: Path, out: Path) -> str:
    """Check all games, write the archive (same bytes for same games) and return a table of what is
    in it.
    """
    buffer, keys, rows = io.BytesIO(), set(), collections.defaultdict(list)
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(work.glob("game-*.sgf")):
            text = path.read_bytes()
            players, result, length, key = check_game(text)
            if key in keys:
                raise ValueError(f"{path.name} is a turned copy of another game")
            keys.add(key)
            for row in (players, ("all", "")):
                rows[row].append((result, length))
            entry = tarfile.TarInfo(path.name)  # its defaults are mtime 0, owner 0, mode 644
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    if not keys:
        sys.exit(f"no games in {work}: the archive stays as it is")
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_suffix(".tmp")
    unfinished.write_bytes(lzma.compress(buffer.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    unfinished.replace(out)
    lines = [
        f"{'black':30}{'white':30}{'games':>6}{'B wins':>8}{'W wins':>8}{'resigned':>10}{'moves':>7}"
    ]
    for (black, white), games in sorted(rows.items()):
        won, resigned = (sum(mark in result for result, _ in games) for mark in ("B+", "+R"))
        mean = sum(length for _, length in games) / len(games)
        lines.append(
            f"{black:30}{white:30}{len(games):6}{won:8}{len(games) - won:8}{resigned:10}{mean:7.0f}"
        )
    return "\n".join([*lines, f"{out}: {len(keys)} games, {out.stat().st_size} bytes"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--count", type=int, default=300, help="games to play, including those that are there"
    )
    parser.add_argument("--seed", default="2026")
    parser.add_argument(
        "--work",
        type=Path,
        default=Path("outputs/engine_games"),
        help="finished games, one file each",
    )
    parser.add_argument("--out", type=Path, default=Path("data/sample_games/engine_games.tar.xz"))
    options = parser.parse_args()
    if options.count and not PROGRAM:
        print("gnugo is missing; on Debian: apt-get install gnugo", file=sys.stderr)
        return 2
    options.work.mkdir(parents=True, exist_ok=True)
    for number in range(1, options.count + 1):
        path = options.work / f"game-{number:04}.sgf"
        attempt = 0
        while not path.exists():
            begin = time.time()
            try:
                text = play_game(number, f"{options.seed}-{number}-{attempt}")
                check_game(text)
                path.with_suffix(".tmp").write_bytes(text)
                path.with_suffix(".tmp").replace(path)
                outcome = f"of {options.count}"
            except Dropped as reason:
                attempt, outcome = attempt + 1, f"dropped: {reason}"
            print(
                f"{path.name} {outcome}, {time.time() - begin:.1f} s", file=sys.stderr, flush=True
            )
    print(pack(options.work, options.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
