"""`OnlyPolicy`: a net of several answers where only its moves are wanted."""

from dataclasses import replace

from data.features.evaluation import POLICY, Evaluation, Evaluator, Face, Positions


class OnlyPolicy:
    """Answers with the policy of a net alone.

    A net that was named as `policy=` tells nobody how the game stands: `value=` says who does.
    """

    def __init__(self, net: Evaluator):
        self.net = net

    @property
    def face(self) -> Face:
        return replace(self.net.face, answers=frozenset({POLICY}))

    def evaluate(self, positions: Positions) -> Evaluation:
        return Evaluation(policy=self.net.evaluate(positions).policy)
