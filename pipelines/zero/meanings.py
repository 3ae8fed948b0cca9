"""What each number of a round means, what is normal, and what to do when it goes wrong.

    MEANINGS     a `Meaning` for every field of `RoundReport` but `round`
    as_table()   the meanings of a group as Markdown: README.md of this folder has these tables, and
                 a test compares them

The page of `report_zero.py`, TensorBoard's names and the README come from here; `health.py` has the
warnings. "Normal" is for 9x9 unless it says otherwise.
"""

import math
from dataclasses import dataclass

PLAYED, MEMORY, LEARNED, TIME = "games", "memory", "learning", "time"
GROUPS = (PLAYED, MEMORY, LEARNED, TIME)


@dataclass(frozen=True)
class Meaning:
    group: str  # one of GROUPS: what TensorBoard puts before the name, as in games/length
    shown: str  # format of the number
    what: str
    normal: str
    wrong: str = ""  # what to do then


MEANINGS = {
    # --- games
    "games": Meaning(
        PLAYED,
        ",",
        "Games that the run has played so far.",
        "`games=` more each round.",
    ),
    "net": Meaning(
        PLAYED,
        "d",
        "Number of the net that played the round, as in `nets/`; -1: pure MCTS or random moves.",
        "The round's own number; with a gate or `ahead=1` an older one.",
        "Unchanged for ten rounds behind a gate: the gate costs more than it gives. Set "
        "`strength.gate=0`.",
    ),
    "length": Meaning(
        PLAYED,
        ".0f",
        "Turns of a game, the mean.",
        "Near the limit (twice the points) at first, then about as many as the board has points, "
        "later fewer.",
        "Near the limit after ten rounds: nobody passes. More simulations, or `first=playouts`.",
    ),
    "black_wins": Meaning(
        PLAYED,
        ".0%",
        "Games that Black won, of those not drawn.",
        "40% to 60% at a fair komi: 7 on 9x9, 9 on 7x7. The first rounds swing.",
        "Stuck beyond 80% or below 20%: the komi decides the games, and the value learns nothing. "
        "Change `komi`, or set `komi_spread=2`.",
    ),
    "drawn": Meaning(
        PLAYED,
        ".0%",
        "Games that ended in a draw.",
        "0 at a komi with a half; more and more at a whole one.",
        "Above a half: a komi with a half, or a `komi_spread`, gives results that teach more.",
    ),
    "resigned": Meaning(
        PLAYED,
        ".0%",
        "Games that somebody resigned.",
        "0 until `resign.after`, then 50% to 90%.",
        "0 for long after that: see `resign_at`.",
    ),
    "wrongly_resigned": Meaning(
        PLAYED,
        ".1%",
        "Of the games played on although somebody would have resigned: those that the loser still "
        "won or drew.",
        "At most `resign.wrong` (5%).",
        "Twice that: the value is too sure. It mends itself as `resign_at` falls; if not, raise "
        "`resign.play_on`.",
    ),
    "resign_at": Meaning(
        PLAYED,
        ".2f",
        "Expected result below which a player resigns, from -1 (lost) to +1.",
        "-1 (never) at first, then -0.98 to -0.8.",
        "-1 for ever: the value never judged lost games safely (see `explained_before`), or one "
        "colour hardly ever wins (see `black_wins`).",
    ),
    "too_long": Meaning(
        PLAYED,
        ".1%",
        "Games that the limit of turns ended.",
        "Many in the first rounds, then fewer than 1%.",
        "Above 20%: passes are not learned yet. See `length`.",
    ),
    "different": Meaning(
        PLAYED,
        ".1%",
        "Games that are no copy of another game of the round.",
        "Above 98%; less on boards up to 5x5.",
        "Below 90%: the same games are learned from again and again. Raise `warm_turns` or "
        "`random_turns`, or the noise of `search=`.",
    ),
    "evaluations": Meaning(
        PLAYED,
        ",",
        "Positions that nets judged in this round's games.",
        "Simulations a turn times turns, less what the tree keeps.",
        "What it costs is seen in `play_seconds`; fewer simulations are the largest saving.",
    ),
    "mean_batch": Meaning(
        PLAYED,
        ".0f",
        "Positions in one call of the net, the mean.",
        "Most of `task`; less as the last games of a task end.",
        "Under 16: the cost is calls, not the net. Raise `task`.",
    ),
    # --- memory
    "rows": Meaning(
        MEMORY,
        ",",
        "Positions with a full search that the run has collected.",
        "Grows by `new_rows`.",
    ),
    "new_rows": Meaning(
        MEMORY,
        ",",
        "Positions with a full search in this round.",
        "Games times turns times `thinking.full_share`.",
    ),
    "window": Meaning(
        MEMORY,
        ",",
        "Newest positions that training draws from.",
        "0 until `memory.least` are there, then growing more slowly than `rows`.",
        "Too small: `explained_after` is far above `explained_before`. Too large: the net learns "
        "from games of weak nets, and strength stands still.",
    ),
    "uses": Meaning(
        MEMORY,
        ".1f",
        "How often a position was learned from before it left the window, the mean.",
        "`learn.uses` (4), at most `memory.most_uses` (8).",
        "Above 8: it may be learned by heart. Lower `learn.uses`.",
    ),
    # --- learning
    "steps": Meaning(
        LEARNED,
        ",",
        "Steps of the optimiser so far.",
        "`new_rows` times `learn.uses` / `learn.batch` a round.",
    ),
    "lr": Meaning(
        LEARNED,
        ".2g",
        "Learning rate at the end of the round.",
        "Falls at the end by the `schedule`, or follows `learn.kl`.",
        "Strength stands still at a high rate: let it fall. Peers gained most at that very moment.",
    ),
    "loss": Meaning(
        LEARNED,
        ".3f",
        "Weighted sum of all losses below.",
        "Falls fast, then slowly; it may rise while games get harder.",
        "Rising for many rounds: a lower rate, or `learn.clip=1`. A run whose loss is no number "
        "ends and says so.",
    ),
    "policy_loss": Meaning(
        LEARNED,
        ".3f",
        "Cross-entropy of the net's moves with the search's, in nats.",
        "From ln(points + 1), 4.4, down to 0.2 to 0.6 above `search_entropy`, which it can't fall "
        "below.",
        "No fall in the first five rounds: nothing is learned. A higher rate, or more simulations.",
    ),
    "mse": Meaning(
        LEARNED,
        ".3f",
        "Squared error of the expected result (-1 to +1), while learning.",
        "From 1 down to 0.4 to 0.7.",
        "Far under 0.4 while `explained_before` stands still: learned by heart. Lower "
        "`learn.uses`.",
    ),
    "owner_mse": Meaning(
        LEARNED,
        ".3f",
        "Squared error of who owns each point at the end.",
        "From 1 down to 0.3 to 0.6.",
        "Stays at 1: games end before areas are settled. Look at `length` and at sample games.",
    ),
    "reply_loss": Meaning(
        LEARNED,
        ".3f",
        "Cross-entropy of the opponent's next move, in nats.",
        "Some tenths above `policy_loss`.",
    ),
    "score_loss": Meaning(
        LEARNED,
        ".2f",
        "Error of the expected score, squared below a point and linear above.",
        "Falls from about 20 to a few points.",
        "Matters little: its weight is small.",
    ),
    "top1": Meaning(
        LEARNED,
        ".0%",
        "How often the net's first move is the search's, on new positions before learning.",
        "From 5% to 50% or 60%.",
        "Above 80%: the search finds nothing that the net does not know. More simulations.",
    ),
    "entropy": Meaning(
        LEARNED,
        ".2f",
        "How many moves the net hesitates between, in nats (1.4: four equal ones), on new "
        "positions.",
        "From 4.4 down to 1 to 2; more than `search_entropy`.",
        "Collapsed towards 0: games become equal, and nothing new is found. More noise, "
        "`temperature=1`, a lower rate.",
    ),
    "search_entropy": Meaning(
        LEARNED,
        ".2f",
        "The same for the search's moves.",
        "0.2 to 1 below `entropy`.",
        "As large as `entropy`: the search does not sharpen the net. More simulations.",
    ),
    "kl": Meaning(
        LEARNED,
        ".3f",
        "How far the net's moves are from those before the round, in nats.",
        "0.01 to 0.1; much more in the first rounds.",
        "Above 0.3 for long: the net jumps about. A lower rate, `learn.average=0.99`, or "
        "`learn.kl=0.02`.",
    ),
    "explained_before": Meaning(
        LEARNED,
        ".2f",
        "Share of the results' variance that the net's value explains, 1 - var(z - v) / var(z), on"
        " new positions that it has not learned from. 1: knows every winner. 0: knows none.",
        "From 0 to 0.3 to 0.7. Even games stay open for long, so 1 is not to be had.",
        "Still 0 after ten rounds: results do not depend on play (see `black_wins`), or signs are "
        "wrong. Below 0: sure and wrong, lower `learn.uses`.",
    ),
    "explained_after": Meaning(
        LEARNED,
        ".2f",
        "The same positions after learning from them.",
        "0.02 to 0.15 above `explained_before`.",
        "Far above: learned by heart. Lower `learn.uses`, or raise `memory.least`.",
    ),
    # --- time
    "seconds": Meaning(
        TIME,
        ",.0f",
        "Wall clock of the round.",
        "Much the same each round; rounds with matches are longer.",
    ),
    "play_seconds": Meaning(
        TIME,
        ",.0f",
        "Work of all cores on games.",
        "80% to 90% of all.",
    ),
    "learn_seconds": Meaning(
        TIME,
        ",.0f",
        "Work of all cores on learning.",
        "10% to 20%.",
        "Above a third: fewer `learn.uses`, or more games a round.",
    ),
    "match_seconds": Meaning(
        TIME,
        ",.0f",
        "Work of all cores on matches.",
        "5%.",
        "Above 10%: raise `strength.every`.",
    ),
    "other_seconds": Meaning(
        TIME,
        ",.0f",
        "Cores times wall clock, less all of these: files, export, waiting.",
        "At most 5%.",
        "Above 15%: other programs take the cores, or workers wait; then more tasks than workers, "
        "smaller tasks, or `ahead=1`.",
    ),
    "core_hours": Meaning(
        TIME,
        ".2f",
        "Cores times wall clock of the run so far, in hours.",
        "The measure by which runs are compared.",
    ),
}


def as_table(group: str) -> str:
    """Return the meanings of a group as a table in Markdown."""
    lines = [["number", "what it is", "what is normal", "when it goes wrong"], ["---"] * 4]
    lines += [
        [f"`{name}`", meaning.what, meaning.normal, meaning.wrong]
        for name, meaning in MEANINGS.items()
        if meaning.group == group
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def in_words(name: str, value: float) -> str:
    """Return a number as people read it; '' for one that is not there."""
    if isinstance(value, float) and math.isnan(value):
        return ""
    return format(value, MEANINGS[name].shown)
