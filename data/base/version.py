"""The version of the project, which stands in `pyproject.toml` alone."""

import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

# a wheel holds none
PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


@cache
def version() -> str:
    """Return the version of the project.

    In a checkout it is the checkout's own, else that of the installed package.
    """
    if PROJECT.is_file():
        return str(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"])
    return metadata.version("lambdago")
