"""Old settings give the batches that they gave before the loader had inputs and targets as values.

The digests were made by the loader of November 2026, from a dataset of that time.
"""

import hashlib
from itertools import islice
from typing import Any

import numpy as np
import pytest

from data.loading.datamodule import GoDataModule
from tests.support.paths import ROOT

DATASET = str(ROOT / "tests" / "support" / "old_files" / "games.h5")
NAMES = ("planes", "move", "outcome", "row", "game", "ply", "symmetry")
CASES: dict[str, dict[str, Any]] = {
    "48": {},
    "49": {"planes": 49},
    "50": {"planes": 50, "seed": 3},
    "20": {"planes": 20, "symmetries": "all"},
    "value": {"target": "value", "planes": 50, "positions_per_game": 2, "batch_size": 2},
}
# of the training and of the validation batches
DIGESTS = {
    "48": "61311d9c556a6bac 14fec4bb0f53bed6",
    "49": "3aed150186934558 edcda8cb5a2b2e32",
    "50": "4518cb2232a49563 adab0bfa02f0e2fb",
    "20": "123c66d2c779a526 a1720f3402dca99c",
    "value": "02e601db7fb13d14 e3b0c44298fc1c14",
}


def digest(batches: Any) -> str:
    found = hashlib.sha256()
    for batch in batches:
        assert tuple(batch) == NAMES
        for name in NAMES:
            values = np.ascontiguousarray(batch[name].numpy())
            found.update(f"{name} {values.dtype} {values.shape}".encode() + values.tobytes())
    return found.hexdigest()[:16]


@pytest.mark.parametrize("case", CASES)
def test_old_settings_give_the_old_batches(case: str) -> None:
    module = GoDataModule(DATASET, **{"batch_size": 8, "pool_rows": 64} | CASES[case])
    train = digest(islice(module.train_dataloader(), 60))
    assert DIGESTS[case] == f"{train} {digest(module.val_dataloader())}"
