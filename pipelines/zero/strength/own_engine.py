"""`OwnEngine`: a player in this process that answers GTP, as the referee of matches asks for it."""

import io

from data.base import interrupts
from mcts.gtp.engine import Engine
from mcts.play.player import Player
from pipelines.matches.fixtures import MatchError
from pipelines.matches.gtp_client import SHORT, Refused


class OwnEngine:
    """Like a `GtpEngine`, without a process. It never answers too late."""

    def __init__(self, name: str, player: Player):
        """`player` must not have a `log` of its own: what it says there is read here."""
        self.name = name
        self.player = player
        self.player.log = self.hear
        self.written = io.BytesIO()
        self.engine = Engine(lambda: player, self.written, name=name)
        self.failures: list[str] = []

    def hear(self, text: str) -> None:
        # a player in a match goes on with a random move or without its net; a measurement may not
        if text.startswith(("the thinker failed", "thinking went on without")):
            self.failures.append(text)

    def ask(self, command: str, timeout: float = SHORT) -> str:
        """Return the answer. Raises `Refused`, and `NetFailed` if the search had to do without."""
        interrupts.check()  # a game takes longer than anybody waits who presses Ctrl-C
        self.written.seek(0)
        self.written.truncate()
        self.engine.answer(command)
        if self.failures:
            raise NetFailed(f"{self.name}: {self.failures[0]}")
        answer = self.written.getvalue().decode()
        if answer.startswith("?"):
            raise Refused(f"{self.name} answers {command!r} with: {answer[1:].strip()}")
        return answer[1:].strip()

    def close(self) -> None:
        self.player.close()


class NetFailed(MatchError):
    """A player of a match can't think; the match would measure something else."""
