"""`RoundLearner`: a net learns round by round, without Lightning's Trainer.

    learner = RoundLearner(module, config, rounds=100, clip=1.0)
    before = learner.judge(new_batches)          # of unseen rows
    metrics = learner.learn(batches, steps)      # one round; also with 0 steps
    after = learner.judge(new_batches)
    learner.adapt(divergence(before, after))     # the rate, if `kl` is set
    learner.save(path, extra)

Batches are NumPy arrays as `data/loading` makes them: planes uint8 [batch, size, size, planes] and
targets by name. The playing weights are the moving average if there is one, else those that learn.
They are judged, saved as `state_dict` and exported.

The rate is constant within a round: the schedule's at this round, times a multiplier that the
divergence moves. Random numbers of a round, as of dropout, depend on the seed and the round alone.
So a learner that was loaded learns as one that was never stopped.
"""

import copy
import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from data.base.cores import compute_cores
from data.base.errors import Mistake, first_line
from models.learning.learner import Batch, Diverged
from models.learning.lesson_module import LessonModule, added
from models.learning.lessons import Judged, has_target, judge
from models.learning.rounds.checkpoint import (
    plain_data,
    read_round_file,
    with_arrays,
    write_round_file,
)
from models.learning.rounds.judgement import Judgement, Notes
from models.nets.answers import ask

Arrays = Mapping[str, np.ndarray]

# The rule of the AlphaZero notes: the rate's multiplier moves by FACTOR, and stays within LIMITS.
FACTOR, LIMITS = 1.5, (0.1, 10.0)
PRECISIONS = ("32-true", "bf16-mixed")


