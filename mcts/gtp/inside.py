"""GTP commands that look inside: what the nets answer for a position, and the settings.

kata-raw-nn SYMMETRY      0 to 7 or all: the policy and value nets' answers, from White's view
kata-list-params          names for kata-get-param
kata-get-param NAME
"""

from dataclasses import asdict
from inspect import signature
from typing import Any

import numpy as np

from data.features.alphago48 import PlaneEncoder
from data.game.board import Board
from data.game.coords import WHITE
from mcts.gtp.arguments import GtpError, one
from mcts.gtp.session import Session, command
from mcts.play.player import Player
from mcts.search.protocols import Net, told_komi

SYMMETRIES = tuple(str(k) for k in range(8))


@command("kata-raw-nn")
def raw_nn(session: Session, arguments: list[str]) -> str:
    """Answer with the nets' outputs.

    KataGo's keys for score, owners and passes are missing: these nets have no such outputs.
    """
    word = one(arguments, "a symmetry from 0 to 7, or all,").lower()
    if word not in (*SYMMETRIES, "all"):
        raise GtpError("syntax error: a symmetry from 0 to 7, or all")
    player = session.player
    player.rest()
    board, thinker = player.game.position(player.board.to_play), player.load_thinker()
    policy, value = (getattr(thinker, kind, None) for kind in ("policy", "value"))
    if policy is None and value is None:
        raise GtpError("there are no nets for this board")
    turns = [int(word)] if word != "all" else range(8)
    return "\n".join(raw_answer(board, policy, value, turn) for turn in turns)


def raw_answer(board: Board, policy: Net | None, value: Net | None, turn: int) -> str:
    packed = PlaneEncoder().packed(board)
    lines = [f"symmetry {turn}"]
    if value is not None:
        white = (
            1 + float(ask(value, board, packed, turn)) * (1 if board.to_play == WHITE else -1)
        ) / 2
        lines += [f"whiteWin {white:.6f}", f"whiteLoss {1 - white:.6f}", "noResult 0.000000"]
    if policy is not None:
        chances = np.full(board.size**2, np.nan)
        legal = board.legal_points()
        chances[legal] = np.exp(ask(policy, board, packed, turn).astype(float))[legal]
        rows = chances.reshape(board.size, board.size)
        lines += [
            "policy",
            *(
                " ".join("NAN" if np.isnan(chance) else f"{chance:.6f}" for chance in row)
                for row in rows
            ),
        ]
    return "\n".join(lines)


def ask(net: Net, board: Board, packed: np.ndarray, turn: int) -> np.ndarray:
    given: dict[str, Any] = told_komi(net, [board.komi])
    if "turns" in signature(net.answer_packed).parameters:
        given["turns"] = np.array([turn], np.uint8)
    elif turn:
        raise GtpError(
            f"{net.name} sees each position in all its orientations: only symmetry 0 is there"
        )
    answer: np.ndarray = net.answer_packed(
        packed[None], np.array([board.to_play], np.int8), **given
    )[0]
    return answer


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
    params = getattr(player.load_thinker(), "params", None)
    return {**asdict(player.manners), **(asdict(params) if params is not None else {})}
