"""`Inputs`: the planes that a net takes, in order: stored planes, then uniform ones.

    Inputs(ALPHAGO48)                                    the 48
    Inputs(ALPHAGO48, 12)                                the first 12 of them
    Inputs(ALPHAGO48, uniform=("black_to_play", "komi")) the 48, colour to move, komi
    Inputs(ZERO17)                                       16 stored planes and Black to play

Cards hold the names of the planes (`names`), from which `inputs_of_names` makes the same value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from data.base.errors import Mistake
from data.features.feature_set import ALPHAGO48, FEATURE_SETS, FeatureSet
from data.features.uniform import UNIFORM


@dataclass(frozen=True)
class Inputs:
    features: FeatureSet = ALPHAGO48
    # the first so many of the stored planes; -1: all. Sets with history have all: the first ones
    # are stones of one colour
    stored: int = -1
    uniform: tuple[str, ...] = ()  # the set's own uniform planes come first, named here or not

    def __post_init__(self) -> None:
        stored = self.features.planes if self.stored == -1 else self.stored
        own = self.features.uniform
        uniform = (*own, *(name for name in self.uniform if name not in own))
        object.__setattr__(self, "stored", stored)
        object.__setattr__(self, "uniform", uniform)
        if self.features.history and stored != self.features.planes:
            raise Mistake(
                f"planes={stored}: {self.features.name} has {self.features.planes}, "
                "and a net takes all of them"
            )
        if not 1 <= stored <= self.features.planes:
            raise Mistake(
                f"planes={stored}: {self.features.name} has {self.features.planes}, "
                "a net takes the first so many of them"
            )
        if wrong := [name for name in uniform if name not in UNIFORM]:
            raise Mistake(f"{wrong[0]}: no such input, there are {', '.join(UNIFORM)}")
        if len(set(uniform)) < len(uniform):
            raise Mistake(f"{', '.join(uniform)}: each input once")

    @staticmethod
    def of_count(planes: int) -> "Inputs":
        """Return what older files mean by a number of planes: 49 has the colour, 50 komi, too."""
        return Inputs(ALPHAGO48, min(planes, 48), ("black_to_play", "komi")[: max(planes - 48, 0)])

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (*self.features.plane_names[: self.stored], *self.uniform)

    def __len__(self) -> int:
        """How many planes there are."""
        return self.stored + len(self.uniform)


def inputs_of_names(names: Sequence[str]) -> Inputs:
    """Return the inputs whose planes have these names.

    Raises `Mistake` with both lists if this program makes no such planes.
    """
    names = tuple(names)
    uniform = tuple(name for name in names if name in UNIFORM)
    stored = names[: len(names) - len(uniform)]
    # sets that store the same planes are told apart by their uniform ones: the most come first
    for features in sorted(FEATURE_SETS.values(), key=lambda each: -len(each.uniform)):
        own = features.uniform
        enough = len(stored) >= (features.planes if features.history else 1)
        if enough and stored == features.plane_names[: len(stored)] and uniform[: len(own)] == own:
            return Inputs(features, len(stored), uniform)
    known = "; ".join(
        f"{features.name}: {', '.join((*features.plane_names, *features.uniform))}"
        for features in FEATURE_SETS.values()
    )
    raise Mistake(f"other planes than this program's: {', '.join(names)}; it makes {known}")
