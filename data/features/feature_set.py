"""`FeatureSet`: the planes that a network takes as input, as a value. `FEATURE_SETS` has all sets.

    alphago48   the 48 planes of the 2016 paper: stones, their ages, liberties, ladders, ...
    zero17      AlphaGo Zero: the stones of the last eight positions, then Black to play
    zero18      Leela Zero and pyDLGO: the same stones, then Black to play and White to play

A set has *stored* planes and *uniform* planes. Stored planes hold a bit for each point; datasets
keep them packed. Uniform planes hold one number for the whole board (`uniform.py`); they are never
stored, since they follow from the player to move and from what is known of the game. `inputs.py`
tells which planes a net takes.

All planes are drawn from the view of the player to move. A group of 8 planes of `alphago48` is
one-hot: a count n of at least 1 sets plane min(n, 8) - 1 of its group, a count that may be 0 sets
plane min(n, 7). *Legal* is: empty, not forbidden by simple ko, no suicide.
"""

from dataclasses import dataclass
from functools import cached_property

from data.base.errors import Mistake


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    planes: int
    meaning: str
    least: int = 1  # the count of the first plane of a group


@dataclass(frozen=True)
class FeatureSet:
    name: str
    features: tuple[Feature, ...]  # stored planes, in order
    uniform: tuple[str, ...] = ()  # uniform planes that belong to the set, behind the stored ones
    history: int = 0  # earlier positions that it shows

    @cached_property
    def planes(self) -> int:
        """How many planes are stored."""
        return sum(feature.planes for feature in self.features)

    @property
    def row_bytes(self) -> int:
        """Bytes of a point, one bit a stored plane."""
        return (self.planes + 7) // 8

    def offset(self, name: str) -> int:
        """Index of the first plane of a feature. Raises KeyError for an unknown name."""
        at = 0
        for feature in self.features:
            if feature.name == name:
                return at
            at += feature.planes
        known = ", ".join(feature.name for feature in self.features)
        raise KeyError(f"no feature is called {name!r}: there are {known}")

    @cached_property
    def plane_names(self) -> tuple[str, ...]:
        """One name for each stored plane, such as `own` or `liberties:3`."""
        return tuple(
            f"{feature.name}:{feature.least + k}" if feature.planes > 1 else feature.name
            for feature in self.features
            for k in range(feature.planes)
        )

    def stores_like(self, other: "FeatureSet") -> bool:
        """Whether both sets store the same planes, as `zero17` and `zero18` do."""
        return self.features == other.features


ALPHAGO48 = FeatureSet(
    "alphago48",
    (
        Feature("own", 1, "stones of the player to move"),
        Feature("opponent", 1, "stones of the opponent"),
        Feature("empty", 1, "empty points"),
        Feature("ones", 1, "1 everywhere: where the board is, for a net that pads with zeros"),
        Feature(
            "turns_since",
            8,
            "stones: turns since the stone was placed, 1 for the last move; "
            "set-up stones are in the last plane",
        ),
        Feature("liberties", 8, "stones: liberties of the string"),
        Feature(
            "capture_size",
            8,
            "legal moves: opponent's stones that the move captures, from 0",
            least=0,
        ),
        Feature(
            "self_atari_size",
            8,
            "legal moves that leave the played string one liberty: its number of stones",
        ),
        Feature("liberties_after", 8, "legal moves: liberties of the played string, captures done"),
        Feature("ladder_capture", 1, "legal moves that catch a string in a ladder"),
        Feature("ladder_escape", 1, "legal moves that save a string from a ladder"),
        Feature("sensibleness", 1, "legal moves that fill no own eye"),
        Feature("zeros", 1, "0 everywhere"),
    ),
)

# Counts of these two begin at 0: plane `own:3` shows the stones of three turns ago.
STONES_OF_EIGHT = (
    Feature("own", 8, "stones of the player to move, so many turns ago", least=0),
    Feature("opponent", 8, "stones of the opponent, so many turns ago", least=0),
)
ZERO17 = FeatureSet("zero17", STONES_OF_EIGHT, ("black_to_play",), history=7)
ZERO18 = FeatureSet("zero18", STONES_OF_EIGHT, ("black_to_play", "white_to_play"), history=7)

FEATURE_SETS = {each.name: each for each in (ALPHAGO48, ZERO17, ZERO18)}


def feature_set(name: str) -> FeatureSet:
    """Return the set of that name. Raises `Mistake` for an unknown one."""
    if name not in FEATURE_SETS:
        raise Mistake(f"features={name}: one of {', '.join(FEATURE_SETS)}")
    return FEATURE_SETS[name]
