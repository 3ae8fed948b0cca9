"""Sources that are damaged or hostile: nothing crashes, waits or grows without end, and nothing is
silently taken wrongly.

Cases are numbered by seeds, so that one that fails can be run again:

    python -c "from tests.data.sources.test_attack_sources import attack; attack('a.7z', range(17, 18))"
"""

import gzip
import os
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import pytest

from data.records.gib import is_gib
from data.records.record import GameRecord
from data.records.sgf import ReadOptions, read_games
from data.sources.find import find_sources, read_members
from data.sources.guard import Limits, SourceError
from tests.data.records.test_gib import make as make_gib
from tests.data.records.test_sgf_fuzz import assert_sound
from tests.data.sources.test_sources import MAKERS, make_special, make_zip, split
from tests.support.builds import ROOT, command
from tests.support.damage import cut, flip_bits, run_watched, zero_region
from tests.support.own_games import collect
from tests.support.sgf_corpus import generate_corpus, make_game

SECONDS = 10  # for the worst single input, on a busy machine
MEMORY = 3 << 30  # address space of a process that attacks
KINDS = [*MAKERS, "a.sgf.gz", "a.7z.001", "a.zip.001", "a.tar.gz.001"]


# --- records


def read(data):
    """The games of a file, each sound, within the time."""
    started = time.process_time()
    games = read_games(data, source="x", options=ReadOptions())
    assert games and time.process_time() - started < SECONDS
    for game in games:
        assert_sound(game)
    return games


def moves_of(game):
    return list(zip(game.colours.tolist(), game.moves.tolist(), strict=True))


def make_records():
    """Whole records of some moves, each of another writing."""
    rng = random.Random(5)
    plain = [make_game(rng, 40) for _ in range(12)]
    play = "\n".join(f"STO 0 {k + 2} {k % 2 + 1} {k % 19} {k // 19}" for k in range(60))
    variations = (
        b"(;GM[1]SZ[19]C[x (;GM[1\\] y];B[aa];W[bb](;B[cc];W[dd](;B[ee])(;B[ff]))(;B[gg];W[hh]))"
    )
    return [data for data in plain if len(read(data)) == 1] + [make_gib(play), variations]


@pytest.mark.parametrize(
    "record", [pytest.param(record, id=str(k)) for k, record in enumerate(make_records())]
)
def test_a_record_cut_anywhere_keeps_its_beginning_and_says_so(record):
    (whole,) = read(record)
    if not isinstance(whole, GameRecord):
        pytest.skip("a game of another size")
    step = 1 + len(record) // 400
    for length in range(1, len(record), step):
        for game in read(record[:length]):
            if isinstance(game, GameRecord):
                assert moves_of(game) == moves_of(whole)[: len(game.moves)], length
                assert game.cut or len(game.moves) == len(whole.moves), length


