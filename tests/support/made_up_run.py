"""A run of `train_zero.py` that nobody ran: plausible numbers, the same for the same seed."""

import math
from pathlib import Path

import numpy as np

from pipelines.zero.report import MatchReport, RoundReport
from pipelines.zero.telling.rows import MATCHES, ROUNDS, Rows

GAMES = 512  # a round
CORES = 2


def rounds(count: int, seed: int = 0, pace: float = 1.0) -> list[RoundReport]:
    """Rounds as they might be on 9x9; `pace` is how fast the run learns."""
    random = np.random.default_rng(seed)
    rows, all_rows, hours = [], 0, 0.0
    for k in range(count):
        noise = random.normal(0, 1, 12)
        done = 1 - math.exp(-pace * k / 30)
        length = 62 + 60 * math.exp(-k / 6) + 2 * noise[0]
        new = round(GAMES * length * 0.25)
        all_rows += new
        seconds = 150 + 5 * noise[1] + 90 * (k % 10 == 9)
        hours += CORES * seconds / 3600
        search = 1.6 - 0.9 * done + 0.03 * noise[2]
        explained = 0.62 * done + 0.015 * noise[3]
        nothing = all_rows < 20_000
        rows.append(
            RoundReport(
                round=k, games=GAMES * (k + 1), net=k if k else -1, length=length,
                black_wins=0.5 + 0.2 * math.exp(-k / 8) + 0.02 * noise[4], drawn=0.03 * done,
                resigned=0.7 + 0.03 * noise[5] if k >= 10 else 0.0,
                wrongly_resigned=abs(0.04 + 0.02 * noise[6]) if k >= 10 else math.nan,
                resign_at=-0.9 if k >= 10 else -1.0, too_long=0.4 * math.exp(-k / 3),
                different=min(1.0, 0.995 + 0.003 * noise[7]), evaluations=round(GAMES * length * 26),
                mean_batch=51 + noise[8], rows=all_rows, new_rows=new,
                window=0 if nothing else min(all_rows, round(20_000 + 0.4 * all_rows)),
                uses=3.9 + 0.05 * noise[9], steps=0 if nothing else 100 * k, lr=0.02 if k < 70 else 0.02 * (101 - k) / 31,
                **({} if nothing else learned(done, search, explained, noise)),
                seconds=seconds, play_seconds=1.7 * 150, learn_seconds=0.22 * 150,
                match_seconds=170.0 * (k % 10 == 9), other_seconds=0.05 * 150, core_hours=hours,
            )
        )  # fmt: skip
    return rows


def learned(done: float, search: float, explained: float, noise: np.ndarray) -> dict[str, float]:
    policy = search + 0.3 + 1.4 * math.exp(-6 * done) + 0.02 * noise[10]
    mse = 1 - 0.55 * done + 0.01 * noise[3]
    owner = 0.9 - 0.45 * done
    return {
        "loss": policy + 1.2 * mse + owner, "policy_loss": policy, "mse": mse, "owner_mse": owner,
        "reply_loss": policy + 0.3, "score_loss": 8 - 5 * done, "top1": 0.1 + 0.42 * done + 0.01 * noise[11],
        "entropy": search + 0.35, "search_entropy": search, "kl": 0.25 * math.exp(-8 * done) + 0.03 * math.exp(0.2 * noise[0]),
        "explained_before": explained, "explained_after": explained + 0.06 + 0.01 * noise[1],
    }  # fmt: skip


def matches(rows: list[RoundReport], seed: int = 0, pace: float = 1.0) -> list[MatchReport]:
    """A match against GNU Go and one up the ladder of pure MCTS after every tenth round."""
    random = np.random.default_rng(seed + 1)
    found, playouts = [], 1000
    for row in rows[9::10]:
        strength = pace * row.round / 12
        for opponent, level, lead in (
            ("gnugo", 10, strength - 3),
            ("playouts", playouts, strength - playouts / 4000),
        ):
            won = int(random.binomial(20, 1 / (1 + math.exp(-lead))))
            found.append(
                MatchReport(row.round + 1, opponent, level, 400, 20, won, 0, 85.0, row.core_hours)
            )
            playouts += 1000 * (opponent == "playouts" and won == 20)
    return found


def write(folder: Path, count: int, seed: int = 0, pace: float = 1.0) -> Path:
    """Write the files of such a run, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    told, rows = Rows(folder / ROUNDS, RoundReport), rounds(count, seed, pace)
    told.write(rows)
    Rows(folder / MATCHES, MatchReport).write(matches(rows, seed, pace))
    return folder
