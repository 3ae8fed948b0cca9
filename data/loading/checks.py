"""What `GoDataModule` refuses: wrong words and shares, wrong combinations, another dataset."""

from collections.abc import Sequence
from typing import Any

from data.base.errors import Mistake
from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.patterns.vocabulary import PatternError

CHOICES = {
    "inputs": ("stored", "replayed", "patterns"),
    "target": ("move", "value"),
    "symmetries": ("random", "none", "all"),
    "start_method": (None, "fork", "spawn", "forkserver"),
}


def check(**chosen: str | None) -> None:
    """Raise `ValueError` for a word that is none of its choices."""
    for name, value in chosen.items():
        if value not in CHOICES[name]:
            raise ValueError(
                f"{name}={value!r}: choose one of {', '.join(map(str, CHOICES[name]))}"
            )


def check_shares(**shares: float) -> None:
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise Mistake(f"{name}={share}: a share, from 0 to 1")


def check_patterns(prefetch: bool, extras: Sequence[str], mixed: str | None) -> None:
    if prefetch:
        raise PatternError(
            "prefetch=true: patterns are computed when they are asked for, "
            "there is nothing to read ahead"
        )
    if extras:
        raise PatternError(f"extras={','.join(extras)}: a net of patterns takes no planes")
    if mixed is not None:
        raise PatternError(f"mixed={mixed}: mixes planes; inputs=patterns has none")


def check_same_games(file: DatasetFile, then: dict[str, Any]) -> None:
    """Raise `DatasetError` if the file's identity is not `then`, with what differs."""
    now = file.identity()
    changed = [
        f"{name}: {then.get(name)}, now {now[name]}" for name in now if now[name] != then.get(name)
    ]
    if changed:
        raise DatasetError(
            f"{file.path}: not the games that this run began with ({'; '.join(changed)}); "
            f"resume with its dataset, or begin another run with start= and these weights"
        )
