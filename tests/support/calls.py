"""Scripts called without a process for each: starting one, with torch, takes seconds.

    called("export_model", "checkpoint=x.ckpt")    in this process
    run_all([("export_model", [...]), ...])        all in one other process

Both call `main` as a user's command does. A test starts a process of its own for what only that
shows: pipes, signals, what is imported, sweeps (-m), which a process begins once, and files that
could crash or stop whoever reads them.
"""

import gc
import importlib
import io
import json
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig

from tests.support.damage import ROOT, Outcome, judge

# Runs `main` of several scripts in one process. Reads [[script, [argument, ...]], ...].
DRIVER = """
import contextlib, importlib, io, json, sys
from hydra.core.global_hydra import GlobalHydra
answers = []
for name, arguments in json.load(sys.stdin):
    sys.argv = [f"pipelines/{name}.py", *arguments]
    GlobalHydra.instance().clear()
    code, out, err = 0, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            importlib.import_module(f"pipelines.{name}").main()
        except SystemExit as end:
            code = end.code
    answers.append([code, out.getvalue(), err.getvalue()])
json.dump(answers, sys.stdout)
"""


def called(name: str, *arguments: str, cwd: Path | None = None) -> Outcome:
    """Call `main` of a script as if from the command line, in folder `cwd`.

    A mistake of the program is raised here, with its traceback.
    """
    code, out, err = 0, io.StringIO(), io.StringIO()
    hydra = HydraConfig.instance()
    with (
        patch.object(hydra, "cfg", None),
        patch.object(sys, "argv", [f"{name}.py", *arguments]),
        patch.dict(os.environ),
        chdir(cwd or Path.cwd()),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        GlobalHydra.instance().clear()
        try:
            importlib.import_module(f"pipelines.{name}").main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else bool(end.code)
    gc.collect()  # the traceback of a mistake refers to itself, and holds files open
    return Outcome(judge(code, err.getvalue()), code, out.getvalue(), err.getvalue())


def run_all(calls: list[tuple[str, list[str]]], folder: Path) -> list[tuple[int, str, str]]:
    """Exit code, standard output and standard error of each."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-c", DRIVER]
    done = subprocess.run(
        line,
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        timeout=240,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(answer) for answer in json.loads(done.stdout)]
