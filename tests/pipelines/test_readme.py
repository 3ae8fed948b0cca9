"""All Markdown pages: scripts take every command on them, links and paths lead somewhere.

The slow part runs the commands on a small dataset.
"""

import re
import shlex
import sys
from collections.abc import Iterator
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
from pipelines.measure_speed import SpeedOptions
from pipelines.reinforcing.options import ReinforceOptions
from pipelines.shell.command_line import first_word_is, for_hydra, with_saved_keys, words_are
from pipelines.shell.configuration import CONF
from pipelines.shell.environment import PROGRAMS, ROOT
from pipelines.shell.options import read
from pipelines.training.options import read_options
from pipelines.zero.prepare import read_options as read_zero_options
from tests.support.damage import run_watched
from tests.support.tiny_dataset import make_dataset

FOLDERS = (".github", "conf", "data", "mcts", "models", "pipelines", "tests")
PAGES = [ROOT / "README.md", *(path for name in FOLDERS for path in (ROOT / name).rglob("*.md"))]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}

COMMAND = re.compile(r"(python pipelines/\w+\.py|make|lambdago-\w+)(?= |$)")
LONGEST = 150  # lines of the top README
SCREEN = 60  # lines; a longer page begins with its contents

Words = list[str]


# --- what stands on a page


def commands(text: str) -> list[Words]:
    """The words of each command in an indented or fenced block, or between backticks in a line.

    Comments and a final `...` are left out, and so is `python`.
    """
    found = []
    for line in [*joined(text), *inline_code(text)]:
        if COMMAND.match(line):
            found.append([word for word in shlex.split(line, comments=True) if word != "..."])
    return [words[1:] if words[0] == "python" else words for words in found]


def joined(text: str) -> Iterator[str]:
    """Lines of blocks of code, each with those that continue it."""
    lines, fenced = iter(text.splitlines()), False
    for line in lines:
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith(("    ", "\t")):
            line = line.strip().removeprefix("$ ")
            if COMMAND.match(line):
                while is_open(line):
                    line = line.removesuffix("\\") + " " + next(lines).strip()
            yield line


def is_open(line: str) -> bool:
    """Whether a command continues on the next line: after a backslash, or within a quotation."""
    try:
        return line.endswith("\\") or not shlex.split(line, comments=True)
    except ValueError:
        return True


def inline_code(text: str) -> list[str]:
    return [re.sub(r"\s+", " ", code) for code in re.findall(r"`([^`]+)`", without_blocks(text))]


def without_blocks(text: str) -> str:
    """Prose and tables: without comments, fenced and indented blocks."""
    text = re.sub(r"<!--.*?-->|^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(?<=\n\n)((    |\t).*\n)+", "", text)


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", without_blocks(text), re.MULTILINE)


def anchors(text: str) -> set[str]:
    """Of the headings, as GitHub makes them."""
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings(text))
    return {word.replace(" ", "-") for word in words}


def links(text: str) -> list[str]:
    """Targets within the project."""
    targets = re.findall(r"\]\(([^)\s]+)\)", without_blocks(text))
    return [target for target in targets if "://" not in target]


def paths(text: str) -> list[str]:
    """What stands in backticks and looks like a file or folder of the project."""
    begins = "|".join(re.escape(name) for name in (*FOLDERS, ".ci"))
    looks = re.compile(rf"(({begins})/[\w./-]*|[\w-]+\.(py|cjs|toml))")
    return [code for code in inline_code(text) if looks.fullmatch(code)]


EXAMPLES = {"x.py", "x_kernels.py"}  # names that stand for any


def test_what_is_found_on_a_page() -> None:
    text = "x\n\n    python pipelines/a.py 'b c  # no\n        d' e  # f\n\n"
    text += (
        "```\n$ python pipelines/b.py \\\n  c=1 ...\nmake it\n```\n`python pipelines/c.py\nd=1`\n"
    )
    assert commands(text) == [
        ["pipelines/a.py", "b c  # no d", "e"],
        ["pipelines/b.py", "c=1"],
        ["make", "it"],
        ["pipelines/c.py", "d=1"],
    ]
    text = (
        "## What's `new`, in 0.1.0\n\n[a](b.md#c) [d](https://e) `data/f.py` `data/<g>` `h.py i`\n"
    )
    assert anchors(text) == {"whats-new-in-010"}
    assert links(text) == ["b.md#c"] and paths(text) == ["data/f.py"]


