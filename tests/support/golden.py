"""Golden texts: small files that a Go player can review in a diff.

    golden("search_tree", text)      compares `text` with tests/golden/search_tree.txt

`make golden` sets LAMBDAGO_GOLDEN=rewrite: then the file is written instead, if the text differs.
The name must be a literal, so that `names_in_tests` finds the files that no test compares any more.
"""

import ast
import difflib
import os
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FOLDER = TESTS / "golden"
VARIABLE = "LAMBDAGO_GOLDEN"
HINT = "If the change is wanted, run `make golden` and look at the diff."


def golden(name: str, text: str, *, folder: Path = FOLDER) -> None:
    """Raise `AssertionError` with a unified diff unless `folder/name.txt` holds `text`."""
    path = folder / f"{name}.txt"
    text = "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if text == before:
        return
    if os.environ.get(VARIABLE) == "rewrite":
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    lines = (part.splitlines(keepends=True) for part in (before, text))
    difference = "".join(difflib.unified_diff(*lines, fromfile=f"golden/{path.name}", tofile="now"))
    raise AssertionError(f"{path.name} differs:\n{difference}{HINT}")


def names_in_tests(folder: Path = TESTS) -> set[str]:
    """The names that calls of `golden` have in all test files, except calls for another folder."""
    names = set()
    for path in folder.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", None) == "golden"
                and not node.keywords
            ):
                assert isinstance(node.args[0], ast.Constant), (
                    f"{path.name}:{node.lineno}: the name must be a literal"
                )
                names.add(str(node.args[0].value))
    return names
