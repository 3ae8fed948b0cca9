"""`Pool`: former selves of the learner, which it plays against.

    pool.draw(update)        the opponents of an update, by the number of updates that they had
    pool.evaluator(member)   one of them as a player
    fixtures(...)            the games of an update

Each member is a checkpoint without an optimiser, `pool/<updates>.ckpt` in the run's folder, which
every script takes as a net. Member 0 is the net that the run began with. `PoolKeeper` lets the pool
grow, and keeps the list of members in the checkpoints of the run.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pytorch_lightning import Callback, LightningModule, Trainer

from data.features.evaluation import Evaluator
from mcts.selfplay.games import RANDOM, Assignment
from models.files.seal import seal
from pipelines.reinforcing.options import OpeningOptions, PoolOptions
from pipelines.reinforcing.results import LEARNER

FIRST = 0  # the member that the run began with
OPEN = 16  # nets that are kept open beside the first one

# draws of one update that must not depend on each other
OPPONENTS, OPENINGS = 1, 2


class Pool:
    def __init__(
        self,
        folder: Path,
        options: PoolOptions,
        open_player: Callable[[Path], Evaluator],
        seed: int,
    ):
        self.folder, self.options, self.seed = folder, options, seed
        self.open_player = open_player
        self.members = [FIRST]
        self.opened: OrderedDict[int, Evaluator] = OrderedDict()

    def path(self, member: int) -> Path:
        return file_of(self.folder, member)

    def draw(self, update: int) -> list[int]:
        """Return the opponents of an update.

        They come in turn from the ring of the newest members and from all members.
        """
        random = np.random.default_rng([self.seed, update, OPPONENTS])
        ring = self.members[-self.options.ring :]
        return [
            int(random.choice(ring if k % 2 == 0 else self.members))
            for k in range(self.options.opponents)
        ]

    def evaluator(self, member: int) -> Evaluator:
        if member not in self.opened:
            self.opened[member] = self.open_player(self.path(member))
            for other in list(self.opened):
                if len(self.opened) > OPEN + 1 and other not in (FIRST, member):
                    del self.opened[other]
        self.opened.move_to_end(member)
        return self.opened[member]

    def add(self, member: int, config: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        """Add the net with these weights; `config` is what checkpoints say of it."""
        self.write(member, config, state)
        if member not in self.members:
            self.members.append(member)
        self.opened.pop(member, None)

    def write(self, member: int, config: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        waiting = self.path(member).with_suffix(".tmp")
        torch.save(
            {"state_dict": dict(state), "hyper_parameters": dict(config), "global_step": member},
            waiting,
        )
        seal(waiting)
        waiting.replace(self.path(member))

    def drop_after(self, step: int) -> None:
        """Forget the members that have had more updates."""
        self.members = [member for member in self.members if member <= step]


def file_of(folder: Path, member: int) -> Path:
    return folder / f"{member:06d}.ckpt"


class PoolKeeper(Callback):
    def __init__(self, pool: Pool, config: Mapping[str, Any]):
        self.pool, self.config = pool, config

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step % self.pool.options.every == 0:
            self.pool.add(trainer.global_step, self.config, pl_module.state_dict())

    def state_dict(self) -> dict[str, Any]:
        return {"members": list(self.pool.members)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.pool.members = [int(member) for member in state_dict["members"]]


def players_of(opponents: list[int]) -> dict[int, int]:
    """Return the place of each opponent among the players; the learner is player 0."""
    return {member: place for place, member in enumerate(dict.fromkeys(opponents), LEARNER + 1)}


def fixtures(
    update: int,
    games: int,
    opponents: list[int],
    opening: OpeningOptions,
    *,
    starts: int = 1,
    opener: int = RANDOM,
    seed: int = 0,
) -> Iterator[Assignment]:
    """Yield the games of an update: in each pair, an opponent has both colours.

    A pair begins with one position of `starts`, and then with up to `opening.turns` turns of
    `opener`.
    """
    random = np.random.default_rng([seed, update, OPENINGS])
    places = players_of(opponents)
    for pair in range(games // 2):
        other = places[opponents[pair % len(opponents)]]
        start, turns = int(random.integers(starts)), int(random.integers(opening.turns + 1))
        for k, players in enumerate(((LEARNER, other), (other, LEARNER))):
            number = update * games + 2 * pair + k
            yield Assignment(number, players, (opener, opener), until=turns, start=start)
