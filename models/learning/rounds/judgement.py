"""`Judgement`: what a net is like on rows of self-play; `divergence` compares two judgements.

    name              what it is, a mean over the rows
    policy_loss, ...  the metrics of the lessons, and `loss`, their weighted sum
    top1              how often the net's first move is the search's
    entropy           of the net's moves, nats
    search_entropy    of the search's moves, which the net learns
    explained         1 - var(z - v) / var(z), for values v and results z; 0 explains nothing
    rows              how many there were

A number that the rows do not give is NaN.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from data.features.evaluation import POLICY, VALUE
from models.learning.lessons import DISTRIBUTION, Lesson

KEPT = 4096  # rows at most whose policies are kept, to compare them with later ones
NAN = float("nan")


@dataclass(frozen=True)
class Judgement:
    metrics: dict[str, float]
    log_policies: np.ndarray  # float32 [rows, moves], of the first rows

    def __getitem__(self, name: str) -> float:
        return self.metrics.get(name, NAN)


class Notes:
    """What batches give beside the metrics of the lessons, collected for a `Judgement`."""

    def __init__(self, lessons: Mapping[str, Lesson]):
        self.lessons = lessons
        self.rows = 0
        self.policies: list[np.ndarray] = []
        self.entropies: dict[str, list[np.ndarray]] = {"entropy": [], "search_entropy": []}
        self.values: list[np.ndarray] = []
        self.results: list[np.ndarray] = []

    def add(self, answers: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> None:
        if POLICY in answers:
            logs = answers[POLICY].float().log_softmax(1)
            if self.rows < KEPT:
                self.policies.append(logs[: KEPT - self.rows].cpu().numpy())
            self.entropies["entropy"].append(entropies(logs.exp()))
            if DISTRIBUTION in batch:
                self.entropies["search_entropy"].append(entropies(batch[DISTRIBUTION]))
        if VALUE in answers:
            self.values.append(answers[VALUE].float().cpu().numpy())
            self.results.append(batch[self.lessons[VALUE].target].float().cpu().numpy())
        self.rows += len(batch["planes"])

    def judgement(self, means: dict[str, float]) -> Judgement:
        found = {**means, "rows": float(self.rows)}
        for name, parts in self.entropies.items():
            known = np.concatenate([np.zeros(0), *parts])
            known = known[np.isfinite(known)]
            found[name] = float(known.mean()) if len(known) else NAN
        found["explained"] = (
            explained_variance(np.concatenate(self.values), np.concatenate(self.results))
            if self.values
            else NAN
        )
        policies = np.concatenate(self.policies) if self.policies else np.zeros((0, 0), np.float32)
        return Judgement(found, policies)


def entropies(chances: Tensor) -> np.ndarray:
    """Return the entropy of each row, NaN for a row that is missing; 0 log 0 is 0."""
    return torch.special.entr(chances.double()).sum(1).cpu().numpy()


def explained_variance(values: np.ndarray, results: np.ndarray) -> float:
    """Return 1 - var(z - v) / var(z) over the known results; NaN if these are all alike."""
    known = np.isfinite(results)
    v, z = values[known].astype(np.float64), results[known].astype(np.float64)
    spread = z.var() if len(z) else 0.0
    return float(1 - (z - v).var() / spread) if spread else NAN


def divergence(before: Judgement, after: Judgement) -> float:
    """Return the mean of KL(before, after) over the rows that both judged; NaN without rows.

    Raises ValueError if they judged different numbers of rows.
    """
    old, new = (each.log_policies.astype(np.float64) for each in (before, after))
    if old.shape != new.shape:
        raise ValueError(f"policies of {old.shape} and of {new.shape}: not of the same rows")
    if not old.size:
        return NAN
    return float((np.exp(old) * (old - new)).sum(1).mean())
