"""The version of the project, which stands in `pyproject.toml` alone."""

import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

PROJECT = (
    Path(__file__).resolve().parents[2] / "pyproject.toml"
)  # in a checkout; a wheel holds none


@cache
def version() -> str:
    """Return the version: a checkout's own, whatever else is installed, else that of the installed
    package.
    """
    if PROJECT.is_file():
        return str(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"])
    return metadata.version("lambdago")
