"""The wheel: what the build hook rewrites and refuses, and what an installation does in a folder of its own.

The slow part builds the wheel, installs it into an empty environment, and works there as a stranger would: nothing of
the checkout is on its path.
"""

import ast
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import hatch_build as hook
import lambdago
from models.files.open import load_net
from pipelines.shell import commands, environment
from pipelines.shell.environment import PROGRAMS, start_of_command
from tests.support.tiny_dataset import make_dataset

ROOT = Path(lambdago.__file__).resolve().parent
PACKAGES = ("data", "models", "mcts", "pipelines", "conf")
MODULES = {"data", "data.board", "models", "models.nets", "pipelines.search_benchmarks"}


# --- rewriting


@pytest.mark.parametrize(
    "marked",  # where `lambdago.` belongs
    [
        "from @data.board import Board\n",
        "from @data import board\n",
        "import @data.board as b\n",
        "import os, @data.board as b, sys\n",
        "import @pipelines.search_benchmarks  # enters its own\n",
        "def f():\n    from @models import nets; return nets\n",
        "'ü'; from @data import board\n",
        "from @data.board import (  # all\n    Board,\n)\n",
        "x = 1\r\nfrom @data import board\r\n",
        "from .board import Board\nfrom . import data\n",
        "from database import data\nimport models_of\n",
        "from lambdago import Board\n",
        "data = 1\nprint(data.board, 'from data on')\n",
        '"""Docs: from data.board import Board; data.board is it."""\n',
        "here = 'data/board.py', 'data.h5', 'model.net'\n",
        "old = 'models.nets.Tower'  # wheel: kept\n",
    ],
)
def test_imports_are_rewritten_and_nothing_else(marked: str) -> None:
    expected = marked.replace("@", "lambdago.")
    assert hook.rewrite_python(marked.replace("@", ""), "x.py", MODULES) == expected


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import data.board\ndata.board.x()\n", "x.py:1: `import data.board` binds the name data"),
        ("x = 1\nfrom \\\n  data import board\n", "x.py:2: write this import of data on one line"),
        ("find('models.nets')\n", "x.py:1: a string names the module models.nets"),
        (
            "\nnet = {'_target_': 'models.nets.Tower'}\n",
            "x.py:2: a string names the module models.nets.Tower",
        ),
        (
            "run('import os; from data.board import Board')\n",
            "x.py:1: a program in a string imports ours",
        ),
        ("run('import data')\n", "x.py:1: a program in a string imports ours"),
        ("from data import\n", "x.py:1: no Python"),
    ],
)
def test_what_cannot_be_rewritten_stops_the_build_with_one_line(source: str, reason: str) -> None:
    with pytest.raises(hook.CannotRewrite) as refused:
        hook.rewrite_python(source, "x.py", MODULES)
    assert str(refused.value).startswith(reason) and "\n" not in str(refused.value)


def test_targets_of_configurations_are_rewritten() -> None:
    text = "# _target_: models.a\n_target_: models.nets.Tower\nnet:\n  - {_target_: data.board.Board, size: 19}  # data.board\n"
    made = hook.rewrite_yaml(
        text + "logger:\n  _target_: pytorch_lightning.loggers.X\npath: data/board.h5\n",
        "x.yaml",
        MODULES,
    )
    assert made.splitlines() == [
        "# _target_: models.a",
        "_target_: lambdago.models.nets.Tower",
        "net:",
        "  - {_target_: lambdago.data.board.Board, size: 19}  # data.board",
        "logger:",
        "  _target_: pytorch_lightning.loggers.X",
        "path: data/board.h5",
    ]
    with pytest.raises(
        hook.CannotRewrite, match=r"^x.yaml:2: data.board.Board is named outside of a _target_$"
    ):
        hook.rewrite_yaml("a: 1\nkind: data.board.Board\n", "x.yaml", MODULES)