# --- fast


OF_READER = ("outputs/nets/mine.json", "models/pretrained/policy.json")  # a net that pages make
COMMANDS = [(page, words) for page, text in TEXTS.items() for words in commands(text)]
SCRIPTS = [(page, words) for page, words in COMMANDS if words[0].startswith("pipelines/")]


def test_commands_are_found() -> None:
    assert len(SCRIPTS) >= 40 and {page for page, _ in SCRIPTS} >= {
        "README.md", "data/README.md", "mcts/README.md", "models/README.md", "pipelines/README.md",
    }  # fmt: skip


def test_the_first_page_is_short() -> None:
    assert len(TEXTS["README.md"].splitlines()) <= LONGEST


@pytest.mark.parametrize("page", TEXTS)
def test_a_page_longer_than_a_screen_begins_with_its_contents(page: str) -> None:
    text = TEXTS[page]
    if len(text.splitlines()) <= SCREEN:
        return
    contents = text.partition("\n## ")[0]
    sections = re.findall(r"^## (.+)$", without_blocks(text), re.MULTILINE)
    missing = anchors("".join(f"## {name}\n" for name in sections)) - {
        target.removeprefix("#") for target in links(contents)
    }
    assert not missing


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_to_files_and_headings(page: str) -> None:
    for target in links(TEXTS[page]):
        name, _, anchor = target.partition("#")
        path = ((ROOT / page).parent / name).resolve() if name else ROOT / page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("page", TEXTS)
def test_paths_in_backticks_are_there(page: str) -> None:
    for path in paths(TEXTS[page]):
        if "/" in path:
            assert (ROOT / path).exists(), path
        elif path not in EXAMPLES:
            places = (ROOT, *(ROOT / name for name in FOLDERS))
            assert (
                any(next(place.rglob(path), None) for place in places[1:]) or (ROOT / path).exists()
            ), path


@pytest.mark.parametrize(("page", "words"), COMMANDS, ids=lambda value: str(value)[:60])
def test_the_first_word_of_a_command_is_known(page: str, words: Words) -> None:
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in words[1:] if "=" not in word} <= set(targets)
    elif words[0].startswith("lambdago-"):
        assert words[0] in PROGRAMS.values()
    else:
        assert (ROOT / words[0]).is_file() and Path(words[0]).stem in PROGRAMS


@pytest.mark.parametrize(("page", "words"), SCRIPTS, ids=lambda value: str(value)[:60])
def test_every_command_is_taken(page: str, words: Words) -> None:
    script = Path(words[0]).stem
    arguments = [word.replace(*OF_READER) for word in words[1:]]
    if script in ("report_sweep", "run_demo") or arguments == ["--help"]:
        return
    if script == "analyze_game":
        arguments = first_word_is("game")(arguments) or ["game=game.sgf"]
    if script == "estimate_rank":
        arguments = words_are("game")(arguments)
    if script in ("train_model", "train_zero", "reinforce_policy"):
        arguments = with_saved_keys(arguments)
    arguments = for_hydra(script, arguments)
    try:
        cfg = composed(script, [word for word in arguments if word not in ("-m", "--multirun")])
    except MissingConfigException as error:
        if "hydra/" in str(error):
            pytest.skip("wants the extra sweep")
        raise
    check(script, cfg)


def composed(script: str, arguments: Words) -> DictConfig:
    """With the first value of what is swept over."""
    overrides = []
    for override in OverridesParser.create().parse_overrides(arguments):
        if override.is_sweep_override() and override.is_discrete_sweep():
            overrides.append(
                f"{override.get_key_element()}={next(override.sweep_string_iterator())}"
            )
        elif override.is_sweep_override():
            start = override.value().start  # type: ignore[union-attr]
            overrides.append(f"{override.get_key_element()}={start}")
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
        if not cfg.resume:
            read_options(cfg)
        return
    if script == "train_zero":
        if not cfg.resume:
            read_zero_options(cfg)
        return
    options = OmegaConf.to_container(cfg, resolve=True)
    assert isinstance(options, dict)
    module = import_module(f"pipelines.{script}")
    if script == "build_dataset":
        build_options(options)
    elif script == "inspect_dataset":
        read(InspectOptions, options)
    elif script == "measure_speed":
        read(SpeedOptions, options).chosen()
    elif script == "reinforce_policy":
        read(ReinforceOptions, options)
    elif script == "play_match":
        if options["black"] or options["players"]:
            assert len(list(read_contestants(read(MatchOptions, options)))) >= 2
    else:
        (getattr(module, "checked", None) or getattr(module, "check", dict))(options)


