"""Analysis of a game: whose view values are from, what a move costs, and what is written."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from sgfmill import sgf

from data.game.board import Board
from data.game.coords import BLACK, WHITE, from_gtp
from data.records.record import GameRecord
from data.records.sgf import ReadOptions, read_games
from mcts.play.analysis import Analysis
from mcts.play.judgement import sensible_moves
from mcts.search.protocols import Candidate, HasNothing, Limits, Report, Watch
from pipelines import analyze_game
from pipelines.analysing.game import GameError, read_game
from pipelines.drawing import fonts
from pipelines.drawing.game_board import moment_of
from pipelines.shell.command_line import first_word_is
from pipelines.shell.configuration import CONF
from tests.support.damage import run_watched, script
from tests.support.tiny_nets import POLICY, tiny_net, write_checkpoint

SGF = "(;GM[1]FF[4]SZ[9]KM[6.5]PB[Ann]PW[Bo]RE[B+R];B[ee]C[good];W[cc](;B[gg];W[];B[cg])(;B[aa]))"
STANDINGS = (0.0, 0.2, 0.5, -0.3, -0.3, 0.1)  # Black's, before each move and after the last


class Known(HasNothing):
    """Knows how Black stands at each ply, and wants the first sensible point."""

    name = "known"

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        assert limits.simulations == 7
        value = board.to_play * STANDINGS[board.ply]
        point = sensible_moves(board)[0]
        return Report(
            (Candidate(point, 5, 0.25, value, value - 0.05, value + 0.05, (point, 80)),),
            value,
            7,
            0.0,
        )

    def at_once(self, board: Board, seconds: float) -> Report:
        raise NotImplementedError

    def forget(self) -> None: ...
    def close(self) -> None: ...


def config(tmp_path: Path, *overrides: str) -> Any:
    game = tmp_path / "a game.sgf"
    if not game.exists():
        game.write_text(SGF)
    given = [
        f"game='{game}'",
        f"output={tmp_path / 'out'}",
        "policy=none",
        "value=none",
        "rollout=none",
        "tree=none",
        "simulations=7",
        "seconds=null",
        "threads=1",
    ]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("analyze_game", [*given, *overrides])


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyze_game.ThinkerMaker, "__call__", lambda self, size: Known())


@pytest.mark.usefixtures("known")
def test_values_are_blacks_and_costs_the_movers(tmp_path: Path) -> None:
    (tmp_path / "value.ckpt").touch()
    rows = analyze_game.run(config(tmp_path, f"value={tmp_path / 'value.ckpt'}"))["moves"]
    assert [row["move"] for row in rows] == ["E5", "C7", "G3", "pass", "C3"]
    assert [row["colour"] for row in rows] == list("BWBWB")
    assert [row["value"] for row in rows] == pytest.approx(STANDINGS[:5])
    assert [row["loss"] for row in rows] == pytest.approx([-0.2, 0.3, 0.8, 0.0, -0.4])
    # the mover's less 0.05
    assert rows[0]["net"] == pytest.approx(-0.05) and rows[1]["net"] == pytest.approx(0.25)
    assert all(row["prior"] is None and row["surprise"] is None for row in rows)


@pytest.mark.usefixtures("known")
def test_what_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    analyze_game.run(config(tmp_path))
    folder = tmp_path / "out"
    text = (folder / "a game.analysis.sgf").read_text()
    record = read_games(text.encode(), source="x", options=ReadOptions(size=9))[0]
    assert (
        isinstance(record, GameRecord)
        and record.moves.tolist() == [40, 20, 60, 361, 56]
        and record.komi == 6.5
    )
    assert "The move costs 40.0%." in text and "Black wins 75.0%" in text
    assert (
        "The move costs nothing; it is worth 10.0% more than was thought." in text
        and "costs -" not in text
    )
    assert (folder / "a game.png").read_bytes().startswith(b"\x89PNG") and (
        folder / "a game.png"
    ).stat().st_size > 10_000
    assert len(json.loads((folder / "a game.json").read_text())["moves"]) == 5
    shown = capsys.readouterr().out
    assert "Ann - Bo" in shown and "Cost most: 3 B G3 (40%), 2 W C7 (15%)" in shown


@pytest.mark.usefixtures("known")
def test_the_sgf_has_sabakis_graph_labels_and_marks_of_bad_moves(tmp_path: Path) -> None:
    (tmp_path / "a game.sgf").write_text(SGF.replace("B[gg]", "B[gg]TE[1]CR[gg]LB[ai:A][bb:x]", 1))
    analyze_game.run(config(tmp_path))
    game = sgf.Sgf_game.from_bytes((tmp_path / "out" / "a game.analysis.sgf").read_bytes())
    nodes = list(game.get_main_sequence())
    assert [node.get_raw("SBKV") for node in nodes] == [
        f"{50 * (value + 1):.1f}".encode() for value in STANDINGS
    ]
    assert nodes[2].get("BM") == 1 and nodes[2].get("TR") == {(6, 2)}  # W[cc] cost 15%
    # what the author thought of the move stays
    assert nodes[3].get("TE") == 1 and not nodes[3].has_property("BM")
    assert not nodes[3].has_property("TR") and nodes[3].get("CR") == {(2, 6)}
    assert not any(
        node.has_property("BM") or node.has_property("DO")
        for node in (nodes[1], nodes[4], nodes[5])
    )
    # what was preferred to the next move
    assert [node.get("LB") for node in nodes[:3]] == [[((8, 0), "A")]] * 3
    assert sorted(nodes[3].get("LB")) == [((0, 0), "A"), ((7, 1), "x"), ((8, 0), "A")]
    assert nodes[2][2].get_raw("SBKV") == b"75.0" and nodes[2][2].get_move() == ("b", (8, 0))
    assert (
        nodes[-1]
        .get("C")
        .endswith("After this move: Black wins 55.0% (value net 57.5%, rollouts 52.5%).")
    )


@pytest.mark.usefixtures("known")
def test_a_part_that_costs_little_is_doubtful_and_what_costs_most_very_bad(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "STANDINGS", (0.0, -0.14, 0.4, 0.4, 0.4, 0.4))
        analyze_game.run(config(tmp_path))
    nodes = list(
        sgf.Sgf_game.from_bytes(
            (tmp_path / "out" / "a game.analysis.sgf").read_bytes()
        ).get_main_sequence()
    )
    assert nodes[1].has_property("DO") and nodes[2].get("BM") == 2


def test_the_score_and_the_points_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Black owns the whole board at first, and ever less of it; komi is 6.5."""

    class Scored(Known):
        def think(self, board: Board, *others: Any, **more: Any) -> Report:
            owner = np.full(81, 1 - 0.1 * board.ply, np.float32)
            return replace(super().think(board, *others, **more), owner=owner)

    monkeypatch.setattr(analyze_game.ThinkerMaker, "__call__", lambda self, size: Scored())
    found = analyze_game.run(config(tmp_path))
    scores = [row["score"] for row in (*found["moves"], found["end"])]
    assert scores == pytest.approx([81 * (1 - 0.1 * k) - 6.5 for k in range(6)])
    assert [row["points"] for row in found["moves"]] == pytest.approx(
        [8.1, -8.1, 8.1, -8.1, 8.1], abs=0.01
    )
    shown = capsys.readouterr().out
    assert (
        "B+74.5" in shown
        and "+8.1" in shown
        and "score: who leads" in shown
        and "No score" not in shown
    )
    assert found["scored_by"] == "rollouts" and "the mean of rollouts" in shown
    text = (tmp_path / "out" / "a game.analysis.sgf").read_text()
    assert (
        "The move costs 40.0% and 8.1 points." in text
        and "score B+74.5." in text
        and "W: " not in text
    )


