"""Paths are paths: whatever a file is called, `key=path` names it, and a command that is printed
can be pasted.
"""

import re
import shlex
import string
from pathlib import Path

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from pipelines.shell.configuration import CONF
from pipelines.shell.path_keys import PATH_KEYS, argument, command, path_in, quoted

NASTY = [
    "囲碁.zip", "기보 (2015).zip", "/x/my games [a]/b.h5", "a,b=c.zip", "Alpha'Go.ZIP", 'say "b".zip', "a\\b", "a\\", "'", "\\'",
    "[", "[a]", "[a,b]", "{a}", "$x", "${x}", "a\\${x}", "null", "true", "1e5", "2001", "~", "~/x", "a~b", "#1", "%", "!", "&;|",
    "a:b", " a ", "\ta", "a\nb", "'a'", '"a"', "-m", "=", "a=b", "choice(a,b)", "?", "*", "é", "\u202e",
]  # fmt: skip
LETTERS = st.text(
    st.sampled_from(string.ascii_letters[:3] + "囲바~ ()[]{},'\"\\$#=:;&|!?*%`\t\n-./1"),
    min_size=1,
    max_size=12,
)


def as_hydra_reads(arguments: list[str]) -> dict[str, object]:
    """The values as the script's configuration has them."""
    parsed = OverridesParser.create().parse_overrides(arguments)
    cfg = OmegaConf.create({one.key_or_group: one.value() for one in parsed})
    return {
        key: OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
        for key, value in cfg.items()
    }


@pytest.mark.parametrize("path", NASTY)
def test_a_printed_path_is_read_back(path: str) -> None:
    for script, key in (
        ("train_model", "dataset"),
        ("build_dataset", "source"),
        ("export_model", "checkpoint"),
    ):
        line = shlex.split(command(script, **{key: path}))
        assert line[:2] == ["python", f"pipelines/{script}.py"]
        (value,) = as_hydra_reads(quoted(script, line[2:])).values()
        assert Path(str(value)) == Path(path)


@given(LETTERS)
@settings(max_examples=300, deadline=None)
def test_any_printed_path_is_read_back(path: str) -> None:
    for script, key in (("train_model", "resume"), ("build_dataset", "source")):
        words = [argument(script, key, path)]
        assert Path(str(as_hydra_reads(quoted(script, words))[key])) == Path(path)
        assert quoted(script, quoted(script, words)) == quoted(script, words)


@given(LETTERS)
@settings(max_examples=300, deadline=None)
def test_what_is_typed_without_quotes_for_hydra_is_the_path(path: str) -> None:
    is_other = path[0] in "'\"~" or path.lower() == "null" or "${" in path  # these have a meaning
    if not is_other:
        assert as_hydra_reads(quoted("build_dataset", [f"output={path}"])) == {"output": path}


def test_lists_and_what_was_quoted_before_mean_what_they_meant() -> None:
    for typed, meant in (
        ("source=[a b.zip,囲碁.zip]", ["a b.zip", "囲碁.zip"]),
        ("source=['a,b.zip', c (1).zip ]", ["a,b.zip", "c (1).zip"]),
        ("source=[Alpha'Go.zip,b]", ["Alpha'Go.zip", "b"]),
        ("source='[a,b]'", "[a,b]"),
        ('source="a b"', "a b"),
        ("source='it\\'s'", "it's"),
        ("source=2001", "2001"),
        ("source=null", None),
        ("source=~/a.zip", str(Path.home() / "a.zip")),
        ("source=[~/a.zip,'~/b']", [str(Path.home() / "a.zip"), str(Path.home() / "b")]),
        ("++source=a (b)", "a (b)"),
    ):
        assert list(as_hydra_reads(quoted("build_dataset", [typed])).values()) == [meant], typed
    others = ["filters.players=[a,b]", "-m", "~source", "executor=dask", "size=9"]
    assert quoted("build_dataset", others) == others


def test_a_sweep_over_paths_is_still_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["-m", "dataset=a (1).h5,囲.h5", "optimizer.lr=0.1,0.2", "hydra.sweep.dir=a,b"]
    assert quoted("train_model", words) == [
        "-m",
        "dataset='a (1).h5','囲.h5'",
        "optimizer.lr=0.1,0.2",
        "hydra.sweep.dir='a,b'",
    ]
    assert quoted("train_model", ["-m", "dataset=choice(a,b)"])[1] == "dataset=choice(a,b)"
    assert quoted("train_model", ["sweep=policy_width", "start='a','b,c'"])[1] == "start='a','b,c'"
    assert quoted("train_model", ["dataset=a,b.h5"]) == ["dataset='a,b.h5'"]
    (tmp_path / "a,b.h5").touch()
    assert quoted("train_model", ["-m", "dataset=a,b.h5"])[1] == "dataset='a,b.h5'"


def test_what_is_filled_in_is_still_filled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert quoted("train_model", ["hydra.run.dir=out (1)/${model.name}"]) == [
        "hydra.run.dir='out (1)/${model.name}'"
    ]
    (tmp_path / "a${b}").touch()
    assert as_hydra_reads(quoted("train_model", ["dataset=a${b}"])) == {"dataset": "a${b}"}
    assert path_in("train_model", "resume='it\\'s (a)'") == "it's (a)"


WORDS = re.compile(
    r"\b(files?|folder|archive|checkpoint|\.\w+ card|an SGF|weights of|dataset:|likewise)\b",
    re.IGNORECASE,
)
NO_PATHS = {"agreement", "damaged", "name", "names", "objective", "overwrite", "parity", "sample"}


@pytest.mark.parametrize("script", sorted(path.stem for path in CONF.glob("*.yaml")))
def test_every_key_that_is_a_path_is_known_as_one(script: str) -> None:
    """By its comment or its value; a new key with such a comment that is none belongs into
    NO_PATHS.
    """
    text = (CONF / f"{script}.yaml").read_text(encoding="utf-8")
    keys = {key.removesuffix("[]") for key in PATH_KEYS[script]}
    top = yaml.safe_load(text)
    assert {key for key in keys if "." not in key} <= set(top), "keys that are none"
    found = {
        line[1]
        for line in re.finditer(r"^(\w+): (.*)$", text, re.MULTILINE)
        if is_like_a_path(line[2])
    }
    assert found - keys - NO_PATHS == set()


def is_like_a_path(text: str) -> bool:
    value, _, comment = text.partition("#")
    return "/" in value or "runtime.output_dir" in value or bool(WORDS.search(comment))
