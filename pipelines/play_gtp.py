"""The program as a GTP engine, for Sabaki, GoGui, KGS, CGOS: `python pipelines/play_gtp.py`.

It needs no argument. Standard output belongs to the protocol: everything else that is printed goes
to standard error.
"""

import contextlib
import os
import sys
import traceback
from typing import BinaryIO

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from data.base.version import version
from pipelines.engine.log import open_log, say
from pipelines.engine.options import GtpOptions, read_options
from pipelines.engine.player import make_ahead, make_player
from pipelines.engine.thinkers import ThinkerMaker
from pipelines.shell.configuration import plain
from pipelines.shell.mistakes import explain
from pipelines.shell.options import OptionError
from pipelines.shell.script import script


def run(cfg: DictConfig, stdin: BinaryIO, stdout: BinaryIO) -> None:
    options = read_options(GtpOptions, plain(cfg))
    makes = ThinkerMaker(options, say)
    trace = open_log(options.log)

    def log(text: str) -> None:
        say(text)
        trace(text)

    makes.log = log
    player = make_ahead(lambda: make_player(options, makes, log), log)
    from mcts.gtp.engine import Engine

    engine = Engine(
        player.result, stdout, name=options.name, version=version(), log=log, trace=trace
    )
    engine.serve(stdin)
    if player.done() and player.exception() is None:
        player.result().close()


@script("play_gtp")
def main(cfg: DictConfig) -> None:
    if sys.stderr is None:  # closed by the program that started this one
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = os.fdopen(2, "w", closefd=False)
    closed = [
        name for name, stream in (("input", sys.stdin), ("output", sys.stdout)) if stream is None
    ]
    if closed:
        raise OptionError(f"standard {closed[0]} is closed: a controller speaks GTP there")
    protocol = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else prints
    sys.stdout = sys.stderr
    code = 0
    try:
        run(cfg, sys.stdin.buffer, protocol)
    except KeyboardInterrupt:
        say("\nstopped")
        code = 130
    except Exception as error:
        # said here: a thread reads standard input, and Python could not end by itself
        message = explain(error)
        say(traceback.format_exc().rstrip() if message is None else f"play_gtp: {message}")
        code = 1 if message is None else 2
    with contextlib.suppress(OSError):  # the controller may be gone
        protocol.close()
    # threads that wait for a line, or still make a thinker, need no end
    os._exit(code)


if __name__ == "__main__":
    main()
