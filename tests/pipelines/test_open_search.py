"""A search for programs: the lines of `mcts/README.md` run, and errors name what is wrong."""

import re
from pathlib import Path

import pytest

from mcts.search.params import SearchParams
from mcts.search.search import Search
from pipelines.engine.net_files import NoSuchNet
from pipelines.engine.thinkers import open_search
from pipelines.shell.environment import ROOT
from pipelines.shell.options import OptionError

WITHOUT_NETS = {"policy": "none", "value": "none", "tree": "none"}


def test_the_lines_of_the_readme_search(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "mcts" / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    (lines,) = [block for block in blocks if "open_search" in block]
    exec(compile(lines, "mcts/README.md", "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 3 and all(re.fullmatch(r"[A-T]\d+ \d+ [\d.]+%", line) for line in shown)


def test_a_search_is_opened_as_named(tmp_path: Path) -> None:
    search = open_search(5, search="rollouts_only", threads=1, **WITHOUT_NETS)
    assert isinstance(search, Search) and search.policy is None
    assert search.params == SearchParams(lam=1.0, value_net=False, threads=1, c_puct=2.5)
    search.close()
    for options, error, why in (
        ({"search": "nonsense"}, OptionError, "search=nonsense: one of default,"),
        ({"search": "policy_only"}, OptionError, "without a search"),
        ({"lam": 1}, OptionError, "lam: there is no such option"),
        ({"policy": str(tmp_path / "x.json")}, NoSuchNet, "there is no such file"),
    ):
        with pytest.raises(error, match=why):
            open_search(5, **{**WITHOUT_NETS, **options})
