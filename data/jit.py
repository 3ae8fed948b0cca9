"""`@kernel`: how every compiled loop here is compiled, and the folder where the compiled code is kept.

Numba's cache does not notice an edit in a function that lives in another file, and would go on returning old results. So the
cache folder is named after a hash of all kernel sources and of the switches that change code (bounds checks). It lies in
`LAMBDAGO_CACHE`, else in the user's cache folder, else, where neither can be written, in a temporary one.

`make nojit` runs kernels interpreted (NUMBA_DISABLE_JIT=1), `make bounds` with index checks (NUMBA_BOUNDSCHECK=1).
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGES = ("data", "models", "mcts")
ROOT = Path(__file__).resolve().parent.parent


def kernel_sources() -> list[Path]:
    """Every file whose text can end up in compiled code: kernels, and the constants and the decorator they use."""
    shared = [ROOT / "data" / name for name in ("jit.py", "coords.py", "features.py")]
    return shared + sorted(path for package in PACKAGES for path in (ROOT / package).glob("*_kernels.py"))


def cache_folder() -> Path:
    digest = hashlib.sha256(os.environ.get("NUMBA_BOUNDSCHECK", "0").encode())
    for path in kernel_sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    for base in (os.environ.get("LAMBDAGO_CACHE"), os.environ.get("XDG_CACHE_HOME"), Path.home() / ".cache"):
        if base and writable(folder := Path(base) / "lambdago" / name):
            return folder
    return Path(tempfile.gettempdir()) / f"lambdago-{os.getuid() if hasattr(os, 'getuid') else 'cache'}" / name


def writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


# Numba reads its settings when it is first imported, so this line stands before the import.
os.environ["NUMBA_CACHE_DIR"] = str(cache_folder())

import numba  # noqa: E402  (see above)
from numba import types  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

config: Any = numba.config  # its names are made at run time
config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]  # somebody may have imported Numba before us


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on first call, without the GIL, from the cache where it is there."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


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
        return types.uint64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])

    @intrinsic
    def lowest_bit(typingctx: Any, word: Any) -> Any:
        """Index of the lowest one in a uint64 that is not 0."""

        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], context.get_constant(types.boolean, True))

        return types.uint64(types.uint64), build
