"""`build_dataset.py` as people use it: one command, one line for a mistake, a report that can be
read.
"""

import json
import re
import sys

import pytest
import yaml

from data.build.work_folder import report_path, work_folder
from pipelines.dataset.build_report import describe, fold, shorten
from pipelines.shell.options import OptionError, convert, make
from tests.support.builds import ROOT, SCRIPT, attributes, build_here, command, run_command
from tests.support.own_games import collect, write_zip

CONFIG = ROOT / "conf" / "build_dataset.yaml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("user")
    (folder / "my games").mkdir()
    games = {
        **collect(12),
        "text.sgf": b"",
        "odd[/b][red].sgf": b"(;SZ[9];B[bb];W[[/i]])",
    }
    write_zip(
        folder / "my games" / "[kgs].zip",
        {name: getattr(game, "data", game) for name, game in games.items()},
    )
    return folder


def build(folder, *options, **more):
    """As in the README, from the user's own folder."""
    return run_command([sys.executable, str(SCRIPT), *options], cwd=folder, **more)


# --- it works


def test_the_command_of_the_readme_works_from_any_folder(folder):
    done = build(
        folder, "source=my games/", "output=datasets/kgs.h5", "size=9", "executor.workers=1"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    output = folder / "datasets" / "kgs.h5"
    report = json.loads(report_path(output).read_text())
    for text in (
        "1 source: my games/[kgs].zip",
        f"{report['games_kept']:,} of {report['games_seen']:,} games, {report['positions']:,} "
        "positions",
        "train", "validation", "test", "duplicate: the same moves",
        f"dataset: {output}",
        f"report:  {report_path(output)}",
    ):  # fmt: skip
        assert text in done.stdout, done.stdout
    assert re.search(
        r"^reading: 21 games, [\d,.]+/s, [\d,]+ positions, 1 rejects$", done.stdout, re.MULTILINE
    ), done.stdout
    assert re.search(
        r"^encoding: [\d,]+ positions, [\d,.]+/s, \d+ left out, \d+ games$",
        done.stdout,
        re.MULTILINE,
    ), done.stdout
    assert "about" in done.stdout and done.stdout.index("MB on the way") < done.stdout.index(
        "encoding:"
    )
    paths = ("dataset:", "report:", "next:")
    assert max(len(line) for line in done.stdout.splitlines() if not line.startswith(paths)) <= 100
    assert sorted(path.name for path in output.parent.iterdir()) == ["kgs.h5", "kgs.h5.report.json"]

    again = build(
        folder, "source=my games", "output=datasets/kgs.h5", "size=9", "executor.workers=1"
    )
    assert again.returncode == 0 and "nothing to do" in again.stdout
    other = build(
        folder, "source=my games", "output=datasets/kgs.h5", "size=9", "filters.min_moves=50"
    )
    assert other.returncode == 2 and other.stderr.count("\n") == 1
    assert "config.games.filters.min_moves: there 1, here 50" in other.stderr


def test_every_option_reaches_the_build(folder):
    options = [
        "illegal=drop", "broken=drop", "damaged=keep", "handicap.implicit=reject", "max_reject_rate=0.9", "filters.min_moves=2",
        "filters.max_moves=90", "filters.min_rank=20k", "filters.max_rank=9p", "filters.min_handicap=0", "filters.max_handicap=5",
        "filters.results=[points,resignation]", "filters.from_date=2001", "filters.to_date=2015-03", "filters.players='Böb 白'",
        "filters.games_per_source=5", "value.time_losses=true", "value.handicap=true", "value.min_komi=1", "value.max_komi=7.5",
        "splits.validation=0.3", "splits.test=0.2", "features=zero18", "layout=plain", "augment=all", "compression=3", "parts.files=10",
        "parts.rows=512", "limits.max_ratio=99", "limits.max_members=1000", "limits.max_member_bytes=10000",
        "limits.max_total_bytes=1000000", "overwrite=true", "executor.workers=1",
    ]  # fmt: skip
    done = build(folder, "source=my games/*.zip", "output=o.h5", "size=9", *options)
    assert done.returncode == 0, done.stderr
    found = attributes(folder / "o.h5")["config"]
    assert found == {
        "features": "zero18",
        "games": {
            "read": {"size": 9, "implicit_handicap": "reject", "broken": "drop"},
            "filters": {
                "min_moves": 2, "max_moves": 90, "min_rank": "20k", "max_rank": "9p", "min_handicap": 0, "max_handicap": 5,
                "results": ["points", "resignation"], "from_date": "2001", "to_date": "2015-03", "players": ["Böb 白"],
                "games_per_source": 5,
            },
            "value": {"time_losses": True, "handicap": True, "min_komi": 1, "max_komi": 7.5},
            "illegal": "drop", "validation": 0.3, "test": 0.2, "passes": False,
        },
        "limits": {"max_member_bytes": 10000, "max_total_bytes": 1000000, "max_ratio": 99, "max_members": 1000},
        "damaged": "keep", "layout": "plain", "augment": "all", "compression": 3, "parts": {"files": 10, "rows": 512},
        "max_reject_rate": 0.9,
    }  # fmt: skip


# --- mistakes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["source=a.zip"], ["output is missing", "--help"]),
        (["source=missing.zip", "output=o.h5"], ["missing.zip", "does not exist"]),
        (["source=a.zip", "output=o.h5", "komi=7"], ["komi", "--help"]),
        (["source=a.zip", "output=o.h5", "filters.min_move=7"], ["min_move", "--help"]),
        (["source=a.zip", "output=o.h5", "size=big"], ["size=big", "a whole number"]),
        (["source=a.zip", "output=o.h5", "executor=cloud"], ["cloud"]),
        (["source=a.zip", "output=o.h5", "executor=dask"], ["executor.address is missing"]),
        (
            [
                "source=a.zip",
                "output=o.h5",
                "executor=dask",
                "executor.workers=1",
                "executor.address=tcp://x:1",
            ],
            ["executor.workers=1: executor=dask uses the workers of its cluster"],
        ),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(folder, options, words):
    failed = build(folder, *options)
    assert failed.returncode == 2, failed.stderr
    assert (
        failed.stderr.startswith("build_dataset: ")
        and failed.stderr.count("\n") == 1
        and failed.stderr.endswith("\n")
    )
    assert all(word in failed.stderr for word in words), failed.stderr
    assert "Traceback" not in failed.stdout and not (folder / "o.h5.parts").exists()


def options_from(*overrides):
    """What the script makes of overrides, without a process of its own."""
    from hydra import compose, initialize_config_dir

    from pipelines.dataset.build_options import build_options
    from pipelines.shell.configuration import plain

    with initialize_config_dir(str(CONFIG.parent), version_base="1.3"):
        return build_options(plain(compose("build_dataset", ["source=a", "output=b", *overrides])))


@pytest.mark.parametrize(
    "override",
    [
        "illegal=perhaps", "broken=1", "damaged=x", "handicap.implicit=no", "max_reject_rate=much", "size=9.5", "size=true",
        "filters.min_moves=few", "filters.min_moves=null", "filters.results=win", "filters.from_date=May",
        "filters.from_date=1.5",
        "filters.min_rank=9", "filters.players=[]", "filters=null", "value.handicap=2", "value.min_komi=x", "splits.test=x",
        "layout=3", "augment=8", "compression=null", "parts.rows=1e6", "parts=null", "limits.max_ratio=big", "overwrite=maybe",
        "executor.workers=two", "executor.workers=-1", "source=null", "source=[]", "output=null", "+filters.colour=red",
        "+executor.memory=4",
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_what_is_expected(override):
    name = override.strip("+").split("=")[0].replace("executor.", "")
    with pytest.raises(ValueError, match=re.escape(name.split(".")[-1])) as caught:
        options_from(override)
    assert type(caught.value) is not ValueError and "\n" not in str(caught.value), (
        "the script takes it for a mistake of its own"
    )


def test_values_are_read_with_good_will():
    options = options_from(
        "filters.from_date=2001",
        "filters.players=Ann",
        "filters.results=points",
        "splits.test=0",
        "source=7",
    )
    assert options.games.filters.from_date == "2001" and options.games.filters.players == ("Ann",)
    assert (
        options.games.filters.results == ("points",)
        and options.games.test == 0.0
        and options.sources == ("7",)
    )


def test_the_defaults_of_the_script_are_those_of_the_code():
    from data.build.options import BuildOptions

    ours = options_from()
    assert ours == BuildOptions(sources=("a",), output=ours.output)


def test_conversion_says_what_it_wanted():
    with pytest.raises(OptionError, match=r"x=\[1\]: a whole number or null is expected"):
        convert([1], int | None, "x")
    from data.build.options import ValueOptions

    with pytest.raises(
        OptionError, match=r"value.komi: there is no such option; there are time_losses, handicap"
    ):
        make(ValueOptions, {"komi": 1}, "value")


# --- help


def test_help_explains_every_key(folder):
    shown = build(folder, "--help")
    assert shown.returncode == 0 and shown.stderr == ""
    lines = [line for line in shown.stdout.splitlines() if line]
    assert "pipelines/build_dataset.py key=value ..." in shown.stdout.splitlines()[0]
    assert "executor= is one of: dask, processes" in shown.stdout
    for key in keys(yaml.safe_load(CONFIG.read_text())):
        assert any(line.strip().startswith(f"{key}:") and "#" in line for line in lines), (
            f"{key} is not explained"
        )


def keys(config, top=True):
    """All keys with a value."""
    for key, value in config.items():
        if isinstance(value, dict) and key != "hydra":
            yield from keys(value, top=False)
        elif not (top and key in ("defaults", "hydra")):
            yield key


# --- the report in words


REPORT = {
    "dropped": {
        "duplicate": {"games": 3214, "meaning": "the same moves", "examples": ["kgs/1.tar.gz!a/" + "long/" * 30 + "x.sgf: why"]},
        "odd": {"games": 1, "meaning": "m", "examples": []},
    },
    "cut_short": {},
    "games_by_split": {"train": 30000, "validation": 1000, "test": 1047},
    "positions_by_split": {"train": 6000000, "validation": 200000, "test": 200001},
    "handicap": {"0": 30000, "2": 2047},
    "komi": {f"{k}.5": 10**6 for k in range(30)},
    "results": {}, "lengths": {"0-49": 3}, "ranks": {"6d": 1},
    "share_their_opening": {"games": 12, "moves": 50},
    "games_for_value": 20000, "handicap_put_back": 0, "games_kept": 32047, "games_seen": 35262, "positions": 6400001,
    "bytes": 457714300, "bytes_a_position": 57.1, "seconds": 312.2, "seconds_compiling": 0.4, "positions_a_second": 20500,
    "resumed": False,
}  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_report_keeps_to_its_width_and_folds_no_number(tmp_path, width):
    lines = list(describe(REPORT, tmp_path / "o.h5", width))
    text = "\n".join(lines)
    assert max(len(line) for line in lines if "o.h5" not in line) <= max(width, 80)
    for number in (
        "3,214",
        "6,000,000",
        "200,001",
        "11.5 (1,000,000)",
        "others (18,000,000)",
        "32,047 of 35,262 games",
        "20,500 positions/s",
    ):
        assert number in text
    assert "kgs/1.tar.gz!a/" in text and "x.sgf: why" in text, "an example is cut in the middle"
    assert "1 games" not in text and "Left out: 3,215 games" in text
    assert not any(line.endswith(" ") for line in lines)


def test_texts_are_shortened_in_the_middle_and_lines_folded_between_words():
    assert shorten("abcdefgh", 8) == "abcdefgh" and shorten("abcdefghi", 8) == "ab...ghi"
    assert list(fold("komi:", ["6.5 (10)", "7.5 (20)"], 20)) == [
        "komi:     6.5 (10)",
        "          7.5 (20)",
    ]
    assert list(fold("komi:", [], 20)) == ["komi:"]


def test_what_files_are_called_is_no_markup(folder, tmp_path, capsys):
    """Square brackets in names mean something to the library that prints."""
    from pipelines.shell.console import BuildProgress

    build_here(folder / "my games", tmp_path / "o.h5", watcher=BuildProgress())
    assert "my games/[kgs].zip" in capsys.readouterr().out
    done = run_command(command(folder / "my games", tmp_path / "[red]p.h5"))
    assert done.returncode == 0, done.stderr
    assert "[red]p.h5" in done.stdout and "odd[/b][red].sgf" in done.stdout
    assert not work_folder(tmp_path / "o.h5").exists()


def test_progress_tells_what_is_left(monkeypatch):
    from pipelines.shell import console

    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    progress = console.BuildProgress()
    progress.begin("encoding", 10_000, "positions")
    progress.advance(0, left_out=5)
    now[0] += 2
    progress.advance(4000, games=20)
    assert progress.status() == "40% of 10,000 positions, 2,000/s, 0:03 left, 5 left out, 20 games"
    progress.advance(6000, games=30)
    assert progress.status() == "10,000 positions, 5,000/s, 5 left out, 50 games"
