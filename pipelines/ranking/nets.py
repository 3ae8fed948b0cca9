"""The net of `estimate_rank.py`: opened, and checked to take ranks."""

from pathlib import Path

from data.features.evaluation import Evaluator
from models.answering.open import open_net
from pipelines.engine.net_files import PRETRAINED, SHIPPED_BOTH, NoSuchNet
from pipelines.evaluating.told import check_told
from pipelines.ranking.options import RankOptions
from pipelines.shell.project import find_weights


def open_ranked(options: RankOptions) -> tuple[Evaluator, Path]:
    """Open the net, by default the one that ships. Raises a `Mistake`, one line."""
    path = PRETRAINED / SHIPPED_BOTH if options.net is None else find_weights(options.net)
    if options.net is None and not path.exists():
        raise NoSuchNet("net=... is missing: a net that takes ranks as input; none ships yet")
    net = open_net(path, engine=options.engine, device=options.device, threads=options.threads)
    check_told(net)
    return net, path
