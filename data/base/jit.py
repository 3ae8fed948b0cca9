"""`@kernel`, which compiles every kernel, and the folder where compiled code is kept.

Numba's cache does not notice an edit in a function that lives in another file, and would go on
returning old results. So the cache folder is named after a hash of all kernel sources and of the
switches that change code (bounds checks). It lies in `LAMBDAGO_CACHE` or `NUMBA_CACHE_DIR`, else
in the user's cache folder, else, where none can be written, in a temporary one.

`make nojit` runs kernels interpreted (NUMBA_DISABLE_JIT=1), `make bounds` with index checks
(NUMBA_BOUNDSCHECK=1).
"""

import contextlib
import hashlib
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PACKAGES = ("data", "models", "mcts")
ROOT = Path(__file__).resolve().parents[2]


def kernel_sources() -> list[Path]:
    """Every file whose text can end up in compiled code.

    These are the kernels, the constants that they use, and the decorator.
    """
    shared = [
        ROOT / "data" / name
        for name in ("base/jit.py", "game/coords.py", "features/feature_set.py")
    ]
    return shared + sorted(
        path for package in PACKAGES for path in (ROOT / package).rglob("*_kernels.py")
    )


def cache_folder() -> Path:
    """The folder of these sources on this kind of machine, made if it is not there."""
    digest = hashlib.sha256(os.environ.get("NUMBA_BOUNDSCHECK", "0").encode())
    digest.update(f"{version('numba')} {platform.machine()} {processor()}".encode())
    for path in kernel_sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    for base in cache_bases():
        if own(folder := base / "lambdago" / name):
            return folder
    return Path(tempfile.mkdtemp(prefix="lambdago-")) / name


def cache_bases() -> Iterator[Path]:
    for variable in ("LAMBDAGO_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        if text := os.environ.get(variable):
            base = Path(text)
            # A process started by one of ours finds our own setting: it means the folder that this
            # began with.
            yield base.parent.parent if base.name.startswith("kernels-") else base
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path.home() / ".cache"
    yield (
        Path(tempfile.gettempdir())
        / f"lambdago-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"
    )


def own(folder: Path) -> bool:
    """Make the folder; False if it can't be written or belongs to somebody else.

    Cached code is run as it is, so a folder of others is not safe.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        mine = not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except OSError:
        return False
    return mine and os.access(folder, os.W_OK)


def processor() -> str:
    """Which instructions compiled code may use: nodes of a cluster can differ, and share a home."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(errors="replace").splitlines() if info.exists() else []
    return next(
        (line for line in lines if line.startswith(("model name", "Features"))),
        platform.processor(),
    )


# Numba reads its settings when it is first imported, so this line stands before the import.
os.environ["NUMBA_CACHE_DIR"] = str(cache_folder())

import numba  # noqa: E402  (see above)
from numba import types  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

config: Any = numba.config  # its names are made at run time
config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]  # Numba may have been imported before us


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on first call, without the GIL, from the cache where it is there."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    if cache := getattr(compiled, "_cache", None):
        cache.save_overload = one_at_a_time(cache.save_overload)
    return compiled


def one_at_a_time(save: Callable[..., None]) -> Callable[..., None]:
    """Save under a lock.

    Numba picks a file name from its index without one, so two processes could pick the same name
    for two signatures.
    """

    def save_locked(*args: Any) -> None:
        with (Path(config.CACHE_DIR) / "lock").open("w") as lock:
            if fcntl is not None:
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(lock, fcntl.LOCK_EX)
            save(*args)

    return save_locked


if config.DISABLE_JIT:

    def popcount(word: Any) -> int:
        """Number of ones in a uint64."""
        return int(word).bit_count()

    def lowest_bit(word: Any) -> int:
        """Index of the lowest one in a uint64 that is not 0."""
        return (int(word) & -int(word)).bit_length() - 1

else:

    @intrinsic
    def popcount(typingctx: Any, word: Any) -> Any:
        """Number of ones in a uint64: one instruction, which Numba does not offer by itself."""
        return types.uint64(types.uint64), lambda context, builder, signature, args: builder.ctpop(
            args[0]
        )

    @intrinsic
    def lowest_bit(typingctx: Any, word: Any) -> Any:
        """Index of the lowest one in a uint64 that is not 0."""

        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], context.get_constant(types.boolean, True))

        return types.uint64(types.uint64), build
