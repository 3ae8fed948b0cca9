"""What a controller, a clock, a net or the system can do to the engine.

Fuzzed lines, broken nets, closed and full outputs, all drawn from seeds. The fast set does a small
part; `-m slow` does the rest.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from data.features.evaluation import Evaluation, Evaluator, Positions
from data.game.board import Board
from data.game.coords import BLACK, WHITE, from_gtp, to_gtp
from mcts.play.clock import TimeRules
from mcts.play.manners import Manners
from mcts.play.player import Player
from mcts.play.thinkers.policy import PolicyThinker
from mcts.search.ask import ask
from mcts.search.fakes import (
    Broken,
    Bursts,
    FakeNet,
    FakePolicy,
    FakeValue,
    Late,
    Silent,
    Uneven,
    Wrapped,
)
from mcts.search.params import SearchParams
from mcts.search.search import Search
from tests.support.boards import scaled
from tests.support.damage import Outcome, run_watched, script
from tests.support.gtp_talk import ANSWER, Talk, fuzzed_lines

# --- a million lines

STEP = 500  # lines after which the board is looked at as a whole


def damaged_lines(count: int, seed: int) -> Iterator[str]:
    """Fuzzed lines, one in ten cut, doubled, or with characters exchanged."""
    random = np.random.default_rng([seed, 1])
    for line in fuzzed_lines(count, seed):
        kind = random.integers(30)
        at = int(random.integers(len(line) + 1))
        yield {
            0: line[:at],
            1: f"{line} {line}",
            2: line[:at] + chr(random.integers(1, 0x3000)) + line[at + 1 :],
        }.get(kind, line)


def ask_all(lines: Iterator[str], talk: Talk) -> None:
    for number, line in enumerate(lines):
        before = talk.player.board.copy() if "genmove" in line else None
        answer = talk.raw(line)
        if answer:
            words = line.split()
            streamed = answer.startswith(tuple(f"={n}\n" for n in ("", *words[:1])))
            assert ANSWER.fullmatch(answer) or (streamed and answer.endswith("\n\n")), (
                line,
                answer,
            )
            assert (
                answer.count("\n\n") == 1
                and "Traceback" not in answer
                and "internal error" not in answer
            ), (line, answer)
        after = talk.player.board
        if (
            before
            and "reg" not in line
            and answer.startswith("=")
            and len(after.moves) > len(before.moves)
        ):
            move, colour = after.moves[-1]
            assert before.is_legal(move, colour), (line, answer)
        if number % STEP == 0:
            after.check()
    talk.player.board.check()
    assert not any("Traceback" in text or "the thinker failed" in text for text in talk.said)


def attack_with_lines(count: int, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    thinker = (
        PolicyThinker(FakeNet({0: 0.3}, lambda own, other: 0.0), seed=seed) if seed % 2 else None
    )
    ask_all(damaged_lines(count, seed), Talk(thinker=thinker, agreed=seed % 3 != 0))
    assert not list(folder.iterdir())


@pytest.mark.parametrize("seed", range(4))
def test_5000_fuzzed_lines(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attack_with_lines(scaled(5000, 50), seed, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_20_000_of_a_million_fuzzed_lines(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack_with_lines(20_000, seed, tmp_path, monkeypatch)


# --- nets that misbehave, behind the whole engine


class Nonsense(Wrapped):
    """Answers what is no number, infinite, or of another shape, after some good answers."""

    def __init__(self, net: Evaluator, how: str, after: int = 0):
        super().__init__(net)
        self.how, self.after = how, after

    def evaluate(self, positions: Positions) -> Evaluation:
        answers = super().evaluate(positions)
        if self.calls <= self.after:
            return answers
        return Evaluation(
            policy=None if answers.policy is None else self.spoil(answers.policy),
            value=None if answers.value is None else self.spoil(answers.value),
        )

    def spoil(self, answers: np.ndarray) -> np.ndarray:
        if self.how == "shape":
            return answers[..., :-1] if answers.ndim > 1 else answers[:, None]
        return np.full_like(answers, {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[self.how])


BAD: dict[str, Callable[[Evaluator], Evaluator]] = {
    **{f"{how}{after or ''}": lambda net, how=how, after=after: Nonsense(net, how, after)  # type: ignore[misc]
       for how in ("nan", "inf", "-inf", "shape") for after in (0, 3)},
    **{f"broken{after or ''}": lambda net, after=after: Broken(net, after) for after in (0, 3)},  # type: ignore[misc]
    **{f"silent{after or ''}": lambda net, after=after: Silent(net, after) for after in (0, 3)},  # type: ignore[misc]
    "late": lambda net: Late(net, 0.03),
    "uneven": lambda net: Uneven(net, 1),
    "bursts": lambda net: Bursts(net, 5, 0.1),
}  # fmt: skip
SAID = (
    "no number",
    "not finite",
    "no value",
    "instead of",
    "killed",
    "no answer",
    "still has not answered",
)


def play_against(kind: str, which: str, lam: float) -> None:
    """Play six moves: two with time, two in time trouble, two with a clock that has run out."""
    policy, value = (
        FakePolicy({12: 0.5}),
        FakeValue(lambda own, other: float(own.sum() - other.sum()) / 25),
    )
    bad = BAD[kind](policy if which == "policy" else value)
    nets = {"policy": policy, "value": value} | {which: bad}
    search = Search(SearchParams(threads=1, nodes=2000, lam=lam, patience=0.3, leaves=8), **nets)  # type: ignore[arg-type]
    said: list[str] = []
    player = Player(lambda size: search, Manners(seconds=0.15), size=5, log=said.append)
    for turn, left in enumerate((None, None, 0.1, 0.02, 0.0, 0.0)):
        colour = (BLACK, WHITE)[turn % 2]
        if left is not None:
            player.set_time(TimeRules("absolute", 10.0))
            player.sides[colour].clock.main = left
        before = player.board.copy()
        choice = player.genmove(colour)
        assert before.is_legal(choice.move, colour) and choice.seconds < 1.5, (kind, turn, choice)
        assert "failed" not in choice.why, choice
    asked = lam < 1 or which == "policy"
    if asked and kind.startswith(("nan", "inf", "shape", "broken")):
        assert any(word in text for text in said for word in SAID), (kind, said)
    if isinstance(bad, Silent):
        bad.release.set()
    player.close()


@pytest.mark.clock
@pytest.mark.parametrize(
    ("kind", "which"), [("nan3", "policy"), ("shape", "value"), ("silent", "policy")]
)
def test_a_broken_net_costs_neither_the_time_nor_a_legal_move(kind: str, which: str) -> None:
    play_against(kind, which, 0.5)


@pytest.mark.slow
@pytest.mark.clock
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("which", ["policy", "value"])
@pytest.mark.parametrize("kind", list(BAD))
def test_any_broken_net_costs_neither_the_time_nor_a_legal_move(
    kind: str, which: str, lam: float
) -> None:
    play_against(kind, which, lam)


# --- the script

FAST = ("search=policy_only", "policy=none", "value=none", "boardsize=5")
CLOSED = {
    "standard input closed": ("<&-", "standard input is closed"),
    "standard output closed": (">&-", "standard output is closed"),
    "standard output full": (">/dev/full", "No space left on device"),
    "output full in an analysis": (">/dev/full", "No space left on device"),
}


@pytest.mark.skipif(os.name != "posix", reason="a shell closes what it hands on")
def test_closed_and_full_outputs_are_one_line() -> None:
    def attack(case: str) -> Outcome:
        lines = "lz-analyze 5\n" if "analysis" in case else "name\nversion\n"
        shell = f"(printf '{lines}'; sleep 3) | exec \"$@\" {CLOSED[case][0]}"
        if "input" in case:
            shell = f'exec "$@" {CLOSED[case][0]}'
        return run_watched(["sh", "-c", shell, "sh", *script("play_gtp", *FAST)], seconds=60)

    with ThreadPoolExecutor(2) as pool:
        for case, outcome in zip(CLOSED, pool.map(attack, CLOSED), strict=True):
            lines = [
                line
                for line in outcome.err.splitlines()
                if not line.startswith(("there is no policy net", "ready:"))
            ]
            assert outcome.code == 2 and outcome.kind not in ("traceback", "crash", "hang"), (
                case,
                outcome,
            )
            assert len(lines) == 1 and CLOSED[case][1] in lines[0], (case, outcome)


OPENING = ["B", "Q16", "W", "D4", "B", "Q3", "W", "D16"]


def test_with_no_time_left_the_engine_plays_what_the_policy_net_plays() -> None:
    """On 19x19, with the search and nets that are used when nothing is said.

    A clock that says 0 may mean 0.9 s.
    """
    from models.answering.open import open_net
    from pipelines.engine.net_files import PRETRAINED

    plays = "".join(
        f"play {colour} {move}\n" for colour, move in zip(OPENING[::2], OPENING[1::2], strict=True)
    )
    turns = "".join(f"time_left {colour} 0 0\ngenmove {colour}\n" for colour in "bwbwb")
    command = script("play_gtp", "threads=1")
    talked = subprocess.run(
        command,
        input=f"time_settings 60 0 0\n{plays}{turns}quit\n",
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    moves = re.findall(r"^= ([A-T]\d+)$", talked.stdout, re.MULTILINE)
    assert len(moves) == 5, talked
    net = open_net(PRETRAINED / "policy.json")
    board = Board(19)
    for colour, move in zip(OPENING[::2], OPENING[1::2], strict=True):
        board.play(from_gtp(move, 19), BLACK if colour == "B" else WHITE)
    for move in moves:
        policy = ask(net, board).policy
        assert policy is not None
        best = [to_gtp(int(point), 19) for point in np.argsort(-policy[0, :-1])[:5]]
        assert move in best, (move, best)
        board.play(from_gtp(move, 19))
    assert talked.stderr.count("time is short") == 5