def test_every_file_of_the_checkout_can_be_rewritten(tmp_path: Path) -> None:
    files = [
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".yaml")
    ]
    hook.write_package(ROOT, files, tmp_path / "lambdago")
    for path in (tmp_path / "lambdago").rglob("*.py"):
        for module, _ in hook.absolute_imports(ast.parse(path.read_bytes())):
            assert module.partition(".")[0] not in PACKAGES, path
    for path in (tmp_path / "lambdago").rglob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(rf"^[^#]*_target_: *(?:{'|'.join(PACKAGES)})\.", text, re.MULTILINE), (
            path
        )


# --- the door


def test_public_names_are_the_same_for_type_checkers_and_at_run_time() -> None:
    for path in ("lambdago.py", "data/__init__.py", "models/__init__.py", "mcts/__init__.py"):
        tree = ast.parse((ROOT / path).read_bytes())
        checked = next(node for node in tree.body if isinstance(node, ast.If))
        seen = {
            alias.name
            for node in checked.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        door = importlib.import_module(
            Path(path).stem if path == "lambdago.py" else Path(path).parent.name
        )
        paths = {name for name in door.__all__ if isinstance(vars(door).get(name), Path)}
        assert set(door.__all__) == seen | paths, path
        for name in seen:
            assert getattr(door, name).__name__ == name and name in dir(door)
        assert not hasattr(door, "nothing") and not hasattr(door, "__nothing__")
    assert lambdago.PRETRAINED.is_dir() and lambdago.SAMPLE_GAMES.is_dir()


def test_importing_the_packages_loads_nothing_heavy() -> None:
    program = "import sys, lambdago, data, models, mcts; print(sorted({'torch', 'numba', 'numpy', 'hydra'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_the_version_stands_in_one_place() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    assert lambdago.__version__ == version
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert not [path for path in files if f'"{version}"' in path.read_text(encoding="utf-8")]


def test_games_are_read_from_files_folders_and_archives(tmp_path: Path) -> None:
    games = tmp_path / "games"
    games.mkdir()
    (games / "a.sgf").write_text("(;GM[1]SZ[9]PB[a];B[aa];W[bb])(;GM[1]SZ[19]PB[b];B[aa])")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("b.sgf", "(;GM[1]SZ[9]PB[c];B[aa];W[aa])")
        archive.writestr("c.sgf", "no game")
    rejected: list[object] = []
    found = list(lambdago.read_games(games, tmp_path / "b.zip", size=9, rejected=rejected))  # type: ignore[arg-type]
    assert [(game.black_name, len(game.moves)) for game in found] == [("c", 1), ("a", 2)]
    assert sorted(str(each).partition(":")[0] for each in rejected) == ["not SGF", "other size"]


# --- the program `lambdago`


def test_lambdago_lists_its_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "umbrella", "")
    for arguments in ([], ["--help"]):
        monkeypatch.setattr(sys, "argv", ["/there/bin/lambdago", *arguments])
        assert lambdago.main() == 0
        listed = re.findall(r"^  lambdago (\S+) +(\S.*)$", capsys.readouterr().out, re.MULTILINE)
        assert [f"lambdago-{name}" for name, _ in listed] == list(PROGRAMS.values())
        assert all("python" not in line for _, line in listed)
    monkeypatch.setattr(sys, "argv", ["/there/bin/lambdago", "--version"])
    assert lambdago.main() == 0 and capsys.readouterr().out == f"lambdago {lambdago.__version__}\n"


def test_an_unknown_command_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "umbrella", "")
    for word, hint in (
        ("trian", "; is train meant?"),
        ("build-dataset", "; is build meant?"),
        ("xyz", ""),
    ):
        monkeypatch.setattr(sys, "argv", ["lambdago", word])
        assert lambdago.main() == 2
        expected = (
            f"lambdago: {word}: there is no such command{hint} (lambdago --help lists them)\n"
        )
        assert capsys.readouterr() == ("", expected)


