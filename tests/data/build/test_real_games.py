"""Collections of real games, where they lie beside the repository: built by the command, and
compared with the slow reading.
"""

import json
import random
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from data.build.report import UNWANTED
from data.build.work_folder import report_path
from data.dataset.file import DatasetFile
from data.features.alphago48 import unpack
from data.features.feature_set import ALPHAGO48
from data.game.coords import PASS
from data.records.metadata import to_rank
from data.records.record import GameRecord, Rejected
from data.records.replay import Replayer
from data.records.sgf import ReadOptions, read_games
from data.sources.find import find_sources, read_members
from data.sources.guard import Limits
from tests.data.records.test_replay import encode
from tests.support.builds import SCRIPT, run_command
from tests.support.paths import REAL_GAMES as GAMES
from tests.support.reference_planes import ReferencePosition, planes_and_unsure

pytestmark = pytest.mark.skipif(not GAMES.is_dir(), reason="needs the collected games")

COLLECTIONS = {"kgs": "kgs/*2001*", "fox": "fox-pro", "alphago": "alphago.zip"}
FIRST = 150  # members of each collection to draw from
POSITIONS = 200


@cache
def records(name):
    """The first games of a collection that can be used."""
    replayer, found = Replayer(), []
    for source in find_sources(str(GAMES / COLLECTIONS[name]), Path.cwd()):
        for member, _ in zip(read_members(source, Limits()), range(FIRST), strict=False):
            for game in read_games(member.data, source=member.name, options=ReadOptions()):
                admitted = replayer.admit(game) if isinstance(game, GameRecord) else game
                if isinstance(admitted, GameRecord):
                    found.append(admitted)
    return found


def position_before(record, ply):
    """By the slow reading of the page."""
    position = ReferencePosition(record.size)
    for k in range(ply + 1):
        for at in np.flatnonzero(record.setup_ply == k):
            position.setup(int(record.setup_point[at]), int(record.setup_colour[at]))
        if k < ply:
            position.play(int(record.moves[k]), int(record.colours[k]))
    return position


@pytest.mark.parametrize("name", COLLECTIONS)
def test_planes_of_real_positions_are_those_of_the_page(name):
    games = records(name)
    assert len(games) > 100
    rng = random.Random(name)
    compared = 0
    while compared < POSITIONS // 3 + 1:
        record = rng.choice(games)
        ply = rng.randrange(len(record.moves))
        if record.moves[ply] == PASS:
            continue
        skip = int(np.count_nonzero(record.moves[:ply] != PASS))
        planes, plies = encode(record, skip=skip, rows=1)
        assert plies.tolist() == [ply]
        ours = unpack(planes[0], record.size)
        theirs, unsure = planes_and_unsure(position_before(record, ply), int(record.colours[ply]))
        for plane, points in unsure.items():
            for point in points:
                ours[plane].flat[point] = theirs[plane].flat[point]
        wrong = np.argwhere(ours != theirs)
        assert not len(wrong), (
            f"{record.source}, ply {ply}: {ALPHAGO48.plane_names[wrong[0][0]]} at {wrong[0][1:].tolist()}"
        )
        assert ours[20:28, record.moves[ply] // 19, record.moves[ply] % 19].any(), (
            "the recorded move is legal in the planes"
        )
        compared += 1


def test_alphagos_games_build_in_one_command(tmp_path):
    arguments = [
        sys.executable,
        str(SCRIPT),
        f"source={GAMES / 'alphago.zip'}",
        f"output={tmp_path / 'o.h5'}",
    ]
    done = run_command([*arguments, "executor.workers=1", "compression=3"])
    assert done.returncode == 0, done.stderr
    report = json.loads(report_path(tmp_path / "o.h5").read_text())
    assert (
        report["games_seen"] == 216 and report["games_kept"] > 200 and report["positions"] > 45_000
    )
    file = DatasetFile(tmp_path / "o.h5")
    assert (
        len(file) == report["positions"]
        and len(set(file.column("identity").tolist())) == report["games_kept"]
    )


MOVE = re.compile(rb";\s*[BW]\s*\[[a-zA-Z]{0,2}\]")
OTHER_GAMES = {"other size", "not square", "not go"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder", sorted(path.name for path in GAMES.iterdir()) if GAMES.is_dir() else []
)
def test_every_file_with_moves_in_it_gives_a_game(folder):
    """A crude look says where moves are. (Two, as one may be an example in a text.)"""
    replayer, files, unread = Replayer(), 0, []
    for source in find_sources(str(GAMES / folder), Path.cwd()):
        for member in read_members(source, Limits()):
            if len(MOVE.findall(member.data)) < 2 and not member.error:
                continue
            files += 1
            games = (
                []
                if member.error
                else read_games(member.data, source=member.name, options=ReadOptions())
            )
            results = [
                replayer.admit(game) if isinstance(game, GameRecord) else game for game in games
            ]
            reasons = [
                str(result)
                for result in results
                if isinstance(result, Rejected) and result.reason not in OTHER_GAMES
            ]
            if reasons or not games:
                unread.append((source.label, member.name, member.error, reasons))
    assert files > 200 and not unread


@pytest.mark.slow
def test_ranks_of_real_games_are_known():
    """All but a few that are none, such as a bare `P`."""
    ranks = Counter()
    for source in find_sources(str(GAMES), Path.cwd()):
        for member in read_members(source, Limits()):
            ranks.update(re.findall(rb"[BW]R\[([^\]]+)\]", member.data))
    unknown = {rank: count for rank, count in ranks.items() if to_rank(rank) == 0}
    assert ranks.total() > 100_000 and sum(unknown.values()) <= 3, unknown


@pytest.mark.slow
def test_everything_builds_in_one_command(tmp_path):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), f"source={GAMES}", f"output={tmp_path / 'o.h5'}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(report_path(tmp_path / "o.h5").read_text())
    assert report["games_seen"] >= 32_047 + 9_669 + 18_081 and report["positions"] > 7_000_000
    broken = sum(
        entry["games"] for reason, entry in report["dropped"].items() if reason not in UNWANTED
    )
    assert report["dropped"]["not SGF"]["games"] == 8, "files of zeros"
    assert broken < 0.01 * report["games_seen"] and "internal error" not in report["dropped"]
    assert report["bytes_a_position"] <= 60 and report["handicap_put_back"] > 100
    assert 0.045 < report["games_by_split"]["test"] / report["games_kept"] < 0.055
