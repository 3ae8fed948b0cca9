"""Asking and answering for games without a search: a net's first answer is the move.

count = ask(...)         encode the positions in which one player has to choose
answer(...)              draw a move for each of them by the net's chances, and play on
"""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import next_share
from data.game.coords import PASS
from mcts.selfplay.sheet_kernels import write_row
from mcts.selfplay.slots_kernels import resigns, settle, take_turn


@kernel
def ask(slots, player, sheet):
    """Write the positions in which `player` has to choose; return how many there are."""
    n = 0
    for i in range(len(slots.games)):
        if slots.games[i].mover == player:
            write_row(sheet, n, i, slots.boards[i], slots.histories[i], slots.random[i])
            n += 1
    return n


@kernel
def answer(slots, rules, rows, policy, values, temperature, warm_turns):
    """Play a move of each of `rows`, and on until a net has to choose again.

    policy      float32 [rows, points + 1], logarithms of chances; -inf for passes without a name
    values      float32 [rows] from the mover's view, NaN where the net has none
    """
    for n in range(len(rows)):
        i = rows[n]
        if resigns(slots, rules, i, values[n]):
            continue
        game = slots.games[i]
        heat = temperature if warm_turns == 0 or game.turn < warm_turns else 0.0
        slots.can[i, policy.shape[1] - 1] = policy[n, policy.shape[1] - 1] > -np.inf
        move = draw_move(slots.can[i], policy[n], heat, slots.random[i])
        take_turn(slots, rules, i, move, values[n])
        settle(slots, rules, i)


@kernel
def draw_move(can, chances, temperature, state):
    """Draw a move that may be played by chance ** (1 / temperature); 0 takes the best one.

    Some move may be played. `chances` are logarithms.
    """
    best = -1
    for p in range(len(can)):
        if can[p] and (best < 0 or chances[p] > chances[best]):
            best = p
    last = len(can) - 1
    if temperature > 0:
        highest = np.float64(chances[best])
        total = 0.0
        for p in range(len(can)):
            if can[p]:
                total += np.exp((chances[p] - highest) / temperature)
        left = np.float64(next_share(state)) * total
        for p in range(len(can)):
            if can[p]:
                left -= np.exp((chances[p] - highest) / temperature)
                if left < 0:
                    best = p
                    break
    return np.int64(PASS) if best == last else np.int64(best)
