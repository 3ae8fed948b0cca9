"""Every command of the README: its options are taken by the script that it names, and (slow) it
runs on a small dataset.
"""

import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import MissingConfigException
from omegaconf import DictConfig, OmegaConf

from pipelines.dataset.build_options import build_options
from pipelines.dataset.inspect_options import InspectOptions
from pipelines.matches.contestants import read_contestants
from pipelines.matches.options import MatchOptions
from pipelines.shell.command_line import first_word_is, for_hydra, with_saved_keys
from pipelines.shell.configuration import CONF
from pipelines.shell.environment import PROGRAMS, ROOT
from pipelines.shell.options import read
from pipelines.training.options import read_options
from tests.support.damage import run_watched
from tests.support.tiny_dataset import make_dataset

README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands(text: str) -> list[list[str]]:
    """The words of each command `python pipelines/...` in an indented or fenced block, comments
    and a final `...` left out.
    """
    found, lines = [], iter(text.splitlines())
    for line in lines:
        if re.match(r"(    |\t)?(\$ )?python pipelines/\w+\.py", line):
            line = line.strip().removeprefix("$ ")
            while (words := split(line)) is None:
                line = line.removesuffix("\\") + " " + next(lines).strip()
            found.append([word for word in words[1:] if word != "..."])
    return found


def split(line: str) -> list[str] | None:
    """None for the beginning of a command that goes on in the next line."""
    try:
        return None if line.endswith("\\") else shlex.split(line, comments=True)
    except ValueError:  # a quote is open
        return None


COMMANDS = commands(README)


def test_commands_are_found() -> None:
    text = "x\n    python pipelines/a.py 'b c  # no\n        d' e  # f\n\n"
    text += "```\n$ python pipelines/b.py \\\n  c=1 ...\n```\n`python pipelines/c.py`\n"
    assert commands(text) == [["pipelines/a.py", "b c  # no d", "e"], ["pipelines/b.py", "c=1"]]
    assert len(COMMANDS) >= 10


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_of_the_readme_is_taken(words: list[str]) -> None:
    script, arguments = Path(words[0]).stem, words[1:]
    assert (ROOT / words[0]).is_file() and script in PROGRAMS
    if script in ("report_sweep", "run_demo"):
        return
    if script == "analyze_game":
        arguments = first_word_is("game")(arguments)
    if script == "train_model":
        arguments = with_saved_keys(arguments)
    arguments = for_hydra(script, arguments)
    try:
        cfg = composed(script, [word for word in arguments if word not in ("-m", "--multirun")])
    except MissingConfigException as error:
        if "hydra/" in str(error):
            pytest.skip("wants the extra sweep")
        raise
    check(script, cfg)


def composed(script: str, arguments: list[str]) -> DictConfig:
    """With the first value of what is swept over."""
    overrides = []
    for override in OverridesParser.create().parse_overrides(arguments):
        if override.is_sweep_override() and override.is_discrete_sweep():
            overrides.append(
                f"{override.get_key_element()}={next(override.sweep_string_iterator())}"
            )
        elif override.is_sweep_override():
            overrides.append(f"{override.get_key_element()}={override.value().start}")  # type: ignore[union-attr]
        else:
            overrides.append(str(override.input_line))
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(script, overrides)


def check(script: str, cfg: DictConfig) -> None:
    """What the script can say of its options before it opens a file."""
    if (
        "output" in cfg
        and not OmegaConf.is_missing(cfg, "output")
        and "${" in str(cfg._get_node("output"))
    ):
        cfg.output = "outputs"
    if script == "train_model":
        read_options(cfg)
        return
    options = OmegaConf.to_container(cfg, resolve=True)
    assert isinstance(options, dict)
    module = import_module(f"pipelines.{script}")
    if script == "build_dataset":
        build_options(options)
    elif script == "inspect_dataset":
        read(InspectOptions, options)
    elif script == "play_match":
        assert len(list(read_contestants(read(MatchOptions, options)))) >= 2
    else:
        (getattr(module, "checked", None) or getattr(module, "check", dict))(options)


# --- whole

SMALL = {  # added to commands, so that they take seconds
    "train_model": [
        "positions=64",
        "validate_every=64",
        "loader.batch_size=16",
        "loader.pool_rows=256",
        "trainer.accelerator=cpu",
    ],
    "evaluate_model": ["positions=100", "draws=20", "plots=false"],
    "export_model": ["calibration=8", "parity=8", "agreement=0"],
    "estimate_owners": ["rollouts=2"],
    "play_match": ["games=1", "size=9", "max_moves=20"],
    "analyze_game": ["last=3", "seconds=0.1"],
    "measure_speed": ["only=[disk]", "runs=1", "games=20"],
}
# filters, where a command names a model
NETS = {"policy": 16, "policy_resnet": 16, "value": 16, "value_resnet": 16}


@pytest.mark.slow
def test_every_command_of_the_readme_runs(tmp_path: Path) -> None:
    """In the order of the README, as later commands use what earlier ones made; those that need
    other programs are left out.
    """
    (tmp_path / "games").mkdir()
    make_dataset(tmp_path)
    (tmp_path / "records").rename(tmp_path / "games" / "small")
    (tmp_path / "game.sgf").write_text("(;GM[1]FF[4]SZ[19];B[pd];W[dp];B[pp];W[dd])")
    for name in ("pipelines", "models"):
        (tmp_path / name).symlink_to(ROOT / name)
    for words in sorted(COMMANDS, key=lambda words: "build_dataset" not in words[0]):
        script = Path(words[0]).stem
        if script in ("play_gtp", "run_demo", "report_sweep", "measure_speed") or re.search(
            "gnugo|slurm", " ".join(words)
        ):
            continue
        outcome = run_watched(
            [sys.executable, *smaller(script, words, tmp_path)], seconds=600, cwd=tmp_path
        )
        assert outcome.kind == "well", (words, outcome)


def smaller(script: str, words: list[str], folder: Path) -> list[str]:
    """The command for a small dataset: names of files that do not exist replaced, and little to
    do.
    """
    run = next(
        (path for path in sorted((folder / "outputs" / "train_model").glob("*/checkpoints"))),
        folder,
    )
    words = [word.replace("outputs/train_model/<run>/checkpoints", str(run)) for word in words]
    said = {word.partition("=")[0] for word in words}
    if script == "build_dataset":
        words += ["size=9"]
    if script == "train_model":
        model = next(
            (word.partition("=")[2] for word in words if word.startswith("model=")), "policy"
        )
        if model in NETS and not said & {"model.net.filters", "experiment"}:
            words += [f"model.net.filters={NETS[model]}"]
        words += ["dataset=datasets/kgs.h5"] * ("dataset" not in said)
        words += ["hydra.sweeper.n_trials=2"] * ("hydra/sweeper=search" in words)
    return [*words, *(word for word in SMALL.get(script, []) if word.partition("=")[0] not in said)]
