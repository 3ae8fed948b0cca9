"""GTP commands that look inside: what the nets answer for a position, and the settings.

kata-raw-nn SYMMETRY      0 to 7 or all: the policy and value nets' answers, from White's view
kata-list-params          names for kata-get-param
kata-get-param NAME
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from data.features.evaluation import Evaluation, Evaluator
from data.game.board import Board
from data.game.coords import WHITE
from mcts.gtp.arguments import GtpError, one
from mcts.gtp.session import Session, command
from mcts.play.player import Player
from mcts.search.ask import ask

NOTHING = Evaluation()
SYMMETRIES = tuple(str(k) for k in range(8))


@command("kata-raw-nn")
def raw_nn(session: Session, arguments: list[str]) -> str:
    """Answer with the nets' outputs; keys of KataGo's for which they have none are missing."""
    word = one(arguments, "a symmetry from 0 to 7, or all,").lower()
    if word not in (*SYMMETRIES, "all"):
        raise GtpError("syntax error: a symmetry from 0 to 7, or all")
    player = session.player
    player.rest()
    board, thinker = player.game.position(player.board.to_play), player.load_thinker()
    nets = [net for net in (thinker.policy, thinker.value) if net is not None]
    if not nets:
        raise GtpError("there are no nets for this board")
    turns = [int(word)] if word != "all" else range(8)
    return "\n".join(raw_answer(board, nets, turn) for turn in turns)


def raw_answer(board: Board, nets: list[Evaluator], turn: int) -> str:
    """Return the lines of one symmetry; of the nets that give an answer, the last one's counts."""
    first, last = ask_turned(nets[0], board, turn), NOTHING
    if nets[-1] is not nets[0]:
        last = ask_turned(nets[-1], board, turn)
    lines = [f"symmetry {turn}"]
    sign = 1 if board.to_play == WHITE else -1
    if (value := either(last.value, first.value)) is not None:
        white = (1 + sign * float(value[0])) / 2
        lines += [f"whiteWin {white:.6f}", f"whiteLoss {1 - white:.6f}", "noResult 0.000000"]
    if (score := either(last.score, first.score)) is not None:
        lines.append(f"whiteLead {sign * float(score[0]):.3f}")
    if (policy := either(first.policy, last.policy)) is not None:
        legal = board.legal_points()
        chances = np.full(board.size**2, np.nan)
        chances[legal] = np.exp(policy[0].astype(float))[legal]
        lines += ["policy", *rows(chances, board.size)]
        if np.isfinite(policy[0, -1]):
            lines.append(f"policyPass {np.exp(float(policy[0, -1])):.6f}")
    if (owner := either(last.owner, first.owner)) is not None:
        lines += ["whiteOwnership", *rows(sign * owner[0], board.size)]
    return "\n".join(lines)


def either(answer: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
    return other if answer is None else answer


def rows(numbers: np.ndarray, size: int) -> list[str]:
    return [
        " ".join("NAN" if np.isnan(number) else f"{number:.6f}" for number in row)
        for row in numbers.reshape(size, size)
    ]


def ask_turned(net: Evaluator, board: Board, turn: int) -> Evaluation:
    if not net.face.obeys_turns:
        if turn:
            raise GtpError(
                f"{net.face.name} sees each position in all its orientations: "
                "only symmetry 0 is there"
            )
        return ask(net, board)
    return ask(net, board, turn)


@command("kata-list-params")
def list_params(session: Session, arguments: list[str]) -> str:
    return " ".join(settings(session.player))


@command("kata-get-param")
def get_param(session: Session, arguments: list[str]) -> str:
    name, known = one(arguments, "a parameter"), settings(session.player)
    if name not in known:
        raise GtpError(f"there is no parameter {name[:30]}; kata-list-params lists them")
    value = known[name]
    return str(value).lower() if isinstance(value, bool | None) else str(value)


def settings(player: Player) -> dict[str, Any]:
    """Return the settings of the player and its search, by the names of the configuration."""
    params = player.load_thinker().params
    return {**asdict(player.manners), **(asdict(params) if params is not None else {})}
