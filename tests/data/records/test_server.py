"""Where games were played, as archives write it; and what a dataset knows of its games."""

import numpy as np
import pytest

from data.dataset.file import DatasetFile
from data.features.uniform import SOURCES
from data.records.sgf import ReadOptions, read_games
from data.records.sgf_writer import write_game
from tests.support.paths import ROOT

OLD = ROOT / "tests/support/old_files/games.h5"
CASES = [
    ("PC[The Kiseido Go Server (KGS) at http://kgs.kiseido.com/]", "kgs"),
    ("PC[The KGS Go Server at http://www.gokgs.com/]AP[CGoban:3]BR[1p]WR[2p]EV[Cup]", "kgs"),
    ("AP[CGoban:3]", ""),
    ("AP[GNU Go:3.8]AP[foxwq]", "fox"),
    ("AP[GNU Go:3.8]RE[W+R]TM[60]TC[3]TT[15]", "fox"),
    ("AP[GNU Go:3.8]KM[0.0]", ""),
    ("PC[Fox]PB[Master]", "fox"),
    ("PC[野狐围棋]", "fox"),
    ("PC[Tokyo]EV[Fox hunters' cup]", ""),
    ("PC[Tygem]", "tygem"),
    ("PC[OGS: https://online-go.com/game/123]", "ogs"),
    ("PC[IGS-PandaNet]", "igs"),
    ("GN[ann-bob(B) IGS]EV[Internet Go Server game: ann vs bob]", "igs"),
    ("PC[cgos.boardspace.net]PB[Leela]", "cgos"),
    ("PB[AlphaGo]PW[FanHui]", "program"),
    ("PB[Lee Sedol]BR[9p]PW[AlphaGo]WR[9p]EV[Match]", "program"),
    ("PB[GNU Go 3.8 level 1]PW[me]", "program"),
    ("PB[a]BR[9p]PW[b]WR[7p]EV[7th Honinbo]PC[Tokyo]", "tournament"),
    ("PB[a]BR[9p]PW[b]WR[7d]EV[7th Honinbo]", ""),
    ("PB[a]BR[9p]PW[b]WR[7p]", ""),
    ("PB[Hogsmeade]PW[Rigs]PC[Bogs, Digs]", ""),
    ("", ""),
]


@pytest.mark.parametrize(("root", "server"), CASES)
def test_the_server_of_a_game(root, server):
    read = lambda text: read_games(text.encode(), source="", options=ReadOptions())[0]  # noqa: E731
    game = read(f"(;GM[1]FF[4]{root};B[dd];W[pp])")
    assert game.server == server
    assert read(write_game(game)).server == server, "a written game reads back as the same"


def test_codes_of_sources_never_change():
    """Nets have learned what they mean: new ones go to the end."""
    first = ("kgs", "fox", "tygem", "ogs", "igs", "cgos", "program", "tournament")
    assert SOURCES[: len(first)] == first


def test_a_file_without_servers_reads_as_before():
    file = DatasetFile(OLD)
    assert "server" not in file.games and set(file.column("server")) == {""}
    games = np.array([3, 0, 3])
    known = file.known(games)
    assert known.source.tolist() == [0, 0, 0]
    assert np.array_equal(known.komi, file.area_komi[games], equal_nan=True)
    assert known.black_rank.tolist() == file.column("black_rank")[games].tolist()
    years = [int(date[:4] or 0) for date in file.column("date")[games]]
    assert known.year.tolist() == years
