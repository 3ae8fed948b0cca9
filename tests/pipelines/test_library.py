"""The examples of the READMEs for those who use the packages as a library: each block of Python in a
section `As a library` is a program that runs by itself.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.shell.environment import ROOT
from tests.support.tiny_dataset import make_dataset

SECTION = re.compile(r"^(#+) As a library\n(.*?)(?=^\1 |\Z)", re.MULTILINE | re.DOTALL)
LONGEST = 10  # lines of an example, empty ones and the first imports included


def examples() -> list[tuple[str, str]]:
    """Return the README and the text of each example."""
    pages = sorted({ROOT / "README.md", *ROOT.glob("[a-z]*/**/README.md")})
    return [
        (path.relative_to(ROOT).as_posix(), block)
        for path in pages
        if path.is_file()
        for section in SECTION.finditer(path.read_text(encoding="utf-8"))
        for block in re.findall(r"^```python\n(.*?)^```", section[2], re.MULTILINE | re.DOTALL)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the examples run: with the dataset `games.h5` that some of them open."""
    made = tmp_path_factory.mktemp("library")
    make_dataset(made, size=19).rename(made / "games.h5")
    return made


@pytest.mark.parametrize(("page", "example"), examples())
def test_an_example_runs_by_itself(page: str, example: str, folder: Path) -> None:
    assert len(example.splitlines()) <= LONGEST
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{example}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and done.stdout, f"{page}:\n{example}\n{done.stderr}"
