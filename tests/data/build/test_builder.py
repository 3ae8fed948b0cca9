"""What a build makes: every row and column against an independent reading of the same games.

What stops a build, and how it goes on, is in test_crashes.py.
"""

import json
import shutil
import zipfile
from collections import Counter, defaultdict

import h5py
import numpy as np
import pytest

from data.build.options import BuildError, PartSizes
from data.build.report import EXAMPLES, REASONS, BadInput, read_report
from data.build.work_folder import report_path
from data.dataset import game_table, layout
from data.dataset.file import DatasetFile
from data.dataset.layout import CHUNK, SCHEMA
from data.features.alphago48 import PlaneEncoder
from data.features.feature_set import ALPHAGO48
from data.game.coords import PASS
from data.records.identity import OPENING
from data.records.splits import SPLITS
from data.sources.guard import Limits
from tests.support.builds import (
    SMALL,
    Watcher,
    attributes,
    build_here,
    by_source,
    columns,
    digest,
    rows_of,
)
from tests.support.own_games import collect, turn, write_folder, write_sgf, write_tar, write_zip

BROKEN = {
    "bad/chess.sgf": b"(;GM[2]SZ[9];B[aa])",
    "bad/large.sgf": b"(;SZ[19];B[aa])",
    "bad/text.sgf": b"no game at all",
    "bad/illegal.sgf": b"(;SZ[9];B[aa];W[bb];B[aa];W[cc])",
    "bad/nothing.sgf": b"(;SZ[9]PB[x",
}


@pytest.fixture(scope="module")
def games():
    """By the name that a build gives them: a zip, a tar.gz, and loose files that are mirrors of
    games in the zip.
    """
    zipped, tarred = collect(36, seed=0), collect(12, seed=1)
    loose = {
        f"again/{name}": type(game)(turn(game.record, 5), write_sgf(turn(game.record, 5)), "mirror")
        for name, game in list(zipped.items())[:6]
    }
    return {"games/a.zip": zipped, "games/b.tar.gz": tarred, "games": loose}


