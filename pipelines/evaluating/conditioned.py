"""A net that takes ranks, told one after another: `rank_matrix`.

Rows are bands of true strength, columns what the net is told. A net that has learned what ranks
mean finds moves likeliest when it is told the rank of who played them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from data.dataset.file import DatasetFile
from data.features.evaluation import Evaluator
from data.records.metadata import to_rank
from models.judging.scores import move_scores
from pipelines.evaluating.material import UNKNOWN, Material
from pipelines.evaluating.positions import PositionReader
from pipelines.evaluating.told import policies_under

SCORES = ("top1", "log_loss")


def rank_matrix(
    net: Evaluator,
    file: DatasetFile,
    material: Material,
    ranks: tuple[str, ...],
    batch_size: int,
    advance: Callable[[int], Any],
) -> dict[str, Any]:
    """Return mean top-1 and log-likelihood by true strength and told rank, as plain values.

        told     ranks in words, `unknown` first
        rows     strength, positions, top1 [told], log_likelihood [told]

    Of the opponent's rank the net is told that it is unknown. Positions are judged in one
    orientation.
    """
    told = [0, *map(to_rank, ranks)]
    group, names = material.bands()
    sums = np.zeros((len(names), len(told), len(SCORES)))
    reader = PositionReader(file, net.face)
    done = 0
    for positions, labels in reader.batches(material.rows, batch_size):
        here = group[done : done + len(positions)]
        for k, policy in enumerate(policies_under(net, positions, told)):
            scores = move_scores(policy, labels["move"])
            for column, name in enumerate(SCORES):
                sums[:, k, column] += np.bincount(here, scores[name], len(names))
        done += len(positions)
        advance(len(positions))
    counts = np.bincount(group, minlength=len(names))
    means = sums / counts[:, None, None]
    return {
        "told": [UNKNOWN, *ranks],
        "rows": [
            {
                "strength": names[k],
                "positions": int(counts[k]),
                "top1": means[k, :, 0].tolist(),
                "log_likelihood": (-means[k, :, 1]).tolist(),
            }
            for k in range(len(names))
        ],
    }
