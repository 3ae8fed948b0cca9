"""An engine without a process, and thinkers for it.

`Talk` asks a line and looks at the form of the answer. `serve` puts an engine behind two pipes.
`fuzzed_lines` is what to ask.
"""

import io
import os
import re
import threading
import time
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from data.game.board import Board
from data.game.coords import PASS
from mcts.gtp.engine import Engine
from mcts.gtp.session import COMMANDS
from mcts.play.manners import Manners
from mcts.play.player import Player
from mcts.play.thinkers.random import RandomThinker
from mcts.search.fakes import FakePolicy
from mcts.search.params import SearchParams
from mcts.search.protocols import Candidate, HasNothing, Limits, Report, Thinker, Watch
from mcts.search.search import Search

NAN = float("nan")
# An answer as GTP wants it: the sign, the id, then lines that are not empty and hold no control
# characters, then an empty one.
ANSWER = re.compile(
    r"[=?]\d* ?(?:[^\n\x00-\x09\x0b-\x1f\x7f]*\n)(?:[^\n\x00-\x09\x0b-\x1f\x7f]+\n)*\n"
)


class Talk:
    """An engine whose answers are looked at one by one."""

    def __init__(self, size: int = 5, thinker: Thinker | None = None, **manners: object):
        self.out = io.BytesIO()
        self.said: list[str] = []
        thinker = thinker or RandomThinker(seed=1)
        self.player = Player(
            lambda size: thinker, Manners(**manners), size=size, log=self.said.append
        )  # type: ignore[arg-type]
        self.engine = Engine(lambda: self.player, self.out, version="1.2", log=self.said.append)

    def raw(self, line: str) -> str:
        self.out.seek(0)
        self.out.truncate()
        self.engine.answer(line)
        return self.out.getvalue().decode()

    def ask(self, line: str) -> str:
        """The text of an answer that must be a success."""
        answer = self.raw(line)
        assert ANSWER.fullmatch(answer) and answer.startswith("="), answer
        return answer[1:].strip()

    def refuse(self, line: str) -> str:
        answer = self.raw(line)
        assert ANSWER.fullmatch(answer) and answer.startswith("?") and answer.count("\n") == 2, (
            answer
        )
        return answer[1:].strip()


class Thinking(HasNothing):
    """Reports every so often until it is stopped."""

    name = "thinking"

    def __init__(self) -> None:
        self.stopped = False

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        began, count = time.monotonic(), 0
        while limits.seconds is None or time.monotonic() - began < min(limits.seconds, 0.3):
            count += 1
            report = self.report(count)
            if watch is not None:
                watch(report)
            if limits.stop.wait(max(every, 0.01)):
                self.stopped = True
                break
        return self.report(count)

    def at_once(self, board: Board, seconds: float) -> Report:
        return self.report(1)

    def report(self, count: int) -> Report:
        first = Candidate(12, 10 * count, 0.4, 0.2, 0.1, 0.3, (12, 13, PASS))
        second = Candidate(PASS, 1, 0.01, -0.5, NAN, NAN, (PASS,))
        return Report(
            (first, second), 0.15, 10 * count + 1, 0.1, np.linspace(-1, 1, 25, dtype=np.float32)
        )

    def forget(self) -> None: ...
    def close(self) -> None: ...


class Searching(Talk):
    """With a search on 5x5 that wants the middle."""

    def __init__(self, **manners: object):
        super().__init__(**{"seconds": None, "simulations": 300, **manners})
        params = SearchParams(threads=1, deterministic=True, nodes=2000, n_thr=4, lam=1.0)
        self.search = Search(params, policy=FakePolicy({12: 0.95}))
        self.player = Player(
            lambda size: self.search, self.player.manners, size=5, log=self.said.append
        )
        self.engine.make_player = lambda: self.player


def serve(thinker: object, size: int = 5) -> tuple[BinaryIO, BinaryIO, threading.Thread]:
    """An engine at the other end of two pipes."""
    there, our_out = os.pipe()
    our_in, back = os.pipe()
    player = Player(lambda size: thinker, Manners(seconds=0.2), size=size)  # type: ignore[arg-type, return-value]
    engine = Engine(lambda: player, os.fdopen(back, "wb"))
    thread = threading.Thread(target=engine.serve, args=(os.fdopen(there, "rb"),), daemon=True)
    thread.start()
    return os.fdopen(our_out, "wb", buffering=0), os.fdopen(our_in, "rb"), thread


def until_blank(source: BinaryIO) -> list[str]:
    lines = []
    while (line := source.readline().decode()) not in ("\n", ""):
        lines.append(line.rstrip("\n"))
    return lines


TEXT = """b w black WHITE pass resign A1 c3 T19 I5 Z99 0 1 2 5 9 19 -1 1.5 1e9 nan 99999999999999999999 true dead alive seki
    interval avoid allow maxmoves ownership # = ? ' %s {} ../x none absolute byoyomi canadian ü 💥"""
WORDS = [*TEXT.split(), "\x00", "\x1b[2J", "\u2028", "x" * 300]


def fuzzed_lines(count: int, seed: int) -> Iterator[str]:
    """Mostly commands with wild arguments, some moves that make games, some noise."""
    random = np.random.default_rng(seed)
    names = [name for name in COMMANDS if name not in ("quit", "printsgf")]
    for _ in range(count):
        kind = random.random()
        if kind < 0.3:
            letter = "bw"[random.integers(2)]
            point = f"{'ABCDE'[random.integers(5)]}{random.integers(1, 6)}"
            yield [
                "genmove " + letter,
                f"play {letter} {point}",
                "undo",
                f"play {letter} pass",
                "kgs-genmove_cleanup " + letter,
            ][random.choice(5, p=[0.45, 0.35, 0.1, 0.05, 0.05])]
        elif kind < 0.32:
            yield f"boardsize {random.integers(2, 7)}"
        elif kind < 0.9:
            words = [WORDS[k] for k in random.integers(len(WORDS), size=random.integers(0, 4))]
            number = f"{random.integers(10**6)} " if random.random() < 0.3 else ""
            yield f"{number}{names[random.integers(len(names))]} {' '.join(words)}"
        else:
            yield (
                bytes(random.integers(0, 256, random.integers(0, 40), np.uint8))
                .decode("utf-8", "replace")
                .replace("\n", " ")
            )
