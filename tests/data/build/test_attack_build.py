"""Ctrl-C at any moment of a build: it ends at once with one line, and the same command makes the
same bytes.

`pytest tests/data/build/test_attack_build.py -m slow` interrupts 300 builds, half of them
with one worker and half with two; the moments are
spread over the whole life of the process, from the first instruction of Python to the last.
"""

import os
import random
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from data.base.digests import find_change
from data.base.interrupts import CODE, STOPPED
from data.build.report import read_report
from data.build.work_folder import report_path, work_folder
from tests.support.builds import ROOT, build_here, command, digest
from tests.support.ctrl_c import hear_ctrl_c
from tests.support.own_games import collect, write_tar

LAYOUTS = {"packed": {}, "plain": {"layout": "plain", "augment": "all"}}
PATIENCE = 60  # seconds; an answer takes less than two on an idle machine


@dataclass(frozen=True)
class Case:
    source: Path
    layout: str
    workers: int
    expected: dict[str, str]
    seconds: float  # that the unbroken build took

    def command(self, output):
        options = [f"{name}={value}" for name, value in LAYOUTS[self.layout].items()]
        return command(self.source, output, *options, workers=self.workers)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """The unbroken builds, made when they are asked for."""
    folder = tmp_path_factory.mktemp("unbroken")
    source = write_tar(folder / "a.tar.gz", collect(60, moves=60))
    made = {}

    def case(layout, workers):
        if (layout, workers) not in made:
            output = folder / f"{layout}{workers}.h5"
            # which compiles, where that is not done
            build_here(source, folder / f"{layout}{workers}.here.h5", **LAYOUTS[layout])
            empty = Case(source, layout, workers, {}, 0.0)
            began = time.monotonic()
            subprocess.run(empty.command(output), check=True, stdout=subprocess.DEVNULL)
            made[layout, workers] = Case(
                source, layout, workers, digest(output), time.monotonic() - began
            )
        return made[layout, workers]

    return case


@dataclass(frozen=True)
class Ending:
    code: int
    out: str
    err: str
    whole: bool  # the output was there when the signal was sent
    seconds: float  # from the signal to the end


def interrupt(arguments, output, after):
    """Start the build, and press Ctrl-C so many seconds later."""
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_ctrl_c,
    )
    time.sleep(after)
    whole, sent = output.exists(), time.monotonic()
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers, too
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return Ending(process.returncode, out, err, whole, time.monotonic() - sent)


def in_good_order(ending):
    """Stopped with the one line; or the work was over; or Python was not yet told what to do, and
    said so in its own way.

    The last holds only until the build prints its first line: a traceback after that is a defect,
    whatever frames it has.
    """
    if ending.code == 0:
        return ending.whole and not ending.err
    if ending.err == f"\n{STOPPED}\n":
        return ending.code == CODE
    if ending.out:
        return False
    ours = {
        Path(name).name
        for name in re.findall(r'File "([^"]+)"', ending.err)
        if Path(name).is_relative_to(ROOT / "data")
    }
    return (
        ending.code in (1, -signal.SIGINT, CODE)
        and ours <= {"interrupts.py", "__init__.py"}
        and "omegaconf" not in ending.err
    )


def test_a_traceback_counts_as_order_only_before_the_first_line():
    trace = 'Traceback (most recent call last):\n  File "/usr/lib/python3/threading.py", line 1, in wait\nKeyboardInterrupt\n'
    assert in_good_order(Ending(-signal.SIGINT, "", trace, False, 0.1))
    assert not in_good_order(Ending(-signal.SIGINT, "reading 1 source\n", trace, False, 0.1))
    assert in_good_order(Ending(CODE, "reading 1 source\n", f"\n{STOPPED}\n", False, 0.1))


def attack(case, folder, moment):
    """One build, interrupted and run again; `moment` is a share of the time that an unbroken one
    takes.
    """
    output = folder / "o.h5"
    ending = interrupt(case.command(output), output, moment * case.seconds)
    assert in_good_order(ending), ending
    if output.exists():
        assert find_change(output) == "" and digest(output) == case.expected
        assert report_path(output).exists() or work_folder(output).exists()
    build_here(case.source, output, **LAYOUTS[case.layout])
    assert digest(output) == case.expected, ending
    assert read_report(report_path(output))
    assert sorted(path.name for path in folder.iterdir()) == ["o.h5", "o.h5.report.json"]
    return ending


def moments(seed, count):
    """Spread evenly from the start to a little after the end."""
    rng = random.Random(seed)
    return [1.1 * (k + rng.random()) / count for k in range(count)]


def attack_often(case, tmp_path, seed, count):
    endings = []
    for number, moment in enumerate(moments(seed, count)):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            endings.append(attack(case, folder, moment))
        except BaseException as error:
            error.add_note(
                f"interrupted {moment:.3f} of {case.seconds:.2f} seconds after the start"
            )
            raise
    stopped = [ending for ending in endings if ending.err == f"\n{STOPPED}\n"]
    print(
        f"\n{len(endings)} builds, {len(stopped)} stopped, the last one {max(e.seconds for e in endings):.1f} s after it was told"
    )
    return stopped


@pytest.mark.parametrize(("layout", "workers"), [("packed", 1), ("packed", 2)])
def test_ctrl_c_at_a_few_moments_harms_nothing(cases, tmp_path, layout, workers):
    assert attack_often(cases(layout, workers), tmp_path, seed=workers, count=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("layout", "workers", "count"),
    [("packed", 1, 20), ("plain", 1, 10), ("packed", 2, 20), ("plain", 2, 10)],
)
def test_ctrl_c_at_300_moments_harms_nothing(cases, tmp_path, layout, workers, count, seed):
    assert (
        len(attack_often(cases(layout, workers), tmp_path, seed=100 + seed, count=count))
        > count // 4
    )


@pytest.mark.slow
def test_ctrl_c_while_kernels_are_compiled_is_heard_at_once(tmp_path):
    source, output = write_tar(tmp_path / "a.tar.gz", collect(6)), tmp_path / "o.h5"
    process = subprocess.Popen(
        command(source, output), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=hear_ctrl_c, env={**os.environ, "LAMBDAGO_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    said = iter(process.stdout.readline, "")
    assert any("compiling" in line for line in said)
    time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (CODE, f"\n{STOPPED}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "cache"]
