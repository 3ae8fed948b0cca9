r"""GTP 2, for GUIs and servers: each line that comes in gets one answer.

`Engine.serve` is where to begin.

    =[id] text\n\n      done                     ?[id] message\n\n      not done, and why

- A thread of its own reads lines, so that an analysis ends when the next line comes.
- Another thread makes the player. The first questions of a GUI (name, version, list_commands) are
  answered before it is there; the first command that needs it waits.
- An error is one line to the controller. A bug also leaves its traceback in the log.

    read -> clean (comments, control characters) -> id, command, arguments
         -> COMMANDS[command](session, arguments) -> write
"""

import errno
import queue
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import BinaryIO

from data.base.errors import Mistake, first_line

# Each of the three enters its commands in COMMANDS.
from mcts.gtp import analysis, inside, rules  # noqa: F401
from mcts.gtp.arguments import GtpError
from mcts.gtp.session import COMMANDS
from mcts.play.player import Player

MAX_SHOWN = 200  # characters of a message
CONTROL = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n"} | {ord("\t"): " "}


class Unwritable(BrokenPipeError):
    """Answers can't be written: a full disk, a closed descriptor.

    Unlike with other broken pipes, somebody may still listen.
    """


class Inbox:
    """Lines of a stream, which a thread reads ahead.

    `waiting` is set while there is a line that nobody has taken.
    """

    def __init__(self) -> None:
        self.lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.waiting = threading.Event()
        self.lock = threading.Lock()
        self.waiting.set()

    def read(self, stream: BinaryIO) -> None:
        self.waiting.clear()
        threading.Thread(target=self.pump, args=(stream,), name="gtp reader", daemon=True).start()

    def pump(self, stream: BinaryIO) -> None:
        try:
            for line in stream:
                self.put(line.decode("utf-8", "replace"))
        finally:
            self.put(None)

    def put(self, line: str | None) -> None:
        with self.lock:
            self.lines.put(line)
            self.waiting.set()

    def __iter__(self) -> Iterator[str]:
        while (line := self.lines.get()) is not None:
            with self.lock:
                if self.lines.empty():
                    self.waiting.clear()
            yield line


class Engine:
    """The session of one controller (see `session.Session`)."""

    def __init__(
        self,
        player: Callable[[], Player],
        out: BinaryIO,
        *,
        name: str = "LambdaGo",
        version: str = "",
        log: Callable[[str], None] = lambda text: None,  # for people
        trace: Callable[[str], None] = lambda text: None,  # every line of the protocol
    ):
        self.make_player = player
        self.out = out
        self.name = name
        self.version = version
        self.log = log
        self.trace = trace
        self.inbox = Inbox()
        self.id = ""
        self.streaming = False
        self.running = True

    @property
    def player(self) -> Player:
        return self.make_player()

    @property
    def next_line(self) -> threading.Event:
        return self.inbox.waiting

    def serve(self, stream: BinaryIO) -> None:
        """Answer until `quit`, the end of the input, or nobody reads the answers any more.

        Raises `Unwritable`.
        """
        self.inbox.read(stream)
        try:
            for line in self.inbox:
                self.answer(line)
                if not self.running:
                    break
        except Unwritable:
            raise
        except BrokenPipeError:
            self.log("the controller is gone")

    def answer(self, line: str) -> None:
        words = line.translate(CONTROL).split("#", 1)[0].split()
        if not words:
            return
        self.trace(f">> {' '.join(words)}")
        self.id = words.pop(0) if words[0].isascii() and words[0].isdigit() else ""
        self.streaming = False
        try:
            handler = COMMANDS.get(words[0] if words else "")
            if handler is None:
                raise GtpError("unknown command")
            text, sign = handler(self, words[1:]), "="
        except BrokenPipeError:
            raise
        except (Mistake, OSError) as error:
            text, sign = str(error) or type(error).__name__, "?"
        except Exception as error:
            self.log(traceback.format_exc().rstrip())
            text, sign = f"internal error: {type(error).__name__}: {error}", "?"
        self.finish(sign, text)

    def finish(self, sign: str, text: str) -> None:
        if sign == "?":
            text = " ".join(text.split())[:MAX_SHOWN]
        if self.streaming and sign == "?":  # too late for a question mark
            self.log(f"while answering: {text}")
            self.write("\n")
        elif self.streaming:
            self.write(f"{text}\n\n" if text else "\n")
        else:
            lines = [line.translate(CONTROL).rstrip() for line in text.split("\n")]
            # an empty line would end the answer
            body = "\n".join([lines[0], *(line for line in lines[1:] if line)])
            self.write(f"{sign}{self.id} {body}\n\n")

    def begin_stream(self) -> None:
        """Write the head of an answer whose lines come while the player thinks."""
        self.streaming = True
        self.write(f"={self.id}\n")

    def write(self, text: str) -> None:
        self.trace(f"<< {text.rstrip()}")
        try:
            self.out.write(text.encode("utf-8", "replace"))
            self.out.flush()
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as error:  # ValueError: closed on our side
            why = getattr(error, "strerror", None) or first_line(error)
            raise Unwritable(
                errno.EIO, f"no answer can be written to standard output: {why}"
            ) from None
