"""Protocols of the tree: who weighs the moves of new leaves, and the parameters that it reads."""

from typing import Protocol

import numpy as np


class TreePolicy(Protocol):
    """Gives new leaves their first priors, until those of the policy net come."""

    name: str

    def weigh(
        self, boards: np.ndarray, wanted: np.ndarray, count: int, weights: np.ndarray
    ) -> None:
        """Write weights of moves, at least 0, to the rows k < count for which `wanted[k]`.

        boards      BOARD; row k is for board k + 1
        wanted      bool, at least `count`
        weights     float32 [count, points], zeros before; they need not sum to 1
        """
        ...


class TreeParams(Protocol):
    """What a tree reads of `SearchParams`, which documents it."""

    @property
    def lam(self) -> float: ...
    @property
    def c_puct(self) -> float: ...
    @property
    def n_vl(self) -> int: ...
    @property
    def n_thr(self) -> int: ...
    @property
    def beta(self) -> float: ...
    @property
    def selection(self) -> str: ...
    @property
    def fpu(self) -> str: ...
    @property
    def fpu_reduction(self) -> float: ...
    @property
    def pass_prior(self) -> float: ...
    @property
    def noise(self) -> float: ...
    @property
    def noise_alpha(self) -> float: ...
    @property
    def keep_tree(self) -> bool: ...
    @property
    def leaves(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def queue(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def seed(self) -> int: ...
