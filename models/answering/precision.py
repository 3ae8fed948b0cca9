"""Which precision a device computes fastest with: `has_bf16(device)`.

On a processor this is measured, because its flags do not tell: a processor may have bf16 while its
library does not use it (oneDNN under `ONEDNN_MAX_CPU_ISA`, torch without oneDNN), or uses it
forward and not backward (ARM). Where bf16 is emulated, training is ten times slower than in fp32.
"""

import functools
import time
from typing import Any

ROUNDS = 5  # the fastest of them counts; 20 to 100 ms in all
CHANNELS, BATCH, SIDE = 64, 4, 19  # a small layer of a small net
HOPELESS = 2.0  # if bf16 is slower by this factor at first, it is not measured again
AMPERE = (8, 0)  # compute capability of the first CUDA devices with fast bf16


def has_bf16(device: str, *, training: bool = False) -> bool:
    """Whether bf16 is faster than fp32 there, to answer or to train with.

    Metal and others: fp32, which is right everywhere.
    """
    import torch

    if device.startswith("cuda"):
        return bool(torch.version.hip) or torch.cuda.get_device_capability(device) >= AMPERE
    return device == "cpu" and measured_faster(training)


@functools.cache
def measured_faster(training: bool) -> bool:
    """Whether bf16 is faster, in the CPU time of one thread.

    So neither the number of threads nor other programs change the answer.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        work = make_work(training)
        work(False), work(True)  # the first time compiles
        in_fp32, in_bf16 = seconds(work, False), seconds(work, True)
        if in_bf16 > HOPELESS * in_fp32:
            return False
        for _ in range(ROUNDS):
            in_fp32, in_bf16 = min(in_fp32, seconds(work, False)), min(in_bf16, seconds(work, True))
        return in_bf16 < in_fp32
    finally:
        torch.set_num_threads(threads)


def make_work(training: bool) -> Any:
    """Return two convolutions under autocast, with their gradients if training.

    They draw no random numbers, because runs have seeds.
    """
    import torch
    from torch.nn.functional import conv2d

    planes = torch.ones(BATCH, CHANNELS, SIDE, SIDE).to(memory_format=torch.channels_last)
    kernels = [
        torch.full((CHANNELS, CHANNELS, 3, 3), 0.01).requires_grad_(training) for _ in range(2)
    ]

    def work(bf16: bool) -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16), torch.set_grad_enabled(training):
            answers = conv2d(conv2d(planes, kernels[0], padding=1), kernels[1], padding=1)
        if training:
            answers.sum().backward()

    return work


def seconds(work: Any, bf16: bool) -> float:
    began = time.thread_time()
    work(bf16)
    return time.thread_time() - began
