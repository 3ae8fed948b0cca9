"""Tasks whose worker process dies: functions that other processes import."""

import os
import signal
import time
from pathlib import Path


def square(task: tuple[Path, int, int]) -> int:
    """Return the square of a number; its worker is killed as often as the task says, before that.

    A task is a folder where deaths are counted, the number, and how many deaths there are.
    """
    folder, number, deaths = task
    if len(list(folder.glob(f"{number}-*"))) < deaths:
        (folder / f"{number}-{os.getpid()}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
    return number * number
