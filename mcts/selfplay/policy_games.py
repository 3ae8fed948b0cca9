"""`PolicyGames`: many games at once between nets that play their moves without a search.

    games = PolicyGames([sl, rl], Rules(size=19), Choice(), slots=256, seed=1)
    for game in games.play(assignments):
        ...

Every call of a net is for all games that wait for it: the player for whom most games wait is asked
next. One compiled call encodes their positions, one takes the answers and plays on. With `crews=2`
the games are in two groups (see `lockstep.py`).
"""

from collections.abc import Sequence

from data.features.evaluation import Evaluation, Evaluator
from mcts.selfplay import policy_kernels
from mcts.selfplay.choice import Choice
from mcts.selfplay.crew import Crew, Question, Setting, no_values
from mcts.selfplay.games import Rules
from mcts.selfplay.lockstep import ManyGames
from mcts.selfplay.starts import Starts


class PolicyGames(ManyGames):
    def __init__(
        self,
        players: Sequence[Evaluator],
        rules: Rules,
        choice: Choice | None = None,
        *,
        starts: Starts | None = None,
        slots: int = 256,
        crews: int = 1,
        seed: int = 1,
    ):
        """`slots` games are in work at once. Raises `Mistake` for players who can't play."""
        setting = Setting(
            players, rules, choice or Choice(), starts or Starts.empty(rules.size), seed
        )
        super().__init__(lambda count: PolicyCrew(setting, count), slots, crews)


class PolicyCrew(Crew):
    """Games in which a net's answer to a position is its move."""

    asked = 0  # positions of the question in flight

    def ask(self) -> Question | None:
        if (player := self.busiest()) is None:
            return None
        self.player = player
        self.asked = policy_kernels.ask(self.slots, player, self.sheets[player])
        return self.question(player, self.asked)

    def take(self, answers: Evaluation) -> None:
        assert answers.policy is not None
        policy_kernels.answer(
            self.slots,
            self.book,
            self.sheets[self.player].rows[: self.asked],
            answers.policy,
            no_values(self.asked) if answers.value is None else answers.value,
            float(self.choice.temperature),
            self.choice.warm_turns,
        )
