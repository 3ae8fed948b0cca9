"""`SearchParams`: the parameters of a search, with their ranges and the symbols of the paper.

    lam      lambda, the weight of rollouts against the value net
    c_puct   c_puct, the weight of priors against results
    n_vl     n_vl, visits counted as lost while a simulation is in flight
    n_thr    n_thr, visits after which a position gets moves of its own
    beta     beta, the power that flattens the policy net's answers

With `selection` "puct" moves are chosen as in the paper, with "notes" as in the AlphaZero notes,
where visits of a move matter less:

    puct     Q(s,a) + c_puct * P(s,a) * sqrt(N(s)) / (1 + N(s,a))
    notes    Q(s,a) + c_puct * P(s,a) * sqrt(N(s) / (1 + N(s,a)))

Four switches turn parts off. A part that is off and one that is missing have the same effect:

    no value net                    lambda is 1
    no rollouts                     lambda is 0
    neither of them                 no search: the move with the highest prior
    no policy net                   placeholder priors stay
"""

import math
from dataclasses import dataclass, fields
from typing import Any

from data.base.errors import Mistake

SYMMETRY_MODES = ("random", "none", "mean")
FIRST_PLAYS = ("parent", "zero")
SELECTIONS = ("puct", "notes")


@dataclass(frozen=True)
class SearchParams:
    lam: float = 0.5  # 0..1; 0 starts no rollout, 1 asks for no value
    c_puct: float = 2.5  # >= 0; larger looks more at moves with a good prior and few visits
    n_vl: int = 1  # >= 0; larger sends simulations that run at the same time further apart
    # >= 0; larger grows a smaller tree; 0 gives every leaf moves of its own at its first visit
    n_thr: int = 40
    n_thr_adjusts: bool = True  # n_thr is where it begins, and follows how much the nets can answer
    beta: float = 1.0  # > 0; below 1 flattens the policy net's priors, above 1 sharpens them
    selection: str = "puct"  # puct or notes: the formula by which moves are chosen, see above
    # the Q of an untried move, before the reduction: parent, that of its position; zero, 0, an
    # even game, as in AlphaZero
    fpu: str = "parent"
    # -2..2; taken off the Q of an untried move; larger tries fewer moves
    fpu_reduction: float = 0.0
    # 0..1; prior of a pass in a game with as many moves as the board has points, and less in a
    # younger game. A policy that names passes gives their prior itself
    pass_prior: float = 0.03
    # 0..1; share of Dirichlet noise in the root's priors, drawn anew for each search; larger tries
    # more moves that the policy thinks little of. AlphaZero learns with 0.25
    noise: float = 0.0
    # >= 0.1; they are Dirichlet-distributed, with alpha = this / the root's number of legal moves
    # and pass (AlphaZero's 0.03 on an empty board); larger spreads them over more moves
    noise_alpha: float = 10.83
    # no simulation goes past a position whose priors are awaited; False: placeholder priors lead on
    wait_for_priors: bool = False
    keep_tree: bool = True  # False begins each search with an empty tree, even of the same game

    policy_net: bool = True  # use the policy net
    value_net: bool = True  # use the value net
    rollouts: bool = True  # use rollouts
    tree_policy: bool = True  # placeholder priors from the tree policy; else they are uniform

    threads: int = 2  # >= 1; for rollouts
    # >= 1; leaves of one descent, which a thread plays to the end; larger costs less time, but
    # leaves are chosen with less knowledge
    leaves: int = 32
    batch: int = 8  # >= 1; positions that a net is asked for at once, at most
    # >= batch; requests that wait for a net or are in work; larger keeps it busier, but answers
    # come later
    queue: int = 16
    # orientation in which a net sees a position: random, none, or mean (of all eight answers)
    symmetry: str = "random"
    # >= 0; answers of each net that are remembered; on 19x19 1.5 KB each for the policy, and 0.7 KB
    # more if the net names owners
    cache: int = 20_000
    nodes: int = 50_000  # >= 1; positions with moves of their own in the store, 8 KB each on 19x19
    # seconds > 0; a net is given up if it is silent for so long and nothing else is in flight
    patience: float = 10.0

    seed: int = 0  # >= 0; of symmetries, rollouts, noise and ties
    # do everything in turn, in one thread: then a number of simulations and a seed repeat a search
    deterministic: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            check_kind(field.name, getattr(self, field.name), type(field.default))
        for name, low, high in RANGES:
            number = getattr(self, name)
            if not low <= number <= high:
                limits = f"from {low} to {high}" if math.isfinite(high) else f"at least {low}"
                raise Mistake(f"search parameter {name}={number}: {limits} is possible")
        for name in ("beta", "patience"):
            if getattr(self, name) == 0:
                raise Mistake(f"search parameter {name}=0: more than 0 is possible")
        for name, words in WORDS:
            if getattr(self, name) not in words:
                raise Mistake(
                    f"search parameter {name}={getattr(self, name)}: "
                    f"one of {', '.join(words)} is possible"
                )
        if self.queue < self.batch:
            raise Mistake(
                f"search parameter queue={self.queue}: at least batch={self.batch} is possible"
            )
        if self.deterministic and self.threads != 1:
            raise Mistake(
                f"search parameter deterministic=true wants threads=1, not {self.threads}"
            )


RANGES = (
    ("lam", 0, 1),
    ("c_puct", 0, math.inf),
    ("n_vl", 0, 1000),
    ("n_thr", 0, 10**9),
    ("beta", 0, math.inf),
    ("fpu_reduction", -2, 2),
    ("pass_prior", 0, 1),
    ("noise", 0, 1),
    ("noise_alpha", 0.1, 10**6),
    ("threads", 1, 1024),
    ("leaves", 1, 4096),
    ("batch", 1, 4096),
    ("queue", 1, 65536),
    ("cache", 0, 10**9),
    ("nodes", 1, 10**7),
    ("patience", 0, math.inf),
    ("seed", 0, 2**63 - 1),
)
WORDS = (("symmetry", SYMMETRY_MODES), ("selection", SELECTIONS), ("fpu", FIRST_PLAYS))


def check_kind(name: str, value: Any, kind: type) -> None:
    """Raise ValueError for a value of another type; a whole number may stand for a float."""
    fits = isinstance(value, (int, float) if kind is float else kind) and (
        kind is bool or not isinstance(value, bool)
    )
    if not fits or (kind is float and not math.isfinite(value)):
        expected = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}[
            kind
        ]
        raise Mistake(f"search parameter {name}={value!r}: {expected} is expected")
