"""The build hook of the wheel: the five top-level packages of the checkout become one, `lambdago`.

A checkout holds `data models mcts pipelines conf` at its top level. These names are too general
for somebody's site-packages, so the wheel holds `lambdago/data`, `lambdago/models` and so on, and
`lambdago.py` as `lambdago/__init__.py`. The hook copies the files and rewrites the names in them:

| in               | from                            | to                                       |
| ---------------- | ------------------------------- | ---------------------------------------- |
| Python, imports  | `from data.game import board`   | `from lambdago.data.game import board`   |
|                  | `import data.game.board as b`   | `import lambdago.data.game.board as b`   |
| YAML, `_target_` | `_target_: models.nets.Tower`   | `_target_: lambdago.models.nets.Tower`   |

Nothing is guessed: imports are found in the syntax tree. What cannot be rewritten stops the build
with one line, and so does a string that names one of our modules (write `f"{__package__}..."` or a
path from `__file__` instead). An editable install uses the checkout as it is, without this hook.
An sdist is a copy of the checkout and builds the same wheel.
"""

import ast
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("data", "models", "mcts", "pipelines", "conf")
DOOR = "lambdago.py"
WHEEL = "lambdago"

OURS = "|".join(PACKAGES)
DOTTED = re.compile(rf"(?<![\w./])(?:{OURS})(?:\.[A-Za-z_]\w*)+")
CODE = re.compile(rf"(?:^|[;\n])\s*(?:from\s+(?:{OURS})[.\w]*\s+import|import\s+(?:{OURS}))\b")
TARGET = re.compile(rf"(?<!\w)(_target_\s*:\s*[\"']?)(?=(?:{OURS})\.)")
KEPT = "# wheel: kept"  # a comment on a line whose string may name a module of the checkout


class CannotRewrite(Exception):
    """A file holds a name that the wheel would get wrong; the message is one line with file and
    line.
    """


class LambdaGoWheel(BuildHookInterface):
    """Fills the standard wheel; hatchling itself selects nothing for it (`bypass-selection`)."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "standard":
            return
        root = Path(self.root)
        self.folder = Path(tempfile.mkdtemp(prefix="lambdago-wheel-"))
        try:
            write_package(root, self.files(root), self.folder)
        except BaseException as error:
            shutil.rmtree(self.folder)
            if not isinstance(error, CannotRewrite):
                raise
            self.app.abort(str(error))
        build_data["force_include"][str(self.folder)] = WHEEL

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version == "standard":
            shutil.rmtree(self.folder)

    def files(self, root: Path) -> Iterator[str]:
        """Yield the files of the packages that git does not ignore, relative to `root`."""
        sources = {str(root / name): name for name in PACKAGES}
        for file in self.build_config.builder.recurse_explicit_files(sources):
            yield Path(file.relative_path).as_posix()


def write_package(root: Path, files: Iterable[str], folder: Path) -> None:
    """Write the one package of the wheel into `folder`."""
    files = [DOOR, *sorted(files)]
    modules = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in files
        if name.endswith(".py")
    }
    for name in files:
        target = folder / ("__init__.py" if name == DOOR else name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".py"):
            target.write_text(
                rewrite_python((root / name).read_text(encoding="utf-8"), name, modules),
                encoding="utf-8",
            )
        elif name.endswith((".yaml", ".yml")):
            target.write_text(
                rewrite_yaml((root / name).read_text(encoding="utf-8"), name, modules),
                encoding="utf-8",
            )
        else:
            shutil.copyfile(root / name, target)
    (folder / "py.typed").touch()


# --- Python


def rewrite_python(text: str, name: str, modules: Iterable[str] = ()) -> str:
    """Return the source with `lambdago.` before the names of our packages in its absolute imports.

    `modules` are the dotted names of all our modules: a string that names one of them is refused.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise CannotRewrite(f"{name}:{error.lineno}: no Python: {error.msg}") from None
    check_strings(tree, text, name, set(modules))
    lines = text.encode().split(b"\n")  # columns of a syntax tree count bytes
    for line, column in sorted(imported_names(tree, lines, name), reverse=True):
        lines[line - 1] = lines[line - 1][:column] + f"{WHEEL}.".encode() + lines[line - 1][column:]
    rewritten = b"\n".join(lines).decode()
    left = [module for module, _ in absolute_imports(ast.parse(rewritten)) if is_ours(module)]
    if left:
        raise CannotRewrite(f"{name}: the import of {left[0]} was not rewritten")
    return rewritten


