"""Thinkers from options: nets are opened, and a search is made around them.

    search = open_search(19)      for programs: as strong as the engine
    ThinkerMaker(options, log)    for scripts: a function of the board's size

A file that serves for moves and for values is opened once, and a search asks it once for both. A
net that does not fit the board's size is left out. If nothing is left to think with, moves are
random but sensible. Both are logged once.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcts.search.params import SearchParams
from pipelines.engine.conditions import conditions_of, told_in_words
from pipelines.engine.net_files import (
    EVALUATED,
    NET_OPTIONS,
    check_answers,
    check_takes,
    find_nets,
    net_path,
)
from pipelines.engine.only_policy import OnlyPolicy
from pipelines.engine.options import ThinkerOptions, read_options
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.options import OptionError

WHOLE_GAME = 10_000  # turns

# Names of things that take a second to import: a GTP engine answers before.
if TYPE_CHECKING:
    from data.features.evaluation import Evaluator
    from mcts.rollouts.policy import PolicyRollouts
    from mcts.search.protocols import Thinker
    from mcts.search.search import Search
    from models.answering.inference import Net


def open_search(
    size: int = 19, *, log: Callable[[str], None] = lambda text: None, **options: Any
) -> "Search":
    """Return a search as strong as the engine's, ready to think.

    It has the nets that ship and the numbers of conf/search/default.yaml. `options` are keys of
    conf/play_gtp.yaml with the same meaning: `net`, `policy`, `value`, `rollout`, `tree` (files),
    `rank`, `threads`, `engine`, `device`, `seed`; `search` names another file of conf/search/.

    Compiles or loads everything that the first search needs. Raises `NoSuchNet` and `OptionError`.
    Call `close` at the end.
    """
    thinker = ThinkerMaker(options_of(options), log)(size)
    from mcts.search.search import Search

    if not isinstance(thinker, Search):
        raise OptionError(f"search={options.get('search')}: that thinks without a search")
    return thinker


def options_of(given: dict[str, Any]) -> ThinkerOptions:
    """Return the defaults of play_gtp.yaml and of a file of conf/search/, without Hydra.

    Values of `given` win.
    """
    from omegaconf import OmegaConf

    name = given.get("search", "default")
    files = {path.stem: path for path in (CONF / "search").glob("*.yaml")}
    if name not in files:
        raise OptionError(f"search={name}: one of {', '.join(sorted(files))}")
    possible = {field.name for field in fields(ThinkerOptions)} - {"seconds", "simulations"}
    if unknown := sorted(given.keys() - possible):
        raise OptionError(f"{unknown[0]}: there is no such option of a search")
    values = {**plain(OmegaConf.load(CONF / "play_gtp.yaml")), **given}
    values |= {name: str(values[name]) for name in NET_OPTIONS if isinstance(values[name], Path)}
    search = {**plain(OmegaConf.load(files["default"])), **plain(OmegaConf.load(files[name]))}
    search.pop("defaults", None)
    return read_options(ThinkerOptions, {**values, "search": search})


@cache
def shipped_rollouts(size: int) -> "PolicyRollouts | None":
    """Return rollouts of the policy that ships, the best judges of dead stones; None without it."""
    from mcts.rollouts.policy import PolicyRollouts, RolloutPolicy

    path = net_path("rollout", None)
    return PolicyRollouts(RolloutPolicy.load(path, size)) if path else None


class ThinkerMaker:
    """A function of the board's size, as `Player` wants it; each net is opened once.

    Raises `NoSuchNet` at once if a file is missing or of another kind.
    """

    def __init__(self, options: ThinkerOptions, log: Callable[[str], None]):
        self.options = options
        self.files = find_nets(options)
        self.log = log
        self.opened: dict[Path, Net] = {}

    def __call__(self, size: int) -> "Thinker":
        """Return a thinker that has everything compiled, so that no move of a game waits for it."""
        params = self.options.search
        wanted = {"policy": params.policy_net, "value": params.value_net}
        opened = {kind: self.open_net(kind) for kind in EVALUATED if wanted[kind]}
        self.check_told(opened)
        nets = {kind: net for kind, net in opened.items() if net and self.fits(kind, net, size)}
        thinker: Thinker
        if params.rollouts or "value" in nets:
            thinker = self.make_search(params, nets, size)
        elif "policy" in nets:
            thinker = self.make_policy_thinker(nets["policy"], size)
        else:
            from mcts.play.thinkers.random import RandomThinker

            self.log(f"there is no policy net for {size}x{size}: moves are random")
            thinker = RandomThinker(seed=self.options.seed)
        compile_for(thinker, size)
        return thinker

    def make_search(self, params: SearchParams, nets: "dict[str, Net]", size: int) -> "Search":
        """Return a search; without trained weights, rollouts and placeholders are uniform."""
        from mcts.rollouts.replies_kernels import NO_REPLIES
        from mcts.rollouts.tree_policy import PatternPriors
        from mcts.search.search import Search

        rollouts, priors = self.rollouts(size), None
        if self.files.tree is not None:
            replies = rollouts.replies if rollouts else NO_REPLIES
            priors = PatternPriors.load(self.files.tree, size, replies=replies)
        # one net for both is asked once for each position
        return Search(
            params,
            policy=nets.get("policy"),
            value=nets.get("value"),
            rollouts=rollouts,
            tree_policy=priors,
        )

    def make_policy_thinker(self, opened: "Net", size: int) -> "Thinker":
        from mcts.play.judgement import VARIED_TURNS
        from mcts.play.thinkers.policy import PolicyThinker
        from models.answering.ensemble import SymmetryEnsemble

        options = self.options
        net: Evaluator = opened
        # a search has a parameter of its own for symmetries
        if options.symmetries != 1:
            net = SymmetryEnsemble(opened, options.symmetries)
        if self.files.policy != self.files.value:
            net = OnlyPolicy(net)
        # a player of some rank varies all game long, others only where games begin
        varied = VARIED_TURNS if options.rank is None else WHOLE_GAME
        return PolicyThinker(
            net,
            varied_moves=varied,
            temperature=options.temperature,
            seed=options.seed,
            rollouts=self.rollouts(size),
        )

    def rollouts(self, size: int) -> "PolicyRollouts | None":
        """Return trained rollouts, None without weights."""
        from mcts.rollouts.policy import PolicyRollouts, RolloutPolicy

        options = self.options
        if self.files.rollout is None:
            return None
        policy = RolloutPolicy.load(
            self.files.rollout,
            size,
            temperature=options.rollout_temperature,
            reply_share=options.reply_share,
        )
        return PolicyRollouts(policy, mercy=options.mercy)

    def policy_net(self, size: int) -> "Net | None":
        """Return the policy net alone, whatever the search uses; None if it does not fit."""
        net = self.open_net("policy")
        return net if net is not None and net.fits(size) else None

    def fits(self, kind: str, net: "Net", size: int) -> bool:
        fits = bool(net.fits(size))
        if not fits:
            sizes = net.card.sizes()
            self.log(f"the {kind} net is for {sizes}, so {size}x{size} is played without it")
        return fits

    def open_net(self, kind: str) -> "Net | None":
        """Return the policy or value net, None if it is missing; each file is opened once."""
        path: Path | None = getattr(self.files, kind)
        if path is None:
            return None
        if path not in self.opened:
            from models.answering.open import open_net

            options = self.options
            self.opened[path] = net = open_net(
                path,
                engine=options.engine,
                device=options.device,
                threads=options.threads,
            )
            net.conditions = conditions_of(options, net.card.conditions)
            told = f", {words}" if (words := told_in_words(options, net.card.planes)) else ""
            self.log(f"{self.serves_as(path)}: {path} ({net.name}{told})")
        check_answers(path, self.opened[path].card, kind)
        return self.opened[path]

    def serves_as(self, path: Path) -> str:
        """Return `policy net`, `value net` or `policy and value net`."""
        switches = self.options.search
        used = {"policy": switches.policy_net, "value": switches.value_net}
        kinds = [kind for kind in EVALUATED if used[kind] and getattr(self.files, kind) == path]
        return f"{' and '.join(kinds) or 'policy'} net"

    def check_told(self, opened: "dict[str, Net | None]") -> None:
        """Raise `NoSuchNet` if nothing takes what the options tell nets; for checkpoints, too."""
        files = dict.fromkeys(getattr(self.files, kind) for kind, net in opened.items() if net)
        check_takes(self.options, list(files), [self.opened[path].card.planes for path in files])


def compile_for(thinker: "Thinker", size: int) -> None:
    """Run everything that a player needs on this size once, so that no move pays for compiling."""
    from data.game.board import Board
    from mcts.play.dead_stones import judge
    from mcts.play.judgement import sensible_moves
    from mcts.search.protocols import Limits

    # no limit of time: it would end before everything has run
    thinker.think(Board(size), Limits(simulations=8))
    thinker.forget()
    sensible_moves(Board(size))
    judge(Board(size), thinker.rollouts, count=2)
