"""An engine without a process: `Talk` asks a line and looks at the form of the answer;
`fuzzed_lines` is what to ask.
"""

import io
import re
from collections.abc import Iterator

import numpy as np

from mcts.gtp.engine import Engine
from mcts.gtp.session import COMMANDS
from mcts.play.manners import Manners
from mcts.play.player import Player
from mcts.play.thinkers.random import RandomThinker
from mcts.search.protocols import Thinker

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
