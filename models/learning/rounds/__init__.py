"""Learning round by round, as self-play needs it: begin with `learner.py`.

checkpoint.py   the file that a run goes on from
judgement.py    what a net is like on rows it has not seen, and how far two nets are apart
learner.py      `RoundLearner`
"""

from models.learning.rounds.judgement import Judgement, divergence
from models.learning.rounds.learner import RoundLearner

__all__ = ["Judgement", "RoundLearner", "divergence"]
