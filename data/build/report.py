"""What a build left out and why, and what it kept: the report `<output>.report.json`."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data.base.atomic import write_text
from data.base.errors import Mistake
from data.dataset.summary import by_count, lengths
from data.records import filters, replay, sgf
from data.records.identity import OPENING
from data.records.metadata import from_rank
from data.records.splits import SPLITS
from data.sources.file_kinds import PassedOver
from data.sources.guard import TRAILING, ReadStats

EXAMPLES = 5  # of each reason
FULL = "enough of this source"
# of games that were played for a dataset: see mcts/selfplay/value_data/recipe.py
EARLY, CUT_OFF = "over before its position", "cut off"
SURPLUS = "not needed"
LATER = ("duplicate", FULL, SURPLUS)  # reasons that are found when the file is planned
WINNERS = {1: "Black", -1: "White", 0: "nobody or unknown"}

OWN_REASONS = {
    "unreadable file": "the file could not be read from its archive",
    "duplicate": "the same moves as a game before, as they are or in a mirror",
    EARLY: "the game ended before the position after its random move: another one was played",
    CUT_OFF: "the game was still going on after the most turns that are allowed, so its result is "
    "not known: another one was played",
    SURPLUS: "played in the same task as the last games that were needed",
}
REASONS = {**sgf.REASONS, **replay.REASONS, **filters.REASONS, **OWN_REASONS}
MENDED = sgf.MENDED | {
    TRAILING: "bytes follow the end of the packed file; "
    "they are left out, and what comes before is read"
}
UNWANTED = {*filters.REASONS, "duplicate", "other size", "not go"}  # nothing wrong with these games


class BadInput(Mistake):
    """More games were rejected than the user allows."""


class Rejects:
    """Counts by reason, with examples, filled part by part."""

    def __init__(self) -> None:
        self.files = 0
        self.admitted = 0  # read, legal and wanted; before duplicates
        self.kept = 0
        self.near_duplicates = 0
        self.skipped = 0  # files in the sources that are no games by their names
        self.nested = 0  # of these, archives inside archives
        self.passed = PassedOver()  # files that may hold games and are not read
        self.reasons: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}
        # games that were read after something was put right in their files
        self.mended: Counter[str] = Counter()
        self.mended_examples: dict[str, list[str]] = {}

    @property
    def dropped(self) -> int:
        return sum(self.reasons.values())

    @property
    def seen(self) -> int:
        return self.admitted + self.dropped - sum(self.reasons[reason] for reason in LATER)

    def add_passed_over(self, stats: ReadStats, passed: PassedOver) -> None:
        """`stats` were counted inside of archives; `passed` outside of them, and changes here."""
        self.skipped, self.nested = stats.skipped, stats.nested
        passed.include(stats.passed)
        self.passed = passed

    def add_part(self, part: h5py.File) -> None:
        self.files += int(part.attrs["files"])
        self.admitted += len(part["games"]["split"])
        for reason, detail, source in json.loads(part["rejects"][:].tobytes()):
            self.add(reason, name_example(source, detail))
        for what, source in json.loads(part["mended"][:].tobytes()):
            self.mended[what] += 1
            add_example(self.mended_examples, what, source)

    def add(self, reason: str, example: str) -> None:
        self.reasons[reason] += 1
        add_example(self.examples, reason, example)

    def add_duplicates(
        self,
        parts: list[Path],
        games: dict[str, np.ndarray],
        dropped: np.ndarray,
        first: np.ndarray,
    ) -> None:
        """Count the games numbered `dropped`; `first` has the game that is kept, for every game."""
        for game in dropped[:EXAMPLES]:
            sources = [
                source_of(parts[games["part"][k]], int(games["row"][k]))
                for k in (game, first[game])
            ]
            self.add("duplicate", f"{sources[0]}: the same as {sources[1]}")
        self.reasons["duplicate"] += max(0, len(dropped) - EXAMPLES)

    def add_full(self, labels: list[str], label: np.ndarray, reason: str = FULL) -> None:
        """Games that came after enough of their source; `label` has one entry a game."""
        for index, count in zip(*np.unique(label, return_counts=True), strict=True):
            self.add(reason, labels[index])
            self.reasons[reason] += int(count) - 1

    def check_rate(self, most: float) -> None:
        bad = sum(count for reason, count in self.reasons.items() if reason not in UNWANTED)
        if self.seen and bad / self.seen > most:
            raise BadInput(
                f"{bad:,} of {self.seen:,} games were rejected, {bad / self.seen:.1%}, "
                f"more than max_reject_rate={most:g}: {self.summary()}"
            )

    def failure(self) -> dict[str, Any]:
        """The report of a build that stopped because of them."""
        return {
            "failed": True,
            "games_seen": self.seen,
            "dropped": table(self.reasons, self.examples, REASONS),
        }

    def summary(self) -> str:
        return (
            ", ".join(
                f"{reason} {count:,}" for reason, count in self.reasons.most_common() if count
            )
            or "no game was found"
        )


def add_example(examples: dict[str, list[str]], key: str, example: str) -> None:
    """Keep the first few of each key."""
    some = examples.setdefault(key, [])
    if len(some) < EXAMPLES:
        some.append(example)


def name_example(source: str, detail: str) -> str:
    """`source: detail`; a detail about a whole archive begins with its name already."""
    return detail if detail.startswith(source) else f"{source}: {detail}" if detail else source


def source_of(part: Path, row: int) -> str:
    with h5py.File(part, "r", locking=False) as file:
        return str(file["games"]["source"].asstr()[row])


def write_report(path: Path, report: dict[str, Any]) -> None:
    """Write it with a checksum of the rest as its last entry."""
    write_text(
        path,
        json.dumps({**report, "sha256": hash_report(report)}, indent=1, ensure_ascii=False) + "\n",
    )


def read_report(path: Path) -> dict[str, Any] | None:
    """Return what was written, or None if the file is gone or has changed.

    Reports of older versions have no checksum.
    """
    try:
        report = dict(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return None
    digest = report.pop("sha256", None)
    return report if digest in (None, hash_report(report)) else None


def hash_report(report: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(report, sort_keys=True).encode()).hexdigest()


def make_report(
    path: Path, rejects: Rejects, seconds: float, compiling: float, resumed: bool
) -> dict[str, Any]:
    """Return the report of the finished dataset at `path` as plain values, ready for JSON.

    The time for compiling does not count as time for positions.
    """
    with h5py.File(path, "r", locking=False) as file:
        games = file["games"]
        rows = {
            name: stop - first
            for name, (first, stop) in json.loads(file.attrs["split_rows"]).items()
        }
        positions = sum(rows.values())
        size = path.stat().st_size
        ranks = np.concatenate([games["black_rank"][:], games["white_rank"][:]])
        komi = [f"{value:g}" if value == value else "unknown" for value in games["komi"][:]]
        return {
            "files": rejects.files,
            "files_skipped": rejects.skipped,
            "archives_skipped": rejects.nested,
            "games_seen": rejects.seen,
            "games_kept": rejects.kept,
            "games_by_split": {
                name: stop - first
                for name, (first, stop) in json.loads(file.attrs["split_games"]).items()
            },
            "games_for_value": int(np.count_nonzero(games["value"][:])),
            "dropped": table(rejects.reasons, rejects.examples, REASONS),
            "cut_short": find_cuts(games),
            "mended": table(rejects.mended, rejects.mended_examples, MENDED),
            "passed_over": rejects.passed.table(),
            "share_their_opening": {"games": rejects.near_duplicates, "moves": OPENING},
            "positions": positions,
            "positions_by_split": {name: rows[name] for name in SPLITS},
            "komi": by_count(komi),
            "results": by_count(map(filters.result_kind, games["result"].asstr()[:])),
            "winner": by_count(WINNERS[winner] for winner in games["winner"][:].tolist()),
            "handicap": by_count(str(stones) for stones in games["handicap"][:]),
            "handicap_put_back": int(np.count_nonzero(games["implicit_handicap"][:])),
            "lengths": lengths(np.diff(games["offset"][:])),
            "ranks": {  # of players, two a game
                from_rank(rank) if rank else "unknown": int(count)
                for rank, count in zip(*np.unique(ranks, return_counts=True), strict=True)
            },
            "bytes": size,
            "bytes_a_position": round(size / max(1, positions), 2),
            "seconds": round(seconds, 2),
            "seconds_compiling": round(compiling, 2),
            "positions_a_second": round(positions / max(seconds - compiling, 1e-3)),
            "resumed": resumed,
        }


def find_cuts(games: h5py.Group) -> dict[str, Any]:
    """Kept games that end before their record does."""
    cuts = games["cut"].asstr()[:]
    counts: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}
    for row in np.flatnonzero(cuts != ""):
        kind = cuts[row].split(":")[0]
        counts[kind] += 1
        if counts[kind] <= EXAMPLES:
            add_example(
                examples,
                kind,
                name_example(str(games["source"].asstr()[row]), cuts[row][len(kind) + 2 :]),
            )
    return table(counts, examples, REASONS)


def table(
    counts: Counter[str], examples: dict[str, list[str]], meanings: dict[str, str]
) -> dict[str, Any]:
    return {
        reason: {
            "games": count,
            "meaning": meanings.get(reason, ""),
            "examples": examples.get(reason, []),
        }
        for reason, count in counts.most_common()
        if count
    }
