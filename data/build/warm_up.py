"""Compile every kernel of a build before its work begins: `prepare_kernels`.

Workers then load them from the cache, and need not all compile at once.
"""

import time
from pathlib import Path

import numpy as np

from data.base.jit import cache_folder
from data.build.games_part import describe
from data.build.options import GameOptions
from data.build.parts import Progress
from data.build.read import ReadTask, read_wanted
from data.features.encoders import game_encoder_of
from data.features.feature_set import ALPHAGO48, FeatureSet
from data.records.sgf import ReadOptions
from data.sources.guard import Member

GAME = b"(;SZ[9]AB[aa];W[bb];B[cc];W[])"


def prepare_kernels(progress: Progress, features: FeatureSet) -> float:
    """Return the seconds that it took."""
    started = time.perf_counter()
    module = type(game_encoder_of(features, 9)).__module__.rpartition(".")[2]
    if not any(cache_folder().rglob(f"{module}_kernels.encode_game-*.nbc")):
        progress.say("compiling, which takes half a minute the first time")
    warm_up(features)
    return time.perf_counter() - started


def warm_up(features: FeatureSet = ALPHAGO48) -> None:
    """Call every kernel once, with the types that a build calls it with."""
    task = ReadTask(Path(), [("", Member("", GAME))], GameOptions(read=ReadOptions(size=9)))
    record = read_wanted(task)[0][0]
    describe([record], task.options)
    planes, plies = np.zeros((2, 81, features.row_bytes), np.uint8), np.zeros(2, np.int16)
    game_encoder_of(features, 9).encode(record, planes, plies)
