"""What a script takes from the project that it belongs to: files, and the commit."""

import subprocess
from pathlib import Path

from pipelines.shell.environment import ROOT


def find_weights(path: str) -> Path:
    """Return a file of weights: where the user stands, else in the project if it is there.

    So `models/pretrained/policy.json` is found from any folder, and in an installation.
    """
    given = Path(path).expanduser()
    in_project = ROOT / given
    return in_project if not given.exists() and in_project.exists() else given


def commit() -> str:
    """Return the commit of the code, marked if the files differ from it; '' outside a checkout."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