@pytest.mark.parametrize(
    "record", [pytest.param(record, id=str(k)) for k, record in enumerate(make_records())]
)
def test_a_record_that_lost_its_beginning_gives_no_moves_of_its_middle(record):
    """What is read is the whole game, or nothing. (What begins with a variation looks like a game,
    and a comment may, too.)
    """
    (whole,) = read(record)
    if not isinstance(whole, GameRecord):
        pytest.skip("a game of another size")
    for start in range(1, len(record), 1 + len(record) // 400):
        for game in read(record[start:]):
            if isinstance(game, GameRecord) and not record[start:].startswith(b"(;"):
                assert moves_of(game) == moves_of(whole), record[start:][:60]


def attack_records(seeds):
    for seed in seeds:
        rng = random.Random(seed)
        data = next(generate_corpus(1, seed)) if seed % 3 else make_gib(handicap=rng.randrange(4))
        for _ in range(rng.randint(1, 4)):
            data = rng.choice((flip_bits, zero_region, cut))(data + b"\n", rng)
        games = read(data)
        if is_gib(data):
            assert len(games) == 1


def test_damaged_records_are_read_or_refused():
    attack_records(range(600))


@pytest.mark.slow
def test_many_damaged_records_are_read_or_refused():
    attack_records(range(10_000, 60_000))


HOSTILE = {
    "unopened games": b");GM[1]" * 50_000,
    "unopened and spaced": (b")" + b" " * 200) * 5_000 + b";GM[1]",
    "roots": b";GM[1]" * 100_000,
    "open root": b"GM[" * 400_000,
    "loose moves": b";B[aa]" * 200_000,
    "loose moves and variations": b";B[aa](" * 150_000,
    "moves of gib": b"\\HS\n\\GS\n" + b"STO 0 1 1 1 1\n" * 80_000,
    "good moves of gib": b"\\HS\n\\GS\n" + b"".join(b"STO 0 %d 1 1 1\n" % k for k in range(1, 60_000)),
    "header of gib": b"\\HS\n" + b"\\[GAMETAG=" * 100_000,
    "long value of gib": b"\\HS\n\\[GAMEBLACKNAME=" + b"(" * 1_000_000 + b"\\]\n\\GS\n\\GE",
    "commas of gib": b"\\HS\n\\[GAMEINFOMAIN=" + b"A:," * 400_000 + b"\\]\n\\GS\n\\GE",
    "numbers of gib": b"\\HS\n\\[GAMEINFOMAIN=GONGJE:" + b"9" * 1_000_000 + b",\\]\n\\GS\nINI 0 1 " + b"9" * 100_000 + b"\n\\GE",
}  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_records_cost_seconds_at_most(data):
    read(data)


# --- archives


def make_files(rng):
    return {f"games/{k}.sgf": make_game(rng, 30) for k in range(12)}


def make_archive(folder, name, files):
    """Write the archive; returns its files."""
    if name == "a.sgf.gz":
        (folder / name).write_bytes(gzip.compress(b"\n".join(files.values())))
        return [folder / name]
    MAKERS[name.removesuffix(".001")](folder / name.removesuffix(".001"), files)
    return (
        split(folder / name.removesuffix(".001"), 4) if name.endswith(".001") else [folder / name]
    )


def attack(name, seeds):
    """Damage one archive after the other and read it: what comes out is what was put in, or an
    error of one line.
    """
    for seed in seeds:
        rng = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            files = make_files(rng)
            paths = make_archive(Path(folder), name, files)
            damage(paths, rng)
            started = time.process_time()
            check(paths[0], {b"\n".join(files.values()), *files.values()}, checked=name != "a.tar")
            assert time.process_time() - started < SECONDS, seed


def damage(paths, rng):
    """Of one volume, or its place among the others."""
    path = rng.choice(paths)
    data = path.read_bytes()
    kinds = [lambda: path.write_bytes(flip_bits(data, rng, rng.randint(1, 8))),
             lambda: path.write_bytes(zero_region(data, rng, rng.choice((8, 64, 512)))),
             lambda: path.write_bytes(cut(data, rng)),
             lambda: path.write_bytes(data + rng.randbytes(rng.randint(1, 100)))]  # fmt: skip
    if len(paths) > 1:
        kinds += [
            lambda: path.unlink(),
            lambda: path.write_bytes(paths[0].read_bytes()),
            lambda: path.write_bytes(b""),
        ]
    rng.choice(kinds)()


def check(path, expected, checked):
    try:
        for source in find_sources(path.name, path.parent):
            members = list(read_members(source, Limits()))
            # Another content is taken for no game and gets counted: nothing, or a .sgf.gz that no
            # longer looks packed.
            others = [
                member for member in members if not member.error and member.data not in expected
            ]
            assert not checked or not any(
                isinstance(game, GameRecord) for member in others for game in read(member.data)
            )
    except SourceError as error:
        assert "\n" not in str(error)


def attack_elsewhere(arguments, seconds):
    """In a process of its own, with an end to its memory."""
    code = f"from tests.data.sources.test_attack_sources import attack, limit_memory; limit_memory(); {arguments}"
    outcome = run_watched([sys.executable, "-c", code], seconds=seconds, cwd=ROOT)
    assert outcome.kind == "well", outcome


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def test_damaged_archives_give_what_they_held_or_an_error():
    attack_elsewhere(f"[attack(name, range(12)) for name in {KINDS}]", seconds=120)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_many_damaged_archives_give_what_they_held_or_an_error(name):
    attack_elsewhere(f"attack({name!r}, range(1_000, 2_500))", seconds=900)


# --- the script


@pytest.fixture(scope="module")
def games():
    return {name: game.data for name, game in collect(12, copies=False).items()}


def test_a_folder_of_all_sorts_is_built_and_counted(tmp_path, games):
    root = tmp_path / "root"
    root.mkdir()
    names = list(games)
    for k, name in enumerate(names[:4]):
        (root / f"{k}.sgf").write_bytes(games[name])
    (root / "headless.sgf").write_bytes(games[names[4]].lstrip().removeprefix(b"("))
    (root / "packed.sgf.gz").write_bytes(gzip.compress(games[names[5]]) + b"behind")
    make_zip(root / "volumes.zip", {"x.sgf": games[names[6]], "y.sgf": games[names[7]]})
    split(root / "volumes.zip", 3)
    (root / "bomb.sgf.gz").write_bytes(gzip.compress(bytes(20 << 20)))
    (root / "games.rar").write_bytes(b"Rar!")
    make_special(root)
    outcome = run_watched(command(root, tmp_path / "o.h5"), seconds=120)
    assert outcome.kind == "well", outcome
    for words in (
        "no first bracket",
        "headless.sgf",
        "bytes behind the end",
        "1 file passed over: a .rar archive: unpack it",
        "a named pipe",
        "bomb.sgf.gz",
    ):
        assert words in outcome.out, words
    assert (
        "Put right and read: 2 games\n" in outcome.out
        and "1 games" not in outcome.out + outcome.err
    )
    assert "8 of 9 games" in outcome.out


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("pipe.sgf", "a named pipe is not read"),
        ("volumes.zip.001", "the volume volumes.zip.002 is missing"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused_in_one_line(tmp_path, games, named, says):
    make_special(tmp_path)
    make_zip(tmp_path / "volumes.zip", games)
    split(tmp_path / "volumes.zip", 4)[1].unlink()
    outcome = run_watched(command(tmp_path / named, tmp_path / "o.h5"), seconds=60)
    assert outcome.kind == "refused" and says in outcome.err, outcome
    assert os.listdir(tmp_path).count("o.h5") == 0
