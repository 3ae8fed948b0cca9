"""What the program thinks of a game, move by move: `python pipelines/analyze_game.py game.sgf`.

For each move: Black's chance to win before it, by the search, the value net and rollouts; the
score; what the move cost; how surprising the policy net found it; and what the search preferred. A
table, a chart (PNG), all figures (JSON) and the game with comments, labels and variations (SGF).
"""

import signal
from contextlib import closing
from pathlib import Path
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from pipelines.analysing.options import AnalysisOptions
from pipelines.engine.options import read_options
from pipelines.engine.thinkers import ThinkerMaker
from pipelines.shell.command_line import first_word_is
from pipelines.shell.configuration import plain
from pipelines.shell.console import console, progress
from pipelines.shell.script import script


def run(cfg: DictConfig) -> dict[str, Any]:
    options = read_options(AnalysisOptions, plain(cfg))
    from data.records.metadata import to_compensation
    from mcts.play.analysis import analyse
    from mcts.search.protocols import Limits
    from pipelines.analysing.files import made_folder, write_all, write_board
    from pipelines.analysing.game import check_game, komi_of, read_game
    from pipelines.analysing.table import figures, show

    path = Path(options.game).expanduser().absolute()
    makes = ThinkerMaker(options, lambda text: console.print(text))
    record, content = read_game(path), path.read_bytes()
    komi, known = komi_of(record, options.komi)
    area_komi = komi + to_compensation(record.handicap, record.rules)
    check_game(record, area_komi, options)
    if record.cut:
        console.print(
            f"{record.source}: {record.cut} after move {len(record.moves)}, "
            "where the game ends here"
        )
    with (
        made_folder(options.output) as folder,
        closing(makes(record.size)) as thinker,
        progress("thinking", "positions") as watch,
    ):
        analysis = analyse(
            record,
            area_komi,
            thinker,
            makes.policy_net(record.size),
            limits=Limits(simulations=options.simulations, seconds=options.seconds),
            first=options.first,
            last=options.last,
            watch=watch,
        )
    found = figures(path, record, komi, known, analysis)
    show(found)
    files = write_all(folder, path.stem, record, content, found)
    if options.board is not None:
        picture = folder / f"{path.stem}.board.png"
        files += write_board(picture, record, area_komi, analysis, found, options.board)
    console.print(f"{', '.join(file.name for file in files)} in {folder}", soft_wrap=True)
    if not analysis.complete:
        raise KeyboardInterrupt
    return found


@script("analyze_game", first_word_is("game"))
def analyze(cfg: DictConfig) -> None:
    run(cfg)


def main() -> None:
    """Take a word without `=` as the game: `analyze_game.py game.sgf` means `game=game.sgf`."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what is done is written
    analyze()


if __name__ == "__main__":
    main()
