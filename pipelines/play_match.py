"""Games between engines, own configurations and other programs: `python pipelines/play_match.py`.

Every game is saved as it ends, as SGF and as a line of results.jsonl. The same command with the
same output folder goes on where it stopped.
"""

from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from data.base.text import count_of
from mcts.play.clock import describe
from pipelines.matches.contestants import read_contestants
from pipelines.matches.fixtures import Contestant, Fixture, MatchError, draw_fixtures
from pipelines.matches.folder import prepare_folder, read_results
from pipelines.matches.games import GameRules
from pipelines.matches.options import MatchOptions
from pipelines.matches.runner import Match
from pipelines.matches.summary import show, summarise, write_summary
from pipelines.shell.configuration import plain
from pipelines.shell.console import console
from pipelines.shell.options import read
from pipelines.shell.project import commit
from pipelines.shell.script import script


def run(cfg: DictConfig) -> dict[str, Any]:
    """Play what is left of the match, and return its summary."""
    options = read(MatchOptions, plain(cfg))
    contestants = list(read_contestants(options))
    rules = options.game_rules()
    fixtures = list(
        draw_fixtures(
            contestants,
            rules.size,
            games=options.games,
            opening_moves=options.opening_moves,
            seed=options.seed,
        )
    )
    folder = options.output
    prepare_folder(folder, contestants, rules, options, commit() or "an unknown version")
    done = read_results(folder / "results.jsonl")
    left = [fixture for fixture in fixtures if fixture.key not in done]
    if beyond := len(done) + len(left) - len(fixtures):
        raise MatchError(
            f"games={options.games}: in {folder} there are {beyond} more; ask for as many, or "
            "choose another output"
        )
    console.print(f"{what(contestants, fixtures, left, rules)}; {folder}", soft_wrap=True)
    if left:
        Match(contestants, rules, options, folder, done, len(fixtures)).play(left)
    names = [contestant.name for contestant in contestants]
    games = [done[fixture.key] for fixture in fixtures if fixture.key in done]
    summary = summarise(games, names, rules)
    show(summary)
    write_summary(folder, summary, games, names)
    return summary


def what(
    contestants: list[Contestant], fixtures: list[Fixture], left: list[Fixture], rules: GameRules
) -> str:
    """Return who plays how many games, and how."""
    who = " - ".join(contestant.name for contestant in contestants)
    before = f"{len(fixtures) - len(left)} played before"
    how = f"{rules.size}x{rules.size}, komi {rules.komi:g}, time {describe(rules.time)}"
    return f"{who}: {count_of(len(fixtures), 'game')}, {before}; {how}"


@script("play_match")
def main(cfg: DictConfig) -> None:
    """Play a match, or go on with one."""
    run(cfg)


if __name__ == "__main__":
    main()
