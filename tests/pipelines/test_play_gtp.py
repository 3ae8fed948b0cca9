"""The script `play_gtp.py`: its streams, its options, and how it ends."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from mcts.play.manners import Manners
from pipelines.analysing.options import AnalysisOptions
from pipelines.engine.net_files import NoSuchNet, find_nets
from pipelines.engine.options import GtpOptions, read_options
from pipelines.engine.player import make_player
from pipelines.engine.thinkers import ThinkerMaker
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.options import OptionError
from tests.support.ctrl_c import hear_ctrl_c
from tests.support.paths import ROOT


def gtp_command(*arguments: str) -> list[str]:
    script = str(ROOT / "pipelines" / "play_gtp.py")
    return [sys.executable, script, "search=policy_only", "policy=none", "value=none", *arguments]


def start(*arguments: str) -> subprocess.Popen[bytes]:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(gtp_command(*arguments), preexec_fn=hear_ctrl_c, **pipes)


def test_the_script_speaks_nothing_but_gtp_and_logs_what_it_said(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    process = start("boardsize=5", f"log={log}")
    out, errors = process.communicate(
        b"1 name\r\n2 boardsize 5\r\ngenmove b\nshowboard\nlz-analyze 10\nquit\n", timeout=120
    )
    assert process.returncode == 0
    assert out.startswith(b"=1 LambdaGo\n\n=2 \n\n= ") and out.endswith(b"\n\n= \n\n")
    assert b"moves are random" in errors and b"Traceback" not in errors
    text = log.read_text()
    assert ">> 2 boardsize 5" in text and "<< =1 LambdaGo" in text


@pytest.mark.parametrize("errors", ["nobody reads them", "closed"])
def test_where_nobody_takes_what_is_logged_the_game_goes_on(errors: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh"] * (errors == "closed") + gtp_command(
        "boardsize=5", "log=/dev/full"
    )
    done = subprocess.run(
        command,
        input=b"1 name\ngenmove b\n2 name\nquit\n",
        stdout=subprocess.PIPE,
        stderr=writing,
        timeout=120,
    )
    os.close(writing)
    assert done.returncode == 0 and re.fullmatch(
        rb"=1 LambdaGo\n\n= [A-E][1-5]\n\n=2 LambdaGo\n\n= \n\n", done.stdout
    )


@pytest.mark.parametrize(
    ("key", "file"),
    [("policy", "value.json"), ("value", "policy.int8.onnx"), ("rollout", "tree.safetensors")],
)
def test_a_net_of_another_kind_is_refused_before_the_game(key: str, file: str) -> None:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("play_gtp", [f"{key}={ROOT / 'models' / 'pretrained' / file}"])
    with pytest.raises(
        NoSuchNet,
        match=f"a {Path(file).name.split('.')[0]} net, where a {key} net is wanted",
    ):
        find_nets(read_options(GtpOptions, plain(cfg)))


@pytest.mark.parametrize("wrong", ["boardsize=30", "search.lam=2", "search.deterministic=true"])
def test_the_script_refuses_wrong_settings_in_one_line(wrong: str) -> None:
    process = start(wrong, *(["threads=2"] if "deterministic" in wrong else []))
    out, errors = process.communicate(b"name\ngenmove b\n", timeout=60)
    assert process.returncode == 2 and out == b"" and errors.count(b"\n") == 1
    assert wrong.removeprefix("search.").encode() in errors


def test_the_script_refuses_a_search_that_has_no_values() -> None:
    out, errors = (process := start("search=zero")).communicate(b"genmove b\n", timeout=60)
    assert process.returncode == 2 and out == b"" and errors.count(b"\n") == 1
    assert b"no rollouts and no value net" in errors


@pytest.mark.parametrize("wrong", [
    "search.c_puct=many", "search.queue=3", "search.nodes=1.5", "search.symmetry=some", "+search.lambda=1", "symmetries=3",
    "reply_share=2", "rollout_temperature=0", "temperature=-1", "mercy=-1", "search.threads=0", "seed=-1",
    "seconds=nan", "seconds=inf", "seconds=null", "komi=nan", "engine=fast", "device=gpu7",
])  # fmt: skip
def test_what_a_search_cannot_do_is_said_before_it_begins(wrong: str) -> None:
    overrides = ["policy=none", wrong.replace("search.threads", "+search.threads")]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        configs = (
            compose("play_gtp", overrides),
            compose("analyze_game", [*overrides, "game=x.sgf", "output=x"]),
        )
    for kind, cfg in zip((GtpOptions, AnalysisOptions), configs, strict=True):
        with pytest.raises(OptionError) as error:
            find_nets(read_options(kind, plain(cfg)))
        assert wrong.lstrip("+").split("=")[0].removeprefix("search.") in str(
            error.value
        ) and "\n" not in str(error.value)


@pytest.mark.parametrize("given", [["search.keep_tree=false"], ["search=notes"]])
def test_pondering_over_a_tree_that_is_not_kept_is_refused(given: list[str]) -> None:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        configs = [compose("play_gtp", [*given, f"ponder={word}"]) for word in ("true", "false")]
    with pytest.raises(OptionError, match=r"ponder=true with search\.keep_tree=false"):
        read_options(GtpOptions, plain(configs[0]))
    read_options(GtpOptions, plain(configs[1]))


@pytest.mark.parametrize("wrong", ["resign=5", "resign=-1.1", "lag=nan", "log=[5]"])
def test_what_a_player_cannot_do_is_said_before_it_begins(wrong: str) -> None:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("play_gtp", [wrong])
    with pytest.raises(OptionError, match=wrong.split("=")[0]):
        read_options(GtpOptions, plain(cfg))


@pytest.mark.skipif(os.name != "posix", reason="pipes break in other ways elsewhere")
def test_a_controller_that_goes_away_leaves_no_abort_behind(tmp_path: Path) -> None:
    """Its end of the pipe is closed while answers are on their way, and our input stays open."""
    process = start("boardsize=5")
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(b"name\n" * 50)
    process.stdin.flush()
    process.stdout.read(5)
    process.stdout.close()
    for _ in range(100):
        try:
            process.stdin.write(b"name\n" * 1000)
            process.stdin.flush()
        except BrokenPipeError:
            break
    assert process.wait(60) == 0
    errors = process.stderr.read()
    assert (
        b"the controller is gone" in errors
        and b"Fatal" not in errors
        and b"Traceback" not in errors
    )


@pytest.mark.parametrize("line", ["name", "genmove b", "lz-analyze 10"])
def test_ctrl_c_ends_the_script_with_a_word(line: str) -> None:
    process = start("boardsize=5")
    assert process.stdin and process.stdout
    process.stdin.write(f"{line}\n".encode())
    process.stdin.flush()
    assert process.stdout.readline().startswith(b"=")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    _, errors = process.communicate()
    assert errors.endswith(b"\nstopped\n") and b"Fatal" not in errors and b"Traceback" not in errors


def test_a_repeatable_search_is_counted_not_timed() -> None:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        given = ["search.deterministic=true", "threads=1", "policy=none"]
        timed, right = compose("play_gtp", given), compose("play_gtp", [*given, "simulations=50"])
    with pytest.raises(OptionError, match="simulations="):
        read_options(GtpOptions, plain(timed))
    assert read_options(GtpOptions, plain(right)).seconds is None


def test_settings_reach_the_player() -> None:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        given = [
            "temperature=0.5",
            "seconds=null",
            "simulations=7",
            "ponder=true",
            "boardsize=5",
            "policy=none",
        ]
        options = read_options(GtpOptions, plain(compose("play_gtp", given)))
    player = make_player(options, ThinkerMaker(options, print), print)
    assert (
        player.manners == Manners(seconds=None, simulations=7, temperature=0.5, ponder=True)
        and player.board.size == 5
    )


@pytest.mark.slow
@pytest.mark.clock
def test_the_first_answer_comes_within_two_seconds() -> None:
    fastest = 60.0
    for _ in range(3):  # other programs run, too
        began = time.monotonic()
        process = start()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"name\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"= LambdaGo\n"
        fastest = min(fastest, time.monotonic() - began)
        process.communicate(b"quit\n", timeout=60)
    assert fastest < 2
