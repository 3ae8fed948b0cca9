"""How far Lightning is: the only file of `data` that reads its internal counters."""

from pytorch_lightning import Trainer
from pytorch_lightning.trainer.states import TrainerFn


def batches_trained(trainer: Trainer | None) -> int | None:
    """Batches trained in this process's run, or None where no fit is running.

    `processed` is right wherever a checkpoint may be written: it grows after the step and before
    the callbacks, and Lightning itself resumes by it.
    """
    if trainer is None or trainer.state.fn != TrainerFn.FITTING:
        return None
    return trainer.fit_loop.epoch_loop.batch_progress.total.processed  # type: ignore[attr-defined]


def learns_by_heart(trainer: Trainer | None) -> bool:
    """Whether every epoch has the same few batches: `overfit_batches` is set."""
    return trainer is not None and bool(trainer.overfit_batches)  # type: ignore[attr-defined]


def batches_by_heart(trainer: Trainer) -> int:
    """How many batches such an epoch has."""
    return int(trainer.num_training_batches)