# --- slow

SMALL = {  # added to commands, so that they take seconds
    "train_model": [
        "positions=64",
        "validate_every=64",
        "loader.batch_size=16",
        "loader.pool_rows=256",
        "trainer.accelerator=cpu",
    ],
    "evaluate_model": ["positions=100", "draws=20", "plots=false"],
    "evaluate_rollouts": ["games=0", "rollouts=2", "positions=4", "net_rollouts=2"],
    "export_model": ["calibration=8", "parity=8", "agreement=0"],
    "estimate_owners": ["rollouts=2"],
    "generate_positions": ["games=2", "turns=30", "executor.workers=1"],
    "reinforce_policy": ["updates=1", "games=2", "evaluate.games=2", "evaluate.every=1"],
    "play_match": ["games=1", "size=9", "max_moves=20"],
    "analyze_game": ["last=3", "seconds=0.1"],
    "measure_speed": ["only=[disk]", "runs=1", "games=20"],
}
NETS = {"policy": 16, "policy_resnet": 16, "value": 16, "value_resnet": 16}  # filters
# estimate_rank wants a net that takes ranks, of which none ships yet
ENDLESS = ("play_gtp", "run_demo", "report_sweep", "report_zero", "measure_speed", "estimate_rank")


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({page for page, _ in SCRIPTS}))
def test_every_command_of_a_page_runs(page: str, tmp_path: Path) -> None:
    """In the order of the page, as later commands use what earlier ones made.

    Commands are left out that only show or serve, that need other programs, and that repeat one.
    """
    (tmp_path / "games").mkdir()
    make_dataset(tmp_path)
    (tmp_path / "records").rename(tmp_path / "games" / "small")
    (tmp_path / "game.sgf").write_text("(;GM[1]FF[4]SZ[19];B[pd];W[dp];B[pp];W[dd])")
    for name in ("pipelines", "models"):
        (tmp_path / name).symlink_to(ROOT / name)
    of_page = [words for source, words in SCRIPTS if source == page]
    for words in prepared(of_page):
        script = Path(words[0]).stem
        if script in ENDLESS or words[1:] in ([], ["--help"]):
            continue
        if re.search("gnugo|slurm", " ".join(words)):
            continue
        outcome = run_watched(
            [sys.executable, *smaller(script, words, tmp_path)], seconds=600, cwd=tmp_path
        )
        assert outcome.kind == "well", (words, outcome)


def prepared(of_page: list[Words]) -> list[Words]:
    """Each command once, after those that make the dataset and the run that the page needs."""
    build = ["pipelines/build_dataset.py", "source=games/", "output=datasets/kgs.h5"]
    train = ["pipelines/train_model.py", "model=policy_resnet", "dataset=datasets/kgs.h5"]
    needs_run = any("<run>" in word for words in of_page for word in words)
    rest = sorted(of_page, key=lambda words: "build_dataset" not in words[0])
    chosen: list[Words] = [build] if [build[0]] not in rest else []
    for words in [*([train] if needs_run else []), *rest]:
        if words not in chosen:
            chosen.append(words)
    return chosen


def smaller(script: str, words: Words, folder: Path) -> Words:
    """The command for a small dataset: real names of files, and little to do."""
    runs = sorted((folder / "outputs" / "train_model").glob("*/checkpoints"))
    run = next((path for path in runs), folder)
    words = [word.replace("outputs/train_model/<run>/checkpoints", str(run)) for word in words]
    words = [word for word in words if not word.startswith("filters.")]
    said = {word.partition("=")[0] for word in words}
    if script == "build_dataset":
        words += ["size=9"]
    if script in ("train_model", "reinforce_policy") and "resume" in said:
        return words
    if script == "train_model":
        named_models = (word.partition("=")[2] for word in words if word.startswith("model="))
        model = next(named_models, "policy")
        if model in NETS and not said & {"model.net.filters", "experiment"}:
            words += [f"model.net.filters={NETS[model]}"]
        words += ["dataset=datasets/kgs.h5"] * ("dataset" not in said)
        words += ["hydra.sweeper.n_trials=2"] * ("hydra/sweeper=search" in words)
    own = SMALL.get(script, [])
    return [*words, *(word for word in own if word.partition("=")[0] not in said)]
