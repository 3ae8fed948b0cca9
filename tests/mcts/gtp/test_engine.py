"""The GTP engine: the form of every answer, and that nothing a controller sends ends it."""

import io
import re
from pathlib import Path
from typing import Any

import pytest

from mcts.gtp.engine import CONTROL, Engine
from mcts.gtp.session import COMMANDS
from mcts.play.manners import RESIGN, Manners
from mcts.play.player import Choice, Player
from mcts.search.fakes import FakePolicy, FakeValue
from mcts.search.params import SearchParams
from mcts.search.search import Search
from tests.support.boards import scaled
from tests.support.gtp_talk import Talk, Thinking, fuzzed_lines, serve

NAN = float("nan")


WANTED = """
    protocol_version name version known_command list_commands quit boardsize clear_board komi get_komi play undo genmove
    reg_genmove showboard fixed_handicap place_free_handicap set_free_handicap loadsgf printsgf time_settings time_left
    kgs-time_settings kata-time_settings kgs-genmove_cleanup kgs-rules kgs-chat kata-get-rules kata-set-rules kata-set-rule
    kata-raw-nn kata-list-params kata-get-param analyze genmove_analyze kata-search_analyze final_score final_status_list
    lz-analyze lz-genmove_analyze kata-analyze kata-genmove_analyze cgos-genmove_analyze gogui-analyze_commands clear_cache
    set_position kata-list_time_settings
"""


def test_the_exact_form_of_answers(talk: Talk) -> None:
    assert talk.raw("name\n") == "= LambdaGo\n\n"
    assert talk.raw("12 protocol_version\n") == "=12 2\n\n"
    assert talk.raw("komi 6.5") == "= \n\n"
    assert talk.raw("7 komi 5.5") == "=7 \n\n"
    assert talk.raw("nonsense") == "? unknown command\n\n"
    assert talk.raw("007 nonsense with words") == "?007 unknown command\n\n"


def test_comments_white_space_and_control_characters(talk: Talk) -> None:
    for silent in ("", "\n", "   \t ", "# only a comment", "\x07\x00\r\n"):
        assert talk.raw(silent) == ""
    for line in ("name # who are you", "\tname\t\r\n", "na\x00me\x7f", "  1   name  ", "1\tname#x"):
        assert talk.raw(line).endswith("LambdaGo\n\n")
    assert talk.raw("42") == "?42 unknown command\n\n"


def test_all_commands_are_there_and_known(talk: Talk) -> None:
    assert set(WANTED.split()) <= set(talk.ask("list_commands").splitlines())
    assert talk.ask("known_command lz-analyze") == "true"
    assert talk.ask("known_command lz-analyse") == "false" and talk.ask("known_command") == "false"
    overlays = [line.split("/") for line in talk.ask("gogui-analyze_commands").splitlines()]
    assert all(len(parts) == 3 and parts[2] in COMMANDS for parts in overlays)


def test_an_internal_error_is_one_line_and_a_traceback_elsewhere(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(engine: Engine, arguments: list[str]) -> str:
        raise KeyError("a\nb")

    monkeypatch.setitem(COMMANDS, "fails", fails)
    assert "internal error" in talk.refuse("3 fails")
    assert any("Traceback" in text for text in talk.said)
    talk.ask("name")


def test_a_controller_that_is_gone_ends_the_engine() -> None:
    sink, source, thread = serve(Thinking())
    source.close()
    sink.write(b"name\nname\n")
    thread.join(5)
    assert not thread.is_alive()


class Honest(Player):
    """Looks at each of its own moves again, on the board as it was before."""

    def genmove(self, colour: int, *arguments: Any, **options: Any) -> Choice:
        before = self.board.copy()
        choice = super().genmove(colour, *arguments, **options)
        assert choice.move == RESIGN or before.is_legal(choice.move, colour), (
            f"an illegal move {choice.move}"
        )
        return choice


def fuzz_a_search(count: int, seed: int) -> None:
    """Send lines through `Engine.serve` to searches that may ponder: each gets one answer."""
    params = SearchParams(threads=1, nodes=300, n_thr=2, leaves=4, seed=seed)
    said: list[str] = []
    thinkers = lambda size: Search(params, policy=FakePolicy(), value=FakeValue())  # noqa: E731
    player = Honest(
        thinkers, Manners(seconds=0.5, simulations=8, ponder=seed % 2 == 0), size=5, log=said.append
    )
    out = io.BytesIO()
    lines = list(fuzzed_lines(count, seed))
    Engine(lambda: player, out, log=said.append).serve(
        io.BytesIO("\n".join(lines).encode("utf-8", "replace"))
    )
    player.close()
    answers = out.getvalue().decode()
    assert answers.endswith("\n\n") and "\n\n\n" not in answers
    asked = [words for line in lines if (words := line.translate(CONTROL).split("#", 1)[0].split())]
    found = answers.removesuffix("\n\n").split("\n\n")
    assert len(found) == len(asked)
    for words, answer in zip(asked, found, strict=True):
        number = words[0] if words[0].isascii() and words[0].isdigit() else ""
        assert re.match(rf"[=?]{number}( |\n|$)", answer) and "internal error" not in answer, (
            words,
            answer,
        )
    assert not [
        text
        for text in said
        if "Traceback" in text or "failed" in text or "went on without" in text
    ]
    player.board.check()


@pytest.mark.parametrize("seed", range(2))
def test_fuzzed_lines_and_a_search(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz_a_search(scaled(400, 20), seed)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 14))
def test_10_000_fuzzed_lines_and_a_search(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz_a_search(2500, seed)
    assert not list(tmp_path.iterdir())