def test_commands_name_the_program_that_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "umbrella", "")
    found: list[str] = []
    monkeypatch.setattr(sys, "argv", ["/nowhere/bin/lambdago", "train", "--help"])
    monkeypatch.setattr("pipelines.train_model.main", lambda: found.extend(sys.argv))
    commands.main()
    assert found == ["/nowhere/bin/lambdago-train", "--help"], (
        "what starts itself again must find its program"
    )
    assert start_of_command("evaluate_model") == ["/nowhere/bin/lambdago", "evaluate"]


# --- an installation

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and, behind it, the packages that this Python has: not the checkout."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(folder / "bin" / "python"),
        "--disable-pip-version-check",
    ]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    behind = [
        path for path in sys.path if Path(path).name == "site-packages" and Path(path).is_dir()
    ]
    (site_packages(folder) / "dependencies.pth").write_text("".join(f"{path}\n" for path in behind))
    return folder


@pytest.fixture(scope="module")
def run(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run a program of the installation, in one folder that is nobody's."""
    where = tmp_path_factory.mktemp("elsewhere")
    surroundings = {
        name: text
        for name, text in os.environ.items()
        if name not in ("PYTHONPATH", "NUMBA_CACHE_DIR")
    }
    surroundings["PATH"] = f"{installed / 'bin'}{os.pathsep}{surroundings['PATH']}"

    def run(
        *command: str, folder: Path = where, said: str | None = None, code: int = 0
    ) -> "subprocess.CompletedProcess[str]":
        program = [str(installed / "bin" / command[0]), *command[1:]]
        done = subprocess.run(
            program,
            cwd=folder,
            env=surroundings,
            input=said,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    run.folder = where  # type: ignore[attr-defined]
    return run


def build(root: Path, target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=120)
    return next(folder.iterdir())


def site_packages(folder: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))


@pytest.mark.slow
def test_the_wheel_holds_one_package_with_all_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {
        "lambdago",
        f"lambdago-{lambdago.__version__}.dist-info",
    }
    listed = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    wanted = {f"lambdago/{name}" for name in listed} | {"lambdago/__init__.py", "lambdago/py.typed"}
    assert wanted == {name for name in names if name.startswith("lambdago/")}


@pytest.mark.slow
def test_an_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = build(ROOT, "sdist", tmp_path / "sdist")
    subprocess.run(["tar", "-xf", str(sdist), "-C", str(tmp_path)], check=True)
    again = build(tmp_path / sdist.name.removesuffix(".tar.gz"), "wheel", tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
        for name in one.namelist():
            assert one.read(name) == other.read(name), name


@pytest.mark.slow
def test_an_installation_puts_no_general_name_into_site_packages(installed: Path) -> None:
    there = {path.name for path in site_packages(installed).iterdir()} - {
        "dependencies.pth",
        "__pycache__",
    }
    assert there == {"lambdago", f"lambdago-{lambdago.__version__}.dist-info"}
    programs = {
        path.name for path in (installed / "bin").iterdir() if path.name.startswith("lambdago")
    }
    assert programs == {"lambdago", *PROGRAMS.values()}


@pytest.mark.slow
def test_an_installation_goes_from_games_to_an_answer_where_one_stands(run: Run) -> None:
    assert "  lambdago train " in run("lambdago", "--help").stdout
    assert run("lambdago", "--version").stdout == f"lambdago {lambdago.__version__}\n"
    assert run("lambdago", "train", "--help").stdout.startswith("lambdago train key=value ...")
    assert run("lambdago-train", "--help").stdout.startswith("lambdago-train key=value ...")
    games = run("python", "-c", "import lambdago; print(lambdago.SAMPLE_GAMES)").stdout.strip()
    run("lambdago", "build", f"source={games}", "output=games.h5", "executor.workers=1")
    assert ": sound; " in run("lambdago", "inspect", "dataset=games.h5", "verify=true").stdout
    small = [
        "model=policy_resnet",
        "model.net.filters=8",
        "model.net.hidden=8",
        "model.net.blocks=1",
        "debug=one_batch",
    ]
    said = run(
        "lambdago", "train", *small, "dataset=games.h5", "output=run", "logger=none", "threads=1"
    ).stdout
    assert "next:   lambdago evaluate checkpoint=run/checkpoints/" in said
    said = run(
        "lambdago-export", "checkpoint=run/checkpoints/last.ckpt", "dataset=games.h5", "output=net"
    ).stdout
    assert "lambdago" in said and "python pipelines" not in said
    answers = run(
        "lambdago",
        "gtp",
        "simulations=16",
        "threads=1",
        said="boardsize 9\ngenmove b\nversion\nquit\n",
    ).stdout
    assert re.fullmatch(
        rf"= \n\n= ([A-J][1-9]|pass)\n\n= {re.escape(lambdago.__version__)}\n\n= \n\n", answers
    ), answers
    assert {"games.h5", "run", "net"} <= set(os.listdir(run.folder))  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_demo_of_an_installation_starts_its_programs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "outputs").write_text("a file stands in the way")
    for command in (["lambdago", "demo"], ["lambdago-demo"]):
        said = run(*command, folder=tmp_path, code=2).stdout
        build = "lambdago build" if len(command) == 2 else "lambdago-build"
        assert re.search(
            rf"^\$ {build} source=\S+ output=outputs/demo/games.h5", said, re.MULTILINE
        )
    assert os.listdir(tmp_path) == ["outputs"]


@pytest.mark.slow
def test_runs_cross_between_an_installation_and_a_checkout(run: Run, tmp_path: Path) -> None:
    dataset = make_dataset(tmp_path)
    small = ["model=policy_resnet", "model.net.filters=8", "model.net.hidden=8"]
    words = [*small, "model.net.blocks=1", "debug=one_batch", f"dataset={dataset}", "logger=none"]
    words += ["threads=1", "trainer.accelerator=cpu"]
    here = [sys.executable, str(ROOT / "pipelines" / "train_model.py")]
    run("lambdago-train", *words, "output=there", folder=tmp_path)
    subprocess.run([*here, *words, "output=here"], cwd=tmp_path, check=True, capture_output=True)
    assert "_target_: lambdago.models" in (tmp_path / "there/config.yaml").read_text()
    assert "_target_: models" in (tmp_path / "here/config.yaml").read_text()

    said = subprocess.run(
        [*here, "resume=there", "steps=2"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert "/there/checkpoints/last.ckpt, at step 1 of 2" in said.stdout
    said = run("lambdago", "train", "resume=here", "steps=2", folder=tmp_path)
    assert "/here/checkpoints/last.ckpt, at step 1 of 2" in said.stdout

    for name in ("here", "there"):  # whose last step was taken by the other
        load_net(tmp_path / name / "checkpoints/last.ckpt")
        words = [f"checkpoint={name}/checkpoints/last.ckpt", f"dataset={dataset}"]
        run("lambdago", "export", *words, f"output=net_{name}", folder=tmp_path)
        cards = list((tmp_path / f"net_{name}").glob("*.json"))
        assert lambdago.open_net(cards[0]).card.kind == "policy"


@pytest.mark.slow
def test_a_users_own_packages_of_these_names_do_not_clash(run: Run, tmp_path: Path) -> None:
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"WHO = 'the user, {name}'\n")
    (tmp_path / "program.py").write_text(
        "from lambdago import Board, open_net, PRETRAINED, open_search, Player, GoDataModule\n"
        "import lambdago.pipelines.train_model, lambdago.pipelines.play_gtp\n"
        "import data, models, mcts, pipelines, conf\n"
        "assert all(module.WHO.startswith('the user') for module in (data, models, mcts, pipelines, conf))\n"
        "print(Board(9), open_net(PRETRAINED / 'policy.json').name)\n"
    )
    run("python", "program.py", folder=tmp_path)
    run("lambdago", "--help", folder=tmp_path)
    run("lambdago", "gtp", "simulations=2", said="genmove b\nquit\n", folder=tmp_path)
