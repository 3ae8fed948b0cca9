"""What a file is by its name: a game, an archive, a volume, or something to convert first."""

import re
from collections import Counter
from dataclasses import dataclass, field

from data.base.text import count_of

KINDS = {
    ".zip": "zip",
    ".7z": "7z",
    ".tar": "tar",
    ".tgz": "tar",
    ".tar.gz": "tar",
    ".tar.bz2": "tar",
    ".tbz2": "tar",
    ".tar.xz": "tar",
    ".txz": "tar",
}
SUPPORTED = (
    ".sgf .gib .sgf.gz .zip .tar .tar.gz .tgz .tar.bz2 .tar.xz .7z, or .001 of a split archive"
)

# What may hold games and is not read: the end of the name, what it is, and what to do.
ADVICE = (
    (r"\.(rar|r\d\d)$", "a .rar archive", "unpack it and give the folder"),
    (
        r"\.z\d\d$",
        "a volume of a spanned .zip",
        "join its volumes first (zip -s 0 a.zip --out joined.zip)",
    ),
    (
        r"\.(bz2|xz|lzma|zst|lz4|lzh|lha|arj|cab|ace)$",
        "packed in a way that is not read",
        "unpack it and give the folder",
    ),
    (
        r"\.(7z|zip|tar(\.\w+)?|tgz|tbz2|txz)\.(\d{1,2}|\d{5,}|part\d+)$",
        "a volume of a split archive, by an unusual name",
        "number the volumes .001, .002, ... behind the archive's name, as in a.7z.001",
    ),
    (
        r"^(?!.*\.(sgf|gib)(\.gz)?\.\d{3}$).*\.\d{3}$",
        "perhaps a volume of a split archive, whose kind the name does not tell",
        "put the archive's ending before the number if it is one, as in a.7z.001",
    ),
    (r"\.gz$", "packed, and by its name no game", "call it .sgf.gz if it is one"),
    (
        r"\.(ngf|ugf|ugi|gos|go|mgt)$",
        "a record that is not SGF",
        "convert it to .sgf first, as many editors of games do",
    ),
)
EXAMPLES = 5  # of each reason

GAME = re.compile(r"\.(sgf|gib)(\.gz)?$", re.IGNORECASE)
ARCHIVE = re.compile(
    rf"({'|'.join(map(re.escape, KINDS))})(?P<volume>\.\d{{3,4}})?$", re.IGNORECASE
)
ADVICE_BY_NAME = [
    (re.compile(pattern, re.IGNORECASE), what, advice) for pattern, what, advice in ADVICE
]
VOLUME = re.compile(r"(?P<whole>.+)\.(?P<number>\d{3,4})")


def is_game_name(name: str) -> bool:
    """Whether it ends in .sgf or .gib, packed or not. macOS adds `._x.sgf`, which is no game."""
    own_name = name.replace("\\", "/").rpartition("/")[2]
    return GAME.search(name) is not None and not own_name.startswith("._")


def find_kind(name: str) -> str:
    """'sgf' for one file of games, else 'zip', 'tar' or '7z', or '' for what is not read."""
    if GAME.search(name):
        return "sgf"
    match = ARCHIVE.search(name)
    return KINDS[match[1].lower()] if match else ""


def split_volume_name(name: str) -> tuple[str, str]:
    """Split `a.7z.001` into `a.7z` and `001`; the number is '' unless it names a volume."""
    match = VOLUME.fullmatch(name)
    return (
        (match["whole"], match["number"])
        if match and find_kind(match["whole"]) not in ("", "sgf")
        else (name, "")
    )


def advise(name: str) -> tuple[str, str]:
    """What an unread file is that may hold games, and what to do; two '' for other files."""
    whole = match["whole"] if (match := VOLUME.fullmatch(name)) else name
    for pattern, what, advice in ADVICE_BY_NAME:
        if pattern.search(whole) or pattern.search(name):
            return what, advice
    return "", ""


@dataclass(slots=True)
class PassedOver:
    """Files that may hold games and are not read: how many for each reason, with examples."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, example: str) -> None:
        self.counts[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(example)

    def add_unread(self, name: str, label: str) -> None:
        """Count a file if it is one that could be read after some other step."""
        what, advice = advise(name)
        if what:
            self.add(f"{what}: {advice}", label)

    def include(self, other: "PassedOver") -> None:
        """Add what another one has counted."""
        self.counts += other.counts
        for reason, examples in other.examples.items():
            mine = self.examples.setdefault(reason, [])
            mine += examples[: EXAMPLES - len(mine)]

    def describe(self) -> list[str]:
        """One line for each reason."""
        return [
            f"{count_of(count, 'file')} passed over, such as {self.examples[reason][0]}: {reason}"
            for reason, count in self.counts.most_common()
        ]

    def table(self) -> dict[str, dict[str, object]]:
        """The same as plain values."""
        return {
            reason: {"files": count, "examples": self.examples[reason]}
            for reason, count in self.counts.most_common()
        }
