"""Which rank a player's moves look like: `python pipelines/estimate_rank.py game.sgf`.

A net that takes ranks as input tells how likely each move is for a 5 kyu, a 3 dan, and so on. With
`dataset=` it is measured on games that it has not seen, whose players' ranks are known.
"""

import json
import time
from contextlib import closing
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from data.base.atomic import write_text
from pipelines.ranking.options import RankOptions, in_words
from pipelines.shell.command_line import words_are
from pipelines.shell.configuration import plain
from pipelines.shell.console import clock, console, progress
from pipelines.shell.options import read
from pipelines.shell.script import script


def run(cfg: DictConfig) -> dict[str, Any]:
    options = read(RankOptions, plain(cfg))
    from pipelines.ranking.nets import open_ranked

    net, path = open_ranked(options)
    console.print(f"{path}: {net.face.name}, told {in_words(options.told())}", soft_wrap=True)
    began = time.monotonic()
    result = of_games(options, net) if options.game else of_dataset(options, net)
    result = {"net": path.name, **result}
    if options.output is not None:
        write_text(options.output, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
        console.print(f"written: {options.output}", soft_wrap=True)
    console.print(f"{clock(time.monotonic() - began)}")
    return result


def of_games(options: RankOptions, net: Any) -> dict[str, Any]:
    """Estimate the ranks of the players of some games, and show them."""
    from models.judging.ranks import estimate
    from pipelines.ranking.players import players_of, read_games
    from pipelines.ranking.report import figures, show

    ranks = options.told()
    players = players_of(net, read_games(options), ranks, options)
    how: dict[str, Any] = {"temper": options.temper, "level": options.level}
    estimated = [(one, estimate(one.log_likelihoods, ranks, **how)) for one in players]
    result = figures(estimated, ranks, options.level)
    show(result)
    return result


def of_dataset(options: RankOptions, net: Any) -> dict[str, Any]:
    """Measure estimates on a split of a dataset, and show how far off they are."""
    from data.dataset.file import DatasetFile
    from pipelines.ranking.held_out import draw_sample, measure
    from pipelines.ranking.report import show_measured

    ranks = options.told()
    with closing(DatasetFile(options.dataset or "")) as file:
        splits = [options.split] if options.fit is None else [options.fit, options.split]
        samples = []
        for split in splits:
            with progress(f"{split} games", "positions") as watch:
                samples.append(draw_sample(net, file, split, ranks, options, watch))
    result = measure(samples[0] if options.fit else None, samples[-1], ranks, options)
    show_measured(result)
    return result


@script("estimate_rank", words_are("game"))
def main(cfg: DictConfig) -> None:
    """Take words without `=` as games: `estimate_rank.py a.sgf b.sgf`."""
    run(cfg)


if __name__ == "__main__":
    main()