def imported_names(tree: ast.AST, lines: list[bytes], name: str) -> Iterator[tuple[int, int]]:
    """Yield line and column where the name of one of our packages begins in an import."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for module, node in absolute_imports(tree):
        if not is_ours(module):
            continue
        package = module.partition(".")[0]
        if isinstance(node, ast.alias) and node.asname is None and package in used:
            raise CannotRewrite(
                f"{name}:{node.lineno}: `import {module}` binds the name {package}; "
                "write `from ... import` or `import ... as`"
            )
        column = node.col_offset
        if isinstance(node, ast.ImportFrom):
            found = re.compile(rb"from\s+").match(lines[node.lineno - 1], node.col_offset)
            column = found.end() if found else -1
        if column < 0 or not lines[node.lineno - 1].startswith(package.encode(), column):
            raise CannotRewrite(f"{name}:{node.lineno}: write this import of {module} on one line")
        yield node.lineno, column


def absolute_imports(tree: ast.AST) -> Iterator[tuple[str, ast.ImportFrom | ast.alias]]:
    """Yield every module that is imported by its whole name, and the node that says so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module), node
        elif isinstance(node, ast.Import):
            yield from ((alias.name, alias) for alias in node.names)


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def check_strings(tree: ast.AST, text: str, name: str, modules: set[str]) -> None:
    """Refuse strings that name our modules or import them: they would not be found in the wheel."""
    lines = text.split("\n")
    for node in strings(tree):
        span = lines[node.lineno - 1 : node.end_lineno]
        if any(KEPT in line for line in span):
            continue
        if found := CODE.search(node.value):
            raise CannotRewrite(
                f"{name}:{node.lineno}: a program in a string imports ours "
                f"({found[0].strip()}); use __name__"
            )
        if named := names_module(node.value, modules):
            raise CannotRewrite(
                f"{name}:{node.lineno}: a string names the module {named}; "
                f"use __package__, or add {KEPT}"
            )


def strings(tree: ast.AST) -> Iterator[Any]:
    """Yield all constants that are strings, but for those that are statements: docstrings."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node


def names_module(text: str, modules: set[str]) -> str:
    """Return the first name in the text that is one of our modules or is in one, or ''."""
    for found in DOTTED.finditer(text):
        named = found[0]
        if named in modules or named.rpartition(".")[0] in modules - set(PACKAGES):
            return named
    return ""


# --- YAML


def rewrite_yaml(text: str, name: str, modules: Iterable[str] = ()) -> str:
    """Return the configuration with `lambdago.` before our packages in each `_target_`."""
    rewritten = []
    for number, line in enumerate(text.split("\n"), 1):
        code, hash_sign, comment = split_comment(line)
        code = TARGET.sub(rf"\1{WHEEL}.", code)
        if named := names_module(code, set(modules)):
            raise CannotRewrite(f"{name}:{number}: {named} is named outside of a _target_")
        rewritten.append(code + hash_sign + comment)
    return "\n".join(rewritten)


def split_comment(line: str) -> tuple[str, str, str]:
    """Split a line of YAML before its comment, which begins the line or follows a space."""
    found = re.search(r"(?:^|(?<=\s))#", line)
    return (line[: found.start()], "#", line[found.end() :]) if found else (line, "", "")
