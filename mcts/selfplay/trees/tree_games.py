"""`TreeGames`: many games at once, each with a search of its own, as AlphaZero learns from.

    games = TreeGames([net], Rules(size=9), SearchParams(lam=0, ...), Thinking(simulations=64))
    for game in games.play(assignments):
        game.visits, game.values ...

The search is that of `conf/search/zero.yaml`, one simulation of each game at a time: a leaf gets
its moves and its value by one answer of the net, and no rollouts are played. All games that wait
for a net are in one batch. A player answers with moves and values; two players of a game have a
tree each.

A root has only the moves that may be played: those that make sense, and the pass (see `Choice`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from data.base.errors import Mistake
from data.features.evaluation import VALUE, Evaluation, Evaluator
from data.game.board_kernels import new_boards
from data.game.history_kernels import new_history
from mcts.search.params import SearchParams
from mcts.selfplay.choice import Choice
from mcts.selfplay.crew import Crew, Question, Setting
from mcts.selfplay.games import Assignment, Rules, Visits
from mcts.selfplay.lockstep import ManyGames
from mcts.selfplay.starts import Starts
from mcts.selfplay.trees import search_kernels
from mcts.selfplay.trees.forest_kernels import new_forest
from mcts.selfplay.trees.search_kernels import Effort, Log, Space
from mcts.tree.tree import KO_RULES

# Nodes of a tree for each simulation: kept ones and new ones. A full tree grows no further.
NODES_A_SIMULATION = 3
PUCT, GUMBEL = "puct", "gumbel"
ROOTS = (PUCT, GUMBEL)


@dataclass(frozen=True)
class Thinking:
    """How long a move is searched, and how the root's moves are chosen.

    With `fast` a turn has a full search with the chance `full_share`, else a fast one. A fast
    search has no noise, forces no visits, and writes nothing into `PlayedGame.visits`: it only
    plays on (playout-cap randomisation: Wu, "Accelerating Self-Play Learning in Go", 2019). Who
    can only pass does so without a search; a share of `full_share` of these turns is written, too.

    root=puct       the tree's own formula, with Dirichlet noise if the search has some. Moves are
                    drawn by visits ** (1 / temperature)
    root=gumbel     sequential halving, see `gumbel_kernels.py`; no Dirichlet noise. Gumbel noise is
                    multiplied by the temperature, and draws the moves. But full searches explore at
                    all turns, with the factor 1 at the least, if the search has noise, however
                    much; then the temperature decides which of the moves that are left is played.
                    With noise=0 and a temperature of 0 games have no noise at all
    """

    simulations: int = 64
    # visits that are kept from earlier searches count, too; by puct, and without fast searches
    counts_kept: bool = False
    fast: int = 0  # simulations of a fast search; 0: all searches are full
    full_share: float = 1.0
    root: str = PUCT  # one of ROOTS
    considered: int = 16  # moves, by gumbel
    # each visited move of the root gets sqrt(this * prior * visits of the root) visits; those that
    # were only forced are taken off again, in `PlayedGame.values`, too. KataGo has 2; 0: none are
    # forced
    forced: float = 0.0

    def __post_init__(self) -> None:
        if self.simulations < 1:
            raise Mistake(f"simulations={self.simulations}: a number from 1 up")
        if not 0 <= self.fast <= self.simulations:
            raise Mistake(
                f"fast={self.fast}: from 1 to simulations={self.simulations}, or 0 for no fast "
                "searches"
            )
        if not 0 < self.full_share <= 1:
            raise Mistake(f"full_share={self.full_share}: a share above 0, up to 1")
        if self.root not in ROOTS:
            raise Mistake(f"root={self.root}: one of {', '.join(ROOTS)} is possible")
        if self.considered < 2:
            raise Mistake(f"considered={self.considered}: a number from 2 up")
        if not 0 <= self.forced < math.inf:
            raise Mistake(f"forced={self.forced}: a number from 0 up")
        if self.forced > 0 and self.root == GUMBEL:
            raise Mistake(f"forced={self.forced}: root=gumbel forces no visits, only root=puct")
        if self.counts_kept and (self.fast or self.root == GUMBEL):
            # a search could begin with all its simulations done, and look at nothing
            raise Mistake("counts_kept=true: only with root=puct and fast=0")


class TreeGames(ManyGames):
    def __init__(
        self,
        players: Sequence[Evaluator],
        rules: Rules,
        params: SearchParams,
        thinking: Thinking,
        choice: Choice | None = None,
        *,
        starts: Starts | None = None,
        slots: int = 256,
        crews: int = 1,
        seed: int = 1,
    ):
        """Raises `Mistake` for players without values, and for searches that are not done here.

        Of `params` these count: c_puct, n_vl, beta, selection, fpu, fpu_reduction, pass_prior,
        noise, noise_alpha, keep_tree and symmetry. A leaf grows at its first visit.
        """
        check_search(players, params)
        choice = replace(choice or Choice(), random_symmetry=params.symmetry == "random")
        setting = Setting(players, rules, choice, starts or Starts.empty(rules.size), seed)
        super().__init__(lambda count: TreeCrew(setting, params, thinking, count), slots, crews)


class TreeCrew(Crew):
    """Games in which a search chooses each move."""

    def __init__(self, setting: Setting, params: SearchParams, thinking: Thinking, slots: int):
        super().__init__(setting, slots)
        players, rules, choice = self.players, self.rules, self.choice
        points, nodes = rules.size**2, NODES_A_SIMULATION * thinking.simulations + 1
        self.forest = new_forest(len(players) * slots, slots, nodes, points)
        set_heads(self.forest.heads, params, rules)
        self.effort = Effort(
            thinking.simulations,
            thinking.counts_kept,
            params.keep_tree,
            float(params.noise),
            float(params.noise_alpha),
            float(choice.temperature),
            choice.warm_turns,
            thinking.fast,
            float(thinking.full_share),
            thinking.root == GUMBEL,
            thinking.considered,
            float(thinking.forced),
        )
        self.log = Log(
            np.zeros((slots, rules.limit + 1), np.int32),
            np.zeros((slots, rules.limit * (points + 1)), np.int16),
            np.zeros((slots, rules.limit * (points + 1)), np.uint16),
        )
        self.space = Space(
            new_boards(2, rules.size),
            new_history(),
            np.array([self.book.remembers]),
            np.zeros((1, points), np.float32),
            np.zeros(1, np.bool_),
            np.zeros(slots, np.uint32),
            np.zeros(points + 1, np.int64),
        )

    def begin(self, i: int, assignment: Assignment) -> None:
        super().begin(i, assignment)
        self.forest.heads["komi"][i :: len(self.slots.games)] = self.komi[i]
        search_kernels.begin_trees(self.slots, self.forest, self.effort, self.log, i)

    def ask(self) -> Question | None:
        count = 0
        while not count:
            if (player := self.busiest()) is None:
                return None
            self.player = player
            self.space.weighs[0] = not self.players[self.player].face.names_pass
            self.space.weights[:] = 1
            count = search_kernels.ask(
                self.slots,
                self.book,
                self.forest,
                self.effort,
                self.log,
                self.space,
                self.player,
                self.sheets[self.player],
            )
        return self.question(self.player, count)

    def take(self, answers: Evaluation) -> None:
        assert answers.policy is not None and answers.value is not None
        search_kernels.answer(
            self.slots,
            self.forest,
            self.space,
            self.player,
            self.sheets[self.player],
            answers.policy,
            answers.value,
        )

    def visits(self, i: int) -> Visits:
        turns = int(self.slots.games[i].turn)
        offset = self.log.offset[i, : turns + 1].copy()
        entries = slice(0, int(offset[-1]))
        return Visits(offset, self.log.moves[i, entries].copy(), self.log.counts[i, entries].copy())


def check_search(players: Sequence[Evaluator], params: SearchParams) -> None:
    """Raise `Mistake` unless such a search can be done with these players."""
    if params.lam != 0:
        raise Mistake(
            f"search parameter lam={params.lam}: many games at once are searched by values alone, "
            "with lam=0 (search=zero)"
        )
    if params.symmetry == "mean":
        raise Mistake(
            "search parameter symmetry=mean: many games at once ask a net once for each leaf; "
            "random or none is possible"
        )
    for player in players:
        if VALUE not in player.face.answers:
            raise Mistake(
                f"{player.face.name} answers with no values, so it can't search: "
                "a net for moves and values is needed"
            )


def set_heads(heads: np.ndarray, params: SearchParams, rules: Rules) -> None:
    """Write to the heads of all trees what never changes."""
    heads["lam"], heads["by_values"], heads["n_thr"] = 0.0, True, 0.0
    heads["n_vl"], heads["c_puct"] = params.n_vl, params.c_puct
    heads["notes"], heads["fpu_zero"] = params.selection == "notes", params.fpu == "zero"
    heads["fpu_reduction"], heads["beta"] = params.fpu_reduction, params.beta
    heads["pass_prior"] = params.pass_prior
    heads["komi"], heads["ko_rule"] = rules.komi, KO_RULES[rules.ko]
