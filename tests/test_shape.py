"""The shape of the code: how large scripts, modules, functions, folders and kernels may get."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.paths import ROOT

PACKAGES = ("data", "models", "mcts", "pipelines")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
SCRIPT, MODULE, FUNCTION, FOLDER, ARGUMENTS = 120, 400, 60, 14, 8
COMMANDS = 24  # the folder of scripts has one for each command


def functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield path, node


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def is_kernel(node: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "kernel" for one in node.decorator_list)


def test_modules_and_scripts_are_short() -> None:
    assert len(MODULES) > 200
    assert [path.name for path in MODULES if lines(path) > MODULE] == []
    scripts = list((ROOT / "pipelines").glob("*.py"))
    assert [path.name for path in scripts if lines(path) > SCRIPT] == []


def test_functions_are_short_and_kernels_take_few_arguments() -> None:
    long, wide, kernels = [], [], 0
    for path, node in functions():
        assert node.end_lineno is not None
        if node.end_lineno - node.lineno >= FUNCTION:
            long.append(f"{path.name}: {node.name}")
        kernels += is_kernel(node)
        if is_kernel(node) and len(node.args.args) > ARGUMENTS:
            wide.append(f"{path.name}: {node.name}")
    assert kernels > 100 and (long, wide) == ([], [])


def test_folders_hold_few_modules() -> None:
    counts = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert counts.pop(ROOT / "pipelines") <= COMMANDS
    assert {str(path): count for path, count in counts.items() if count > FOLDER} == {}