@pytest.fixture(scope="module")
def sources(games, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources") / "games"
    write_folder(folder, games["games"])
    write_folder(folder, BROKEN)
    write_zip(folder / "a.zip", games["games/a.zip"])
    write_tar(folder / "b.tar.gz", games["games/b.tar.gz"])
    return folder


@pytest.fixture(scope="module")
def known(games):
    return {
        name: game for label, some in games.items() for name, game in by_source(some, label).items()
    }


@pytest.fixture(scope="module")
def built(sources, tmp_path_factory):
    output = tmp_path_factory.mktemp("built") / "new" / "games.h5"
    watcher = Watcher()
    report = build_here(sources, output, watcher=watcher, validation=0.2, test=0.2)
    return output, report, watcher


def rebuild(sources, folder, **options):
    build_here(sources, folder / "o.h5", **{"validation": 0.2, "test": 0.2} | options)
    return folder / "o.h5"


# --- rows and games


def test_every_row_is_what_a_board_shows_before_the_move(built, known):
    output, report, _ = built
    file, encoder = DatasetFile(output), PlaneEncoder()
    positions, first_row = file.positions, file.column("first_row")
    sources, rows = file.column("source"), {name: positions[name][:] for name in positions}
    at = 0
    for game, source in enumerate(sources):
        assert first_row[game] == at
        record = known[source].record if source in known else None
        if record is None:
            assert source == "games!bad/illegal.sgf"
            at = int(first_row[game + 1])
            continue
        for packed, move, colour, ply in rows_of(record, encoder):
            assert (rows["planes"][at] == packed).all(), f"{source}, ply {ply}"
            found = {name: int(rows[name][at]) for name in layout.POSITION_COLUMNS}
            assert found == {
                "move": move,
                "outcome": colour * record.winner,
                "to_play": colour,
                "game": game,
                "ply": ply,
            }
            at += 1
    assert at == first_row[-1] == len(file) == report["positions"] == len(rows["planes"]) > 3000
    assert all(len(values) == at for values in rows.values())


def test_games_come_back_as_they_were_recorded(built, known):
    file = DatasetFile(built[0])
    table = game_table.read(file.file["games"])
    for row, source in enumerate(table["source"]):
        found = game_table.record_of(table, row, file.size)
        if source not in known:
            continue
        expected = known[source].record
        for name in ("moves", "colours", "setup_ply", "setup_point", "setup_colour"):
            assert (getattr(found, name) == getattr(expected, name)).all(), (source, name)
            assert getattr(found, name).dtype == getattr(expected, name).dtype
        for name in (
            "size",
            "rules",
            "winner",
            "handicap",
            "black_name",
            "white_name",
            "black_rank",
            "white_rank",
            "date",
            "event",
        ):
            assert getattr(found, name) == getattr(expected, name), (source, name)
        assert found.result == expected.result and found.source == source and found.cut == ""
        assert found.komi == expected.komi or (
            found.komi != found.komi and expected.komi != expected.komi
        )
    # new ones, other tails, cut ones
    assert sum(source in known for source in table["source"]) == 48 + 8 + 6


def test_a_table_is_the_same_from_disk_in_pieces_and_in_another_order(built):
    # as parts of a build are read: past the door for strangers
    games = DatasetFile(built[0]).file["games"]
    whole = game_table.read(games)
    order = np.random.default_rng(0).permutation(len(whole["split"]))
    turned = game_table.select(whole, order)
    for row, game in enumerate(order.tolist()):
        a, b, c = (
            repr(game_table.record_of(table, at, 9))
            for table, at in (
                (whole, game),
                (turned, row),
                (game_table.read(games, game, game + 1), 0),
            )
        )
        assert a == b == c
    assert len(game_table.select(whole, order[:0])["moves"]) == 0


def test_the_file_tells_what_it_is(built, sources):
    found = attributes(built[0])
    assert found["schema"] == SCHEMA and found["size"] == 9 and found["layout"] == "packed"
    assert tuple(found["planes"]) == ALPHAGO48.plane_names and found["plane_count"] == 48
    assert [name for name, _, _ in found["features"]] == [
        feature.name for feature in ALPHAGO48.features
    ]
    assert [source["label"] for source in found["sources"]] == [
        "games",
        "games/a.zip",
        "games/b.tar.gz",
    ]
    assert all(len(source["sha256"]) == 64 for source in found["sources"])
    assert (
        found["config"]["games"]["validation"] == 0.2
        and found["config"]["games"]["read"]["size"] == 9
    )
    assert str(sources.parent) not in json.dumps(found, default=str), (
        "paths of this machine are nobody's business"
    )
    with h5py.File(built[0]) as file:
        planes = file["positions/planes"]
        assert (
            planes.chunks == (CHUNK, 81, 6)
            and set(planes._filters) == {"32015"}
            and planes.dtype == np.uint8
        )


# --- splits


def test_splits_are_contiguous_and_by_game(built):
    output, report, _ = built
    found, file = attributes(output), DatasetFile(output)
    split, first_row = file.column("split"), file.column("first_row")
    assert (np.diff(split.astype(int)) >= 0).all() and set(split) == {0, 1, 2}
    end = 0
    for k, name in enumerate(SPLITS):
        first, stop = found["split_games"][name]
        assert first == end and set(split[first:stop]) == {k}
        assert found["split_rows"][name] == [first_row[first], first_row[stop]]
        rows = file.positions["game"][slice(*found["split_rows"][name])]
        assert set(rows.tolist()) == set(range(first, stop))
        assert report["games_by_split"][name] == stop - first
        assert report["positions_by_split"][name] == first_row[stop] - first_row[first]
        end = stop
    assert end == len(split)


def images(record, moves=None):
    """The game in its eight images, by turning a board with numpy."""
    size = record.size
    grid = np.arange(size * size).reshape(size, size)
    for board in (grid, grid.T):
        for quarter in range(4):
            place = np.argsort(np.rot90(board, quarter).reshape(-1))
            turned = [PASS if move == PASS else int(place[move]) for move in record.moves[:moves]]
            stones = sorted(
                (int(ply), int(place[point]), int(colour))
                for ply, point, colour in zip(
                    record.setup_ply, record.setup_point, record.setup_colour, strict=True
                )
                if moves is None or ply < moves
            )
            yield tuple(turned), tuple(record.colours[:moves].tolist()), tuple(stones)


def test_no_game_leaks_from_one_side_to_another_in_any_image(built):
    file = DatasetFile(built[0])
    table = game_table.read(file.file["games"])
    sides, openings = defaultdict(list), defaultdict(set)
    for row, split in enumerate(table["split"].tolist()):
        record = game_table.record_of(table, row, 9)
        sides[min(images(record))].append(split)
        if len(record.moves) >= OPENING:
            openings[min(images(record, OPENING))].add(split)
    assert all(len(found) == 1 for found in sides.values()), "a game is there twice"
    assert all(len(found) == 1 for found in openings.values())
    assert len(openings) < len(sides) - 5, "there are versions of one game to keep together"


def test_duplicates_are_dropped_and_counted(built, games):
    _, report, _ = built
    mirrors = sum(game.kind == "mirror" for some in games.values() for game in some.values())
    duplicates = report["dropped"]["duplicate"]
    assert duplicates["games"] == mirrors and len(duplicates["examples"]) == EXAMPLES
    assert (
        duplicates["examples"][0].count("!") == 2
        and "the same as games!again/" in duplicates["examples"][0]
    )
    assert report["share_their_opening"] == {"games": 8 + 6, "moves": OPENING}


def test_more_sources_move_no_game_to_another_side(built, sources, tmp_path):
    alone = rebuild(sources / "b.tar.gz", tmp_path)
    here, there = DatasetFile(alone), DatasetFile(built[0])
    side = dict(zip(there.column("identity").tolist(), there.column("split").tolist(), strict=True))
    for identity, split in zip(
        here.column("identity").tolist(), here.column("split").tolist(), strict=True
    ):
        assert side[identity] == split


def test_a_copy_with_other_passes_at_its_end_falls_on_the_same_side(tmp_path):
    short, sides = b"(;SZ[9];B[ee];W[cc];B[gg];W[cg];B[gc]", {}
    for name, tail in (("plain", b")"), ("passes", b";W[];B[])")):
        write_zip(tmp_path / f"{name}.zip", {"a.sgf": short + tail})
        output = tmp_path / f"{name}.h5"
        build_here(tmp_path / f"{name}.zip", output, validation=0.33, test=0.33)
        sides[name] = DatasetFile(output).column("opening").tolist()
    assert sides["plain"] == sides["passes"]


# --- how it is cut and by whom it is worked does not show


def test_two_workers_make_what_one_makes(built, sources, tmp_path):
    assert digest(rebuild(sources, tmp_path, workers=2)) == digest(built[0])


@pytest.mark.parametrize(
    "parts", [PartSizes(), PartSizes(files=1, rows=512), PartSizes(files=50, rows=256)]
)
def test_the_size_of_parts_does_not_show(built, sources, tmp_path, parts):
    output = rebuild(sources, tmp_path, parts=parts)
    assert digest(output) == digest(built[0])
    watcher = Watcher()
    build_here(sources, output, validation=0.2, test=0.2, parts=SMALL, watcher=watcher)
    assert "nothing to do" in watcher.said[-1]


def test_small_datasets_have_one_small_chunk(tmp_path):
    write_zip(tmp_path / "a.zip", {"a.sgf": b"(;SZ[9];B[ee];W[cc])"})
    output = rebuild(tmp_path / "a.zip", tmp_path)
    with h5py.File(output) as file:
        assert file["positions/planes"].shape == (2, 81, 6) and file["positions/planes"].chunks == (
            2,
            81,
            6,
        )
        assert file["positions/planes"][:].any(axis=(1, 2)).all()


def test_a_file_of_exactly_whole_chunks(tmp_path):
    moves = "".join(f";{'BW'[k % 2]}[{chr(97 + k % 16)}{chr(97 + k // 16)}]" for k in range(CHUNK))
    write_zip(tmp_path / "a.zip", {"a.sgf": f"(;SZ[19]{moves})".encode()})
    output = rebuild(tmp_path / "a.zip", tmp_path, size=19)
    assert len(DatasetFile(output)) == CHUNK == DatasetFile(output).positions["planes"].chunks[0]


# --- the plain layout


@pytest.mark.parametrize("augment", ["none", "all"])
def test_the_plain_layout_is_the_same_rows_turned_with_numpy(built, sources, tmp_path, augment):
    output = rebuild(sources / "b.tar.gz", tmp_path, layout="plain", augment=augment)
    packed = rebuild(sources / "b.tar.gz", tmp_path / "packed")
    copies = 8 if augment == "all" else 1
    positions = columns(packed, "positions")
    with h5py.File(output, "r") as file:
        assert (
            file["states"].dtype == np.uint8
            and file["states"].compression == "gzip"
            and file["actions"].compression == "gzip"
        )
        found = {
            name: file[name][:]
            for name in ("states", "actions", "outcomes", "to_play", "game", "ply", "symmetry")
        }
    n = len(positions["move"])
    states = np.unpackbits(positions["planes"], axis=2).reshape(n, 9, 9, 48).transpose(0, 3, 1, 2)
    assert found["states"].shape == (n * copies, 48, 9, 9) and found["actions"].shape == (
        n * copies,
        2,
    )
    for k in range(copies):
        rows = slice(k, None, copies)
        assert (found["states"][rows] == turned(states, k)).all(), k
        target = np.zeros((n, 9, 9), bool)
        target[np.arange(n), positions["move"] // 9, positions["move"] % 9] = True
        assert (found["actions"][rows] == np.argwhere(turned(target, k))[:, 1:]).all(), k
        for name, column in (
            ("outcomes", "outcome"),
            ("to_play", "to_play"),
            ("game", "game"),
            ("ply", "ply"),
        ):
            assert (found[name][rows] == positions[column]).all()
        assert (found["symmetry"][rows] == k).all()
    splits = attributes(output)
    assert splits["split_states"] == {
        name: [copies * row for row in rows] for name, rows in splits["split_rows"].items()
    }
    assert {
        name: values.tolist() for name, values in columns(output, "games").items() if name != "komi"
    } == {
        name: values.tolist() for name, values in columns(packed, "games").items() if name != "komi"
    }


def turned(boards, k):
    """Rows and columns swapped if k & 4, then upside down if k & 1, then left to right if k & 2."""
    boards = boards.swapaxes(-1, -2) if k & 4 else boards
    boards = np.flip(boards, -2) if k & 1 else boards
    return np.flip(boards, -1) if k & 2 else boards


def test_the_eight_copies_are_the_eight_turns_and_flips():
    board = np.arange(81).reshape(9, 9)
    ours = {turned(board, k).tobytes() for k in range(8)}
    assert ours == {
        np.rot90(side, quarter).tobytes()
        for side in (board, np.fliplr(board))
        for quarter in range(4)
    }


# --- what is left out


def test_every_file_is_kept_or_dropped_with_a_reason(built, games):
    output, report, watcher = built
    files = sum(len(some) for some in games.values()) + len(BROKEN)
    assert report["files"] == report["games_seen"] == files
    assert (
        report["games_kept"] + sum(entry["games"] for entry in report["dropped"].values()) == files
    )
    assert set(report["dropped"]) == {"duplicate", "not go", "other size", "not SGF", "unclosed"}
    assert report["dropped"]["not go"] == {
        "games": 1,
        "meaning": REASONS["not go"],
        "examples": ["games!bad/chess.sgf: GM[2]"],
    }
    assert list(report["cut_short"]) == ["illegal move"]
    assert report["cut_short"]["illegal move"]["examples"] == [
        "games!bad/illegal.sgf: move 3 at A9: there is a stone already"
    ]
    reading = watcher.counts["reading"]
    dropped = sum(
        entry["games"] for reason, entry in report["dropped"].items() if reason != "duplicate"
    )
    assert (
        reading["games"] == files
        and reading["rejects"] == dropped
        and reading["positions"] > report["positions"]
    )
    encoding = watcher.counts["encoding"]
    assert encoding["positions"] == encoding["total"] == report["positions"]
    assert (
        encoding["games"] == report["games_kept"]
        and encoding["left_out"] == files - report["games_kept"]
    )
    assert output.name in next(text for text in watcher.said if "MB" in text)


def test_the_report_adds_up(built, known):
    output, report, _ = built
    assert read_report(output.with_name("games.h5.report.json")) == report
    file = DatasetFile(output)
    kept = report["games_kept"]
    for name in ("komi", "results", "winner", "handicap", "lengths"):
        assert sum(report[name].values()) == kept, name
    assert sum(report["ranks"].values()) == 2 * kept and {"6d", "3k", "9p", "unknown"} >= set(
        report["ranks"]
    ) - {"?"}
    assert "unknown" in report["ranks"] and "unknown" in report["komi"]
    assert (
        sum(report["games_by_split"].values()) == kept
        and sum(report["positions_by_split"].values()) == report["positions"]
    )
    assert report["bytes"] == output.stat().st_size and report["bytes_a_position"] == round(
        report["bytes"] / len(file), 2
    )
    assert (
        report["games_for_value"] == file.column("value").sum()
        and report["positions_a_second"] > 0
        and not report["resumed"]
    )
    lengths = np.diff(file.column("offset"))
    assert report["lengths"] == {
        "0-49": int((lengths < 50).sum()),
        "50-99": int((lengths >= 50).sum()),
    }


def test_the_value_mask_is_in_the_file(built, known):
    file = DatasetFile(built[0])
    for source, value, komi, winner in zip(
        *(file.column(n) for n in ("source", "value", "komi", "winner")), strict=True
    ):
        if source in known:
            record = known[source].record
            taught = (
                winner != 0
                and komi == komi
                and record.result[2:] not in ("T", "F")
                and record.handicap == 0
            )
            assert bool(value) == taught, source


def test_illegal_games_can_be_dropped(sources, tmp_path):
    report = build_here(sources, tmp_path / "o.h5", illegal="drop")
    assert report["dropped"]["illegal move"]["games"] == 1 and report["cut_short"] == {}


def test_broken_records_can_be_dropped(tmp_path):
    write_zip(
        tmp_path / "a.zip", {"a.sgf": b"(;SZ[9];B[ee];W[zz])", "b.sgf": b"(;SZ[9];B[ee];W[cc])"}
    )
    assert (
        build_here(tmp_path / "a.zip", tmp_path / "keep.h5")["cut_short"]["off the board"]["games"]
        == 1
    )
    assert (
        build_here(tmp_path / "a.zip", tmp_path / "drop.h5", broken="drop")["dropped"][
            "off the board"
        ]["games"]
        == 1
    )


def test_a_board_full_of_handicap_stones_stops_nothing(tmp_path):
    write_zip(tmp_path / "a.zip", {"a.sgf": b"(;SZ[19]AB[aa:sj];W[ss];B[rr])"})
    assert build_here(tmp_path / "a.zip", tmp_path / "o.h5", size=19)["handicap"] == {"190": 1}


def test_filters_count_what_they_refuse(sources, tmp_path):
    report = build_here(
        sources, tmp_path / "o.h5", filters={"min_moves": 60, "min_rank": "3k", "max_handicap": 0}
    )
    assert {"too short", "rank", "handicap filter"} <= set(report["dropped"])
    file = DatasetFile(tmp_path / "o.h5")
    assert (
        (np.diff(file.column("offset")) >= 60).all()
        and (file.column("black_rank") >= -3).all()
        and (file.column("white_rank") != 0).all()
    )
    assert (file.column("handicap") == 0).all() and report["games_kept"] == len(
        file.column("split")
    )


def test_games_per_source_takes_the_first_of_each(sources, tmp_path, known):
    report = build_here(sources, tmp_path / "o.h5", filters={"games_per_source": 4})
    kept = Counter(
        source.split("!")[0] for source in DatasetFile(tmp_path / "o.h5").column("source")
    )
    assert kept == {"games": 4, "games/a.zip": 4, "games/b.tar.gz": 4}
    seen = report["games_kept"] + sum(entry["games"] for entry in report["dropped"].values())
    assert (
        seen == report["games_seen"]
        and len(report["dropped"]["enough of this source"]["examples"]) <= EXAMPLES
    )
    assert digest(
        rebuild(sources, tmp_path / "2", filters={"games_per_source": 4}, parts=PartSizes())
    ) == digest(rebuild(sources, tmp_path / "3", filters={"games_per_source": 4}))


def test_a_game_that_its_source_has_no_room_for_is_taken_from_the_next(tmp_path):
    a, b, c = (b"(;SZ[9];B[%s];W[cc];B[gg])" % point for point in (b"ee", b"ed", b"fb"))
    write_zip(tmp_path / "1.zip", {"a.sgf": a, "b.sgf": b})
    write_zip(tmp_path / "2.zip", {"b.sgf": b, "c.sgf": c})
    report = build_here(
        [tmp_path / "1.zip", tmp_path / "2.zip"], tmp_path / "o.h5", filters={"games_per_source": 1}
    )
    assert DatasetFile(tmp_path / "o.h5").column("source").tolist() in (
        ["1.zip!a.sgf", "2.zip!b.sgf"],
        ["2.zip!b.sgf", "1.zip!a.sgf"],
    )
    assert report["dropped"]["enough of this source"]["games"] == 2


def test_too_many_rejects_fail_the_build_and_keep_its_parts(tmp_path):
    write_zip(tmp_path / "a.zip", {**BROKEN, "good.sgf": b"(;SZ[9];B[ee];W[cc])"})
    output = tmp_path / "o.h5"
    with pytest.raises(
        BadInput, match=r"2 of 6 games were rejected, 33.3%.*max_reject_rate=0.3.*not SGF 1"
    ):
        build_here(tmp_path / "a.zip", output, max_reject_rate=0.3)
    failed = json.loads(report_path(output).read_text(encoding="utf-8"))
    assert failed["failed"] and failed["dropped"]["not SGF"]["examples"]
    assert not output.exists()
    report = build_here(tmp_path / "a.zip", output, max_reject_rate=0.34)
    assert report["resumed"] and report["games_kept"] == 2


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.sgf": b"(;GM[2];B[aa])"}, "no game is left of 1 seen: not go 1"),
        ({"a.sgf": b""}, "no game is left of 1 seen: not SGF 1"),
        ({"a.txt": b"(;SZ[9];B[aa])"}, "no game is left of 0 seen: no game was found"),
    ],
)
def test_no_game_left_is_a_clear_line_and_leaves_nothing(tmp_path, files, message):
    write_zip(tmp_path / "a.zip", files)
    with pytest.raises(BuildError, match=message):
        build_here(tmp_path / "a.zip", tmp_path / "o.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"], (
        "another attempt may have other options"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "flat"}, "layout=flat"),
        ({"augment": "all"}, "augment=all goes with layout=plain"),
        ({"damaged": "ask"}, "damaged=ask"),
        ({"level": 23}, "compression=23"),
        ({"parts": PartSizes(files=0)}, "parts"),
        ({"parts": PartSizes(rows=100)}, "multiple of 256"),
        ({"max_reject_rate": float("nan")}, "max_reject_rate"),
        ({"validation": 0.5, "test": 0.5}, "something for training"),
        ({"limits": Limits(max_ratio=-1)}, "limits.max_ratio"),
        ({"size": 20}, "size=20"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_before_anything_is_read(
    tmp_path, options, message
):
    with pytest.raises(BuildError, match=message):
        build_here(tmp_path / "missing.zip", tmp_path / "o.h5", **options)


def test_hashes_of_many_sources_fit_into_the_file(tmp_path):
    one = b"(;SZ[9];B[ee];W[cc])"
    for k in range(700):
        (tmp_path / f"a-rather-long-name-for-a-game-number-{k:04d}.sgf").write_bytes(one)
    build_here(str(tmp_path / "*.sgf"), tmp_path / "o.h5", parts=PartSizes())
    assert len(attributes(tmp_path / "o.h5")["sources"]) == 700


def test_a_source_beside_its_output_is_not_read_as_a_source(sources, tmp_path):
    shutil.copy(sources / "b.tar.gz", tmp_path / "b.tar.gz")
    first = build_here(tmp_path, tmp_path / "o.h5")
    watcher = Watcher()
    assert (
        build_here(tmp_path, tmp_path / "o.h5", watcher=watcher) == first
        and "nothing to do" in watcher.said[-1]
    )


def test_what_is_passed_over_in_an_archive_is_counted_and_said(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("game.sgf", "(;SZ[9];B[aa];W[bb])")
        archive.writestr("inner.zip", b"PK")
        archive.writestr("readme.txt", "hello")
    watcher = Watcher()
    report = build_here(tmp_path / "a.zip", tmp_path / "o.h5", watcher=watcher)
    assert (report["files_skipped"], report["archives_skipped"]) == (2, 1)
    assert any("archives inside archives" in line for line in watcher.said)


def test_a_name_that_no_file_can_hold_stops_nothing(tmp_path):
    game = b"(;SZ[9]CA[unicode_escape]PB[\xff\\\\ud800];B[aa];W[bb])"
    (tmp_path / "a.sgf").write_bytes(game)
    assert build_here(tmp_path / "a.sgf", tmp_path / "o.h5")["games_kept"] == 1