class RoundLearner:
    """`module` brings the net, its lessons, the optimiser and the schedule.

    `config` is what a checkpoint says of the net (`hyper_parameters`): `model.net`, `size`,
    `features` and whatever else there is to tell. `rounds` is the length of the schedule.
    """

    def __init__(
        self,
        module: LessonModule,
        config: Mapping[str, Any],
        *,
        rounds: int,
        clip: float | None = None,
        average: float = 0.0,
        kl: float | None = None,
        precision: str = "32-true",
        device: str = "cpu",
        threads: int = 0,
        seed: int = 1,
    ):
        if precision not in PRECISIONS:
            raise Mistake(f"learn.precision={precision}: {' or '.join(PRECISIONS)}")
        self.module, self.config = module, dict(config)
        self.clip, self.decay, self.aim = clip, average, kl
        self.threads, self.seed = threads or compute_cores(), seed
        self.fabric = make_fabric(device, precision)
        self.net: nn.Module = self.fabric.to_device(module.net)
        self.optimizer = module.make_optimizer(self.net)
        schedule = module.make_scheduler(self.optimizer, rounds)
        if not isinstance(schedule, LambdaLR):
            raise Mistake("schedule: rounds need one whose rate follows from the round alone")
        self.schedule, self.length = schedule, rounds
        self.average: nn.Module | None = self.averaging() if average else None
        self.steps = 0  # of the optimiser, in all rounds
        self.rounds = 0  # that have been learned
        self.multiplier = 1.0  # of the rate
        self.sums: dict[str, Tensor] = {}  # of the round that is being learned

    @property
    def playing(self) -> nn.Module:
        """The net that plays, in evaluation mode. The learner goes on changing its weights."""
        return (self.net if self.average is None else self.average).eval()

    @property
    def rate(self) -> float:
        """The rate of the next round, of the optimiser's first group of weights."""
        return self.rates()[0]

    def rates(self) -> list[float]:
        pairs = zip(self.schedule.base_lrs, self.schedule.lr_lambdas, strict=True)
        return [float(base) * self.multiplier * factor(self.rounds) for base, factor in pairs]

    @property
    def falls(self) -> bool:
        """Whether the schedule makes the rate fall."""
        rounds, factor = range(self.length), self.schedule.lr_lambdas[0]
        return any(factor(k + 1) < factor(k) for k in rounds[:-1])

    # --- learning

    def learn(self, batches: Iterable[Arrays], steps: int) -> dict[str, float]:
        """Learn for one round: `steps` batches, or fewer if there are no more.

        Returns means over the round, the rate `lr`, and `steps` of the run so far. Without a step,
        means are missing. Raises `Diverged` if the loss is no number.
        """
        for group, rate in zip(self.optimizer.param_groups, self.rates(), strict=True):
            group["lr"] = rate
        found = {"lr": self.rate}
        self.sums = {}
        self.net.train()
        with self.own_threads_and_numbers():
            for batch in islice(batches, steps):
                self.sums = added(self.sums, self.step(self.tensors(batch)))
        self.net.eval()
        self.rounds += 1
        return {**found, **self.so_far(), "steps": self.steps}

    def so_far(self) -> dict[str, float]:
        """Return the means over the round that is being learned, {} before its first step."""
        means = self.module.means_of(self.sums) if self.sums else {}
        return {name: float(value) for name, value in means.items()}

    def step(self, batch: Batch) -> dict[str, Judged]:
        judged = self.judge_lessons(self.net, batch)[1]
        loss = self.module.weighted({name: each.loss for name, each in judged.items()})
        if not math.isfinite(float(loss.detach())):
            raise Diverged(
                f"the loss is no number any more before step {self.steps + 1:,}: "
                "try a smaller learning rate"
            )
        self.optimizer.zero_grad(set_to_none=True)
        self.fabric.backward(loss)
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.net.parameters(), self.clip)
        self.optimizer.step()
        self.steps += 1
        self.move_average()
        return judged

    def judge_lessons(
        self, net: nn.Module, batch: Batch
    ) -> tuple[dict[str, Tensor], dict[str, Judged]]:
        """Return what a net answers, and how far that is from the lessons."""
        for lesson in self.module.lessons.values():
            if not has_target(lesson, batch):
                raise Mistake(
                    f"model.lessons.{lesson.answer}: self-play gives no {lesson.target}; "
                    f"it gives {', '.join(batch)}"
                )
        with self.fabric.autocast():
            found = ask(net, batch["planes"])
            return found, {
                name: judge(lesson, found[name], batch, top5=False)
                for name, lesson in self.module.lessons.items()
            }

    def tensors(self, batch: Arrays) -> Batch:
        found = {name: torch.from_numpy(values) for name, values in batch.items()}
        found["planes"] = found["planes"].permute(0, 3, 1, 2)  # in memory that is channels-last
        return {name: value.to(self.fabric.device) for name, value in found.items()}

    def averaging(self) -> nn.Module:
        return copy.deepcopy(self.net).eval().requires_grad_(False)

    @torch.no_grad()
    def move_average(self) -> None:
        """Take the weights of now into the average, whose length grows as `WeightAverage`'s."""
        if self.average is None:
            return
        share = 1 - min(self.decay, (1 + self.steps) / (10 + self.steps))
        state, average = self.net.state_dict(), self.average.state_dict()
        moving = [name for name, value in state.items() if value.is_floating_point()]
        torch._foreach_lerp_(
            [average[name] for name in moving], [state[name] for name in moving], share
        )
        for name in state.keys() - set(moving):
            average[name].copy_(state[name])

    @contextmanager
    def own_threads_and_numbers(self) -> Iterator[None]:
        """Compute with this learner's threads and with random numbers of this round.

        What others draw between two rounds changes nothing here, nor does this for them.
        """
        torch.set_num_threads(self.threads)
        device = self.fabric.device
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            sequence = np.random.SeedSequence([self.seed, self.rounds])
            torch.manual_seed(int(sequence.generate_state(1, np.uint64)[0]))
            yield

    # --- judging

    @torch.inference_mode()
    def judge(self, batches: Iterable[Arrays]) -> Judgement:
        """Compare the answers of the playing weights with the targets of these rows."""
        torch.set_num_threads(self.threads)
        net, notes = self.playing, Notes(self.module.lessons)
        sums: dict[str, Tensor] = {}
        for arrays in batches:
            batch = self.tensors(arrays)
            found, judged = self.judge_lessons(net, batch)
            sums = added(sums, judged)
            notes.add(found, batch)
        means = self.module.means_of(sums) if sums else {}
        return notes.judgement({name: float(value) for name, value in means.items()})

    def adapt(self, kl: float) -> None:
        """Move the rate after a round that changed the net so much, if there is an aim."""
        if self.aim is not None:
            self.multiplier = adapted(self.multiplier, kl, self.aim)

    # --- files

    def save(self, path: Path, extra: Mapping[str, Any]) -> None:
        """Write a checkpoint, whole or not at all; `extra` is plain data and arrays.

        Raises `Diverged`, and leaves an older file, if a weight is not finite.
        """
        states = {
            name: {f"net.{key}": value for key, value in net.state_dict().items()}
            for name, net in (("state_dict", self.playing), ("learning_state", self.net))
        }
        if not all(value.isfinite().all() for state in states.values() for value in state.values()):
            raise Diverged(
                f"a weight is no number any more after step {self.steps:,}: "
                f"try a smaller learning rate; {path.name} is as it was"
            )
        if self.average is None:
            del states["learning_state"]
        content = {
            **states,
            "hyper_parameters": self.config,
            "global_step": self.steps,
            "optimizer_states": [self.optimizer.state_dict()],
            "rounds": {"rounds": self.rounds, "multiplier": self.multiplier},
            "extra": plain_data(extra, "extra"),
        }
        write_round_file(path, content)

    def load(self, path: Path) -> dict[str, Any]:
        """Go on from a checkpoint, and return the `extra` that was saved with it.

        Settings of the optimiser, its base rate among them, are those that this learner was made
        with. Raises `CheckpointError`, one line, and changes nothing, if the file is damaged or of
        another net.
        """
        saved = read_round_file(path, self.module, self.config)
        learning = saved.get("learning_state", saved["state_dict"])
        self.net.load_state_dict(without_prefix(learning))
        if self.average is not None:
            self.average.load_state_dict(without_prefix(saved["state_dict"]))
        groups = self.optimizer.state_dict()["param_groups"]
        state = saved["optimizer_states"][0]["state"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        self.steps = saved["global_step"]
        self.rounds = saved["rounds"]["rounds"]
        self.multiplier = float(saved["rounds"]["multiplier"])
        return with_arrays(saved["extra"])


def adapted(multiplier: float, kl: float, aim: float) -> float:
    """Return the rate's multiplier after a round that changed the net by `kl`.

    A divergence above twice the aim makes it smaller, one below half the aim larger. NaN leaves it.
    """
    least, most = LIMITS
    if kl > 2 * aim:
        return max(least, multiplier / FACTOR)
    if kl < aim / 2:
        return min(most, multiplier * FACTOR)
    return multiplier


def make_fabric(device: str, precision: str) -> Fabric:
    """Return Fabric for one device: cpu, cuda, cuda:1 or mps. Raises `Mistake` if it is missing."""
    kind, _, number = device.partition(":")
    # it would announce the precision, which the pipeline tells
    talk = [logging.getLogger(name) for name in ("lightning_fabric", "pytorch_lightning")]
    levels = [each.level for each in talk]
    for each in talk:
        each.setLevel(logging.WARNING)
    try:
        return Fabric(
            accelerator=kind,
            devices=[int(number)] if number else 1,
            precision=precision,  # type: ignore[arg-type]
        )
    except Exception as error:  # Lightning has several kinds for a device that is not there
        raise Mistake(f"device={device}: torch can't use it here ({first_line(error)})") from None
    finally:
        for each, level in zip(talk, levels, strict=True):
            each.setLevel(level)


def without_prefix(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix("net."): value for name, value in state.items()}
