"""`RootNoise`: random numbers mixed into the priors of the root, as AlphaZero does when it learns.

    prior = (1 - share) * prior + share * noise,    noise ~ Dirichlet(alpha)

It is the same noise for the whole of a search, also when the answer of a net replaces the
placeholder priors. It is taken off before the next search, since what is the root of one search may
be the root of the next, too.
"""

import numpy as np

from data.base.random_kernels import new_state
from data.game.coords import PASS

NOISE_RANDOM = (1 << 20) + 1  # number of a worker that no thread has


class RootNoise:
    def __init__(self, share: float, alpha: float, seed: int):
        """With `alpha` a Dirichlet distribution over n moves has the parameter alpha / n."""
        self.share = share
        self.alpha = alpha
        self.seed = seed
        self.noise = np.zeros(PASS + 1, np.float32)  # of each move
        self.clean = np.zeros(PASS + 1, np.float32)  # the priors without it
        self.is_on = False
        self.reset()

    def reset(self) -> None:
        """Begin the random numbers anew."""
        self.random = np.random.Generator(
            np.random.PCG64(int(new_state(self.seed, NOISE_RANDOM)[0]))
        )

    def draw(self, moves: np.ndarray) -> None:
        """Draw the noise of a search for the root's `moves` (MOVE records)."""
        count = len(moves)
        self.noise[:] = 0
        # in the order of points: how the records are ordered does not matter
        self.noise[np.sort(moves["move"])] = self.random.dirichlet(
            np.full(count, self.alpha / count)
        )

    def put_on(self, moves: np.ndarray) -> None:
        """Mix the noise into the priors of the root's moves."""
        which = moves["move"]
        self.clean[which] = moves["prior"]
        moves["prior"] = (1 - self.share) * moves["prior"] + self.share * self.noise[which]
        self.is_on = True

    def clean_priors(self, moves: np.ndarray) -> np.ndarray:
        """Return the priors that the root's moves have without the noise."""
        return np.asarray(self.clean[moves["move"]] if self.is_on else moves["prior"])

    def take_off(self, moves: np.ndarray) -> None:
        """Give the root's moves back the priors that they had before `put_on`."""
        if self.is_on:
            moves["prior"] = self.clean_priors(moves)
            self.is_on = False
