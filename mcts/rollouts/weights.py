"""The tables of a rollout policy: trained weights of patterns, as factors of a move's odds."""

import math

import numpy as np

from data.patterns.codes_kernels import REACH
from data.patterns.features import Tables
from data.patterns.features_kernels import (
    ANY_RESPONSE,
    NAKADE,
    NEAR_LAST,
    PLACE,
    RESPONSE,
    SAVES,
    step_class,
)
from data.patterns.files import PatternWeights
from data.patterns.vocabulary import PatternError
from mcts.rollouts.weights_kernels import PolicyTables

MOST_NATS = 80.0  # a move's logit at most: above that, odds exceed the range of float32


def policy_tables(
    patterns: PatternWeights, size: int, temperature: float, reply_share: float
) -> PolicyTables:
    """Tables for boards of one size.

    Raises PatternError if odds would exceed the range of float32 at this temperature.
    """
    made = Tables.of(patterns.words, "rollout", size).arrays
    first, w = made.first, patterns.weights.astype(np.float64) / temperature
    near = w[first[NEAR_LAST] + np.array([step_class(k) for k in range(REACH)])]
    answers = (
        w[first[ANY_RESPONSE]] + w[first[RESPONSE] + np.maximum(made.responses, 0)]
        if len(made.responses)
        else 0
    )
    factors = np.concatenate([near + np.where(made.responses >= 0, answers, 0), near[None]])
    vital, save = w[first[NAKADE] : first[NAKADE + 1]], w[first[SAVES]]
    around, place = w[made.arounds], w[first[PLACE] + made.places]
    around, place = around - around.max(), place - place.max()  # a constant changes no odds
    most = max(0.0, factors.max()) + max(0.0, vital.max()) + max(0.0, save)
    if most > MOST_NATS:
        least = math.ceil(100 * temperature * most / MOST_NATS) / 100
        raise PatternError(
            f"temperature={temperature}: too low for these weights, at least {least}"
        )
    return PolicyTables(
        arounds=np.where(made.arounds > 0, np.exp(around), 0).astype(np.float32),
        places=np.exp(place).astype(np.float32),
        keys=made.keys,
        rows=made.rows,
        factors=np.exp(factors).astype(np.float32),
        vital=np.exp(vital).astype(np.float32),
        save=np.float32(np.exp(save)),
        reply_share=np.float32(reply_share),
    )