def test_the_legend_says_that_a_net_names_the_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Scored(Known):
        def think(self, board: Board, *others: Any, **more: Any) -> Report:
            return replace(super().think(board, *others, **more), score=3.0)

    monkeypatch.setattr(analyze_game.ThinkerMaker, "__call__", lambda self, size: Scored())
    found = analyze_game.run(config(tmp_path))
    assert found["scored_by"] == "net" and {row["score"] for row in found["moves"]} == {3.0}
    legend = " ".join(found["legend"])
    assert "as the net says" in legend and "rollouts less komi" not in legend


@pytest.mark.usefixtures("known")
def test_the_table_explains_itself_and_ends_with_the_last_position(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = analyze_game.run(config(tmp_path))
    shown = capsys.readouterr().out
    assert (
        found["end"]["after"] == 5
        and found["end"]["value"] == pytest.approx(0.1)
        and found["end"]["best"] == "A9"
    )
    assert "After move 5: Black wins 55.0%" in shown and " end " in shown
    for said in ("B wins: Black's chance", "No score", "policy: how likely", "How far to trust it"):
        assert said in shown and any(said in line for line in found["legend"])
    header = next(line for line in shown.splitlines() if "preferred" in line)
    # no score
    assert (
        re.sub(r"\s+", " ", header).strip()
        == "move B wins net rollouts cost preferred policy B wins and then"
    )
    assert json.loads((tmp_path / "out" / "a game.json").read_text()) == json.loads(
        json.dumps(found)
    )


@pytest.mark.usefixtures("known")
def test_a_komi_that_is_not_known_is_not_shown_as_if_it_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a game.sgf").write_text(SGF.replace("KM[6.5]", ""))
    assert (
        "komi not known, 7.5 taken"
        in (analyze_game.run(config(tmp_path)), capsys.readouterr().out)[1]
    )
    assert (
        "komi 5.5" in (analyze_game.run(config(tmp_path, "komi=5.5")), capsys.readouterr().out)[1]
    )


@pytest.mark.usefixtures("known")
def test_what_its_author_wrote_beside_the_game_stays(tmp_path: Path) -> None:
    """The author's comments stand before ours, and variations beside ours.

    What was preferred to a costly move can be clicked through.
    """
    analyze_game.run(config(tmp_path))
    game = sgf.Sgf_game.from_bytes((tmp_path / "out" / "a game.analysis.sgf").read_bytes())
    nodes = list(game.get_main_sequence())
    assert nodes[1].get("C").startswith("good\n\nBefore this move: Black wins 50.0%")
    second, third = nodes[1], nodes[2]
    # played; the author's; ours
    assert [child.get_move() for child in third] == [("b", (2, 6)), ("b", (8, 0)), ("b", (8, 0))]
    assert third[2].get("C") == "Preferred to G3: Black wins 75.0% after it; 75.0% before it."
    assert third[2][0].get_move() == ("w", (0, 8))
    assert len(second) == 2 and second[1].get_move()[0] == "w"  # W[cc] cost 15 points
    assert len(nodes[4]) == 1  # what cost nothing has no variation


@pytest.mark.usefixtures("known")
def test_a_record_no_strict_reader_can_follow_is_written_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here a second game is glued to the first, and a bracket is missing."""
    (tmp_path / "a game.sgf").write_text(SGF[:-1].replace("(;B[aa])", ""))
    analyze_game.run(config(tmp_path))
    text = (tmp_path / "out" / "a game.analysis.sgf").read_bytes()
    record = read_games(text, source="x", options=ReadOptions(size=9))[0]
    assert isinstance(record, GameRecord) and record.moves.tolist() == [40, 20, 60, 361, 56]
    assert (
        b"Preferred to G3: Black wins 75.0%" in text and "written anew" in capsys.readouterr().out
    )


@pytest.mark.usefixtures("known")
def test_a_costly_move_in_the_first_node_has_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a game.sgf").write_text("(;GM[1]SZ[9]KM[6.5]B[ee];W[cc];B[gg])")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "STANDINGS", (0.9, -0.9, 0.9, 0.9))
        assert analyze_game.run(config(tmp_path))["moves"][0]["loss"] == pytest.approx(1.8)
    assert "The move costs 90.0%." in (tmp_path / "out" / "a game.analysis.sgf").read_text()


@pytest.mark.usefixtures("known")
def test_passes_that_end_the_game_cost_nothing_and_tell_the_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walls = "".join(f";B[d{row}];W[e{row}]" for row in "abcdefghi")
    (tmp_path / "a game.sgf").write_text(f"(;GM[1]SZ[9]KM[6.5]RE[W+15.5]{walls};B[];W[])")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "STANDINGS", (0.9, -0.9) * 10)
        rows = analyze_game.run(config(tmp_path, "first=15"))["moves"]
    assert [row["move"] for row in rows[-2:]] == ["pass", "pass"] and rows[-3]["loss"] is not None
    for row in rows[-2:]:
        assert (row["counted"], row["value"], row["loss"], row["best"]) == (
            "W+15.5",
            -1.0,
            None,
            "pass",
        )
    assert "pass (" not in capsys.readouterr().out
    text = (tmp_path / "out" / "a game.analysis.sgf").read_text()
    assert text.count("The game is over: W+15.5 with dead stones taken off.") == 2


@pytest.mark.usefixtures("known")
def test_handicap_stones_are_paid_for_where_area_is_counted(tmp_path: Path) -> None:
    """Without them, a finished game would get another result than its players counted.

    Here there are 26 points of territory and 36.
    """
    walls = "".join(f";W[e{row}];B[d{row}]" for row in "abcdefgh") + ";W[ei]"
    for rules, result in (("Japanese", "W+10.5"), ("Chinese", "W+11.5"), ("NZ", "W+9.5")):
        (tmp_path / "a game.sgf").write_text(
            f"(;GM[1]SZ[9]HA[2]KM[0.5]RU[{rules}]AB[di][ci]{walls};B[];W[])"
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(globals(), "STANDINGS", (0.9, -0.9) * 10)
            assert analyze_game.run(config(tmp_path, "first=18"))["moves"][-1]["counted"] == result


def test_a_value_net_that_plays_no_part_has_no_column(tmp_path: Path) -> None:
    """The ends of games count as its answers in the tree, but they are not its own."""
    for how in (["search=rollouts_only"], ["search.lam=1"], ["search=uct"]):
        rows = analyze_game.run(config(tmp_path, *how, "simulations=60", "first=4"))["moves"]
        assert all(row["net"] is None and row["rollouts"] is not None for row in rows), how


@pytest.mark.usefixtures("known")
def test_what_can_not_be_written_is_told_before_any_thinking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Known, "think", lambda *_, **__: pytest.fail("it thought"))
    (tmp_path / "file").touch()
    for output, wrong in ((f"output={tmp_path / 'file'}", OSError), ("output=null", ValueError)):
        with pytest.raises(wrong):
            analyze_game.run(config(tmp_path, output))


@pytest.mark.usefixtures("known")
def test_a_part_of_a_game(tmp_path: Path) -> None:
    rows = analyze_game.run(config(tmp_path, "first=2", "last=3"))["moves"]
    assert [row["number"] for row in rows] == [2, 3] and [
        row["loss"] for row in rows
    ] == pytest.approx([0.3, 0.8])
    with pytest.raises(GameError, match="5 moves"):
        analyze_game.run(config(tmp_path, "first=9"))


def test_the_policys_surprise(tmp_path: Path) -> None:
    net, _ = tiny_net(POLICY)
    checkpoint = write_checkpoint(tmp_path / "tiny.ckpt", net, POLICY)
    rows = analyze_game.run(config(tmp_path, "search=policy_only", f"policy={checkpoint}"))["moves"]
    assert all(row["value"] is None and row["loss"] is None for row in rows)
    assert [row["rank"] is None for row in rows] == [False, False, False, True, False]
    for row in rows:
        if row["rank"] is not None:
            assert (
                0 < row["prior"] < 1
                and 1 <= row["rank"] <= 81
                and row["surprise"] == pytest.approx(-np.log2(row["prior"]))
            )
    assert (tmp_path / "out" / "a game.png").exists()


def test_games_that_cannot_be_analysed(tmp_path: Path) -> None:
    for text, reason in (
        ("nothing", "not SGF: "),
        ("(;SZ[9];B[ee];W[ee])", "move 2"),
        ("(;SZ[25];B[ee])", "other size: 25x25"),
    ):
        (tmp_path / "a game.sgf").write_text(text)
        with pytest.raises(GameError, match=reason):
            analyze_game.run(config(tmp_path, "search=policy_only"))
    with pytest.raises(GameError, match="there is no such file"):
        analyze_game.run(config(tmp_path, "search=policy_only", "game=missing.sgf"))
    with pytest.raises(ValueError, match="never end"):
        analyze_game.run(config(tmp_path, "simulations=null"))


@pytest.mark.usefixtures("known")
def test_an_illegal_move_is_told_before_any_thinking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Known, "think", lambda *_, **__: pytest.fail("it thought"))
    (tmp_path / "a game.sgf").write_text("(;SZ[9];B[ee];W[cc];B[gg];W[ee])")
    with pytest.raises(GameError, match=r"move 4: .*; last=3 analyses the moves before it"):
        analyze_game.run(config(tmp_path))
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("known")
def test_moves_before_an_illegal_one_can_be_analysed(tmp_path: Path) -> None:
    (tmp_path / "a game.sgf").write_text("(;SZ[9];B[ee];W[cc];B[gg];W[ee])")
    assert len(analyze_game.run(config(tmp_path, "last=3"))["moves"]) == 3


@pytest.mark.usefixtures("known")
def test_a_game_without_moves_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "a game.sgf").write_text("(;SZ[9]AB[ee])")
    with pytest.raises(GameError, match="the game has no moves"):
        analyze_game.run(config(tmp_path))


@pytest.mark.usefixtures("known")
def test_what_an_editor_put_on_the_board_is_no_cost_of_the_move_before_it(tmp_path: Path) -> None:
    (tmp_path / "a game.sgf").write_text("(;SZ[9];B[ee];W[cc];AB[gg][gf]AE[cc];B[dd];W[ff])")
    found = [row["loss"] for row in analyze_game.run(config(tmp_path))["moves"]]
    assert found[1] is None and None not in (found[0], found[2], found[3])


@pytest.mark.usefixtures("known")
def test_names_that_no_font_writes_are_colours_in_the_chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fonts, "WIDE", ())
    fonts.families.cache_clear()
    fonts.characters.cache_clear()
    (tmp_path / "a game.sgf").write_text(SGF.replace("Ann", "日本"), encoding="utf-8")
    analyze_game.run(config(tmp_path))
    shown = capfd.readouterr()
    assert "no font of this machine writes 日本" in shown.out and "Glyph" not in shown.err
    assert "日本" in (tmp_path / "out" / "a game.analysis.sgf").read_text(encoding="utf-8")
    fonts.families.cache_clear()
    fonts.characters.cache_clear()


def test_a_font_that_was_installed_since_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matplotlib keeps its list of fonts from an earlier run; the font is missing there."""
    from matplotlib import font_manager

    for known in (fonts.families, fonts.characters, fonts.look_for_new):
        known.cache_clear()
    missing = [entry for entry in font_manager.fontManager.ttflist if entry.name == "DejaVu Serif"]
    files = sorted({entry.fname for entry in missing})
    others = [entry for entry in font_manager.fontManager.ttflist if entry.name != "DejaVu Serif"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", others)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [*files, "/no/such.ttf"])
    monkeypatch.setattr(fonts, "WIDE", ("DejaVu Serif",))
    assert "DejaVu Serif" not in fonts.families()
    # a character that nobody has
    assert not fonts.is_drawable("\U0010fffd") and "DejaVu Serif" in fonts.families()
    for known in (fonts.families, fonts.characters, fonts.look_for_new):
        known.cache_clear()


@pytest.mark.usefixtures("known")
def test_who_stops_it_gets_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    think = Known.think

    def stopped(self: Known, board: Board, *others: Any, **more: Any) -> Report:
        if board.ply == 3:
            raise KeyboardInterrupt
        return think(self, board, *others, **more)

    monkeypatch.setattr(Known, "think", stopped)
    with pytest.raises(KeyboardInterrupt):
        analyze_game.run(config(tmp_path))
    found = json.loads((tmp_path / "out" / "a game.json").read_text())
    assert [row["number"] for row in found["moves"]] == [1, 2, 3] and found["moves"][2][
        "loss"
    ] is None


def test_handicap_and_set_up_are_played_over(tmp_path: Path) -> None:
    (tmp_path / "a game.sgf").write_text("(;SZ[9]HA[2]AB[cc][gg];W[ee];B[ce];AE[cc];W[gc])")
    rows = analyze_game.run(config(tmp_path, "search=policy_only"))["moves"]
    assert [row["colour"] for row in rows] == list("WBW")
    assert {BLACK, WHITE} == {1, -1}


def test_the_script_judges_a_game_and_says_in_one_line_what_is_none(tmp_path: Path) -> None:
    """Rollouts alone: scores, points lost and a last row, in the table and in all files."""
    game, none = tmp_path / "it's 囲碁 (1).sgf", tmp_path / "none.sgf"
    game.write_text(SGF.replace("KM[6.5]", ""), encoding="utf-8")
    none.write_bytes(b"")
    how = (
        "search=uct",
        "policy=none",
        "value=none",
        "seconds=null",
        "simulations=200",
        "threads=1",
        f"output={tmp_path}",
    )
    done = run_watched(script("analyze_game", str(game), *how), seconds=120)
    assert done.kind == "well", done
    for said in (
        "komi not known, 7.5 taken",
        " score ",
        " points ",
        " end ",
        "After move 5: Black wins",
        "How far to trust it",
    ):
        assert said in done.out, (said, done.out)
    found = json.loads(game.with_suffix(".json").read_text(encoding="utf-8"))
    assert (
        all(row["score"] is not None for row in (*found["moves"], found["end"]))
        and not found["komi_known"]
    )
    text = game.with_name(f"{game.stem}.analysis.sgf").read_text(encoding="utf-8")
    assert text.count("SBKV[") >= 6 and "LB[" in text and "; score " in text
    assert game.with_suffix(".png").stat().st_size > 10_000
    refused = run_watched(script("analyze_game", str(none), *how), seconds=120)
    assert refused.kind == "refused" and refused.err.strip().lower().endswith(
        "none.sgf: not sgf: the file is empty"
    ), refused


def test_a_bare_word_is_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a=b.sgf").touch()

    def named(word: str) -> str:
        return first_word_is("game")([word])[0]

    assert named("game.sgf") == "game='game.sgf'" and named("a=b.sgf") == "game='a=b.sgf'"
    assert named("seconds=3") == "seconds=3" and named("--help") == "--help"
    assert named("it's (1).sgf") == "game='it\\'s (1).sgf'"
    with initialize_config_dir(str(CONF), version_base="1.3"):
        assert (
            compose("analyze_game", [named("it's ${oc.env:HOME}.sgf")]).game
            == "it's ${oc.env:HOME}.sgf"
        )


def test_two_games_at_once_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["analyze_game.py", "a.sgf", "seconds=1", "b.sgf"])
    with pytest.raises(SystemExit) as stop:
        analyze_game.main()
    assert (
        stop.value.code == 2
        and capsys.readouterr().err == "analyze_game: a.sgf b.sgf: one game at a time\n"
    )


# --- one move as a picture


@pytest.mark.usefixtures("known")
def test_board_adds_a_picture_and_leaves_the_figures_as_they_are(tmp_path: Path) -> None:
    without = analyze_game.run(config(tmp_path, f"output={tmp_path / 'without'}"))
    assert analyze_game.run(config(tmp_path, "board=worst")) == without
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names - {path.name for path in (tmp_path / "without").iterdir()} == {"a game.board.png"}
    assert (tmp_path / "out" / "a game.board.png").read_bytes().startswith(b"\x89PNG")


def test_the_board_is_that_before_the_move_and_shares_add_up(tmp_path: Path) -> None:
    config(tmp_path)
    record = read_game(tmp_path / "a game.sgf")
    rows = [
        {"number": n, "move": "A1", "loss": loss} for n, loss in ((2, 0.3), (3, 0.8), (4, None))
    ]
    candidates = [
        Candidate(move, visits, 0.1, 0.0, math.nan, math.nan, (move,))
        for move, visits in ((40, 6), (10, 2))
    ]
    analysis = Analysis(rows, [tuple(candidates)] * 2 + [()])
    worst = moment_of(record, 6.5, analysis, "worst")
    assert worst is not None and worst.row["number"] == 3 and worst.last == from_gtp("C7", 9)
    assert worst.colours.sum() == 0 and np.count_nonzero(worst.colours) == 2
    assert worst.shares() == [0.75, 0.25]
    assert [letter for letter, *_ in worst.lettered()] == ["A", "B"]
    assert moment_of(record, 6.5, analysis, 2).row["number"] == 2  # type: ignore[union-attr]
    assert (
        moment_of(record, 6.5, analysis, 4) is None and moment_of(record, 6.5, analysis, 5) is None
    )


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["board=best"], "board=best"),
        (["board=2", "first=3"], "not among the moves that are analysed"),
        (["board=4", "last=3"], "not among the moves that are analysed"),
        (["board=6"], "the game has 5 moves"),
    ],
)
def test_a_board_that_cannot_be_drawn_is_refused_before_thinking(
    tmp_path: Path, given: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        analyze_game.run(config(tmp_path, *given))
