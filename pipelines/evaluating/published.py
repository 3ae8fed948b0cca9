"""Published figures of other programs, each with its dataset. Accuracies are in percent.

Datasets differ more than nets do: professionals are harder to predict than strong amateurs, and
handicap games are easier than even ones.
"""

from dataclasses import dataclass

PAPER = "AlphaGo (2016)"
KGS_6D = "KGS 6-9 dan, 35% handicap games"


@dataclass(frozen=True)
class Published:
    who: str
    data: str
    net: str
    planes: int | None
    symmetries: int
    top1: float
    top5: float | None = None
    train: float | None = None  # top 1 on the games learned from


def paper(filters: int, symmetries: int, planes: int, top1: float, train: float) -> Published:
    return Published(
        PAPER, KGS_6D, f"13 layers of {filters}", planes, symmetries, top1, train=train
    )


# Extended Data Table 3. Tested on the first million positions of the set.
PAPER_TABLE = (
    paper(128, 1, 48, 54.6, 57.0),
    paper(192, 1, 48, 55.4, 58.0),
    paper(256, 1, 48, 55.9, 59.1),
    paper(256, 2, 48, 56.5, 59.8),
    paper(256, 4, 48, 56.9, 60.2),
    paper(256, 8, 48, 57.0, 60.4),
    paper(192, 1, 4, 47.6, 51.4),
    paper(192, 1, 12, 54.7, 57.1),
    paper(192, 1, 20, 54.7, 57.2),
    paper(192, 8, 4, 49.2, 53.2),
    paper(192, 8, 12, 55.7, 58.3),
    paper(192, 8, 20, 55.8, 58.4),
)

OTHERS = (
    Published(
        "AlphaGo Zero, supervised (2017)",
        KGS_6D,
        "20 residual blocks of 256",
        17,
        1,
        60.4,
        train=62.0,
    ),
    Published(
        "AlphaGo Zero, supervised (2017)",
        "GoKifu, professionals",
        "20 residual blocks of 256",
        17,
        1,
        54.3,
    ),
    Published("Cazenave (2017)", "KGS, games of 2015", "20 residual blocks of 256", None, 1, 58.25),
    Published("DarkForest", "KGS", "12 layers of 384", None, 1, 57.1, 88.27),
    Published("PatWie", "KGS and GoGoD, split by game", "128 filters", None, 1, 51.9, 83.7),
    Published("RocAlphaGo", "GoGoD, professionals", "", 48, 1, 48.1),
    Published("Clark and Storkey (2014)", "KGS", "", None, 1, 44.4),
    Published("AlphaGo (2016), rollout policy", "Tygem", "linear, 109,747 weights", None, 1, 24.2),
)

# Squared error of the winner on games that were not learned from. The paper does not say on which
# scale; on 0..1 the larger one
# would be worse than no knowledge at all (0.25).
PAPER_VALUE_MSE = {"paper, trained on human games": 0.37, "paper, trained on self-play": 0.234}


def paper_by_symmetries(filters: int = 256, planes: int = 48) -> dict[int, float]:
    return {
        row.symmetries: row.top1
        for row in PAPER_TABLE
        if row.net.endswith(f" {filters}") and row.planes == planes
    }
