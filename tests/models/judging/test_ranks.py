"""Ranks from likelihoods: made-up players, whose moves are drawn as their rank would play."""

import numpy as np
import pytest

from data.records.metadata import from_rank, to_rank
from models.judging.ranks import (
    LEVEL,
    estimate,
    fit_temper,
    nearest,
    posterior,
    shares,
    steps,
)

RANKS = [to_rank(name) for name in ("5k", "3k", "1k", "1d", "3d", "5d", "7d", "9d")]
CHOICES = 6  # moves that a position offers


def draw_players(
    count: int, moves: int, random: np.random.Generator, *, echo: int = 1, spread: float = 0.15
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums [players, ranks] of log-likelihoods, and the true rank of each player.

    Stronger players prefer the first choice. `echo` repeats each move: as many moves, but less
    independent ones.
    """
    truth = random.integers(0, len(RANKS), count)
    sums = np.array([log_likelihoods(k, moves, random, spread).sum(0) * echo for k in truth])
    return sums, truth


def log_likelihoods(
    rank: int, moves: int, random: np.random.Generator, spread: float = 0.15
) -> np.ndarray:
    """Draw the moves of a player; return float [moves, ranks]."""
    logits = -spread * np.arange(len(RANKS))[:, None] * np.arange(CHOICES)[None]
    table = logits - np.log(np.exp(logits).sum(1, keepdims=True))  # [ranks, choices]
    chosen = random.choice(CHOICES, moves, p=np.exp(table[rank]))
    return table.T[chosen]


def test_ranks_lie_on_a_line() -> None:
    ranks = [to_rank(name) for name in ("18k", "2k", "1k", "1d", "9d", "1p", "9p")]
    assert steps(ranks).tolist() == [-17, -1, 0, 1, 9, 10, 10]
    near = nearest(np.array([to_rank(name) for name in ("2k", "4d", "5p", "9k")]), RANKS)
    assert [from_rank(RANKS[k]) for k in near] == ["3k", "3d", "9d", "5k"]


def test_many_moves_tell_the_rank_and_none_tell_the_prior() -> None:
    random = np.random.default_rng(1)
    for rank in range(len(RANKS)):
        found = estimate(log_likelihoods(rank, 6000, random), RANKS, temper=1.0)
        assert abs(found.best - rank) <= 1 and found.holds(rank)
        assert found.chances.sum() == pytest.approx(1) and found.high - found.low <= 2
        assert found.step == pytest.approx(steps(RANKS)[rank], abs=1)
    prior = np.array([0, 0, 0.02, 0.9, 0.08, 0, 0, 0])
    found = estimate(np.zeros((0, len(RANKS))), RANKS, temper=1.0, prior=prior)
    assert np.allclose(found.chances, prior) and (found.low, found.best, found.high) == (3, 3, 3)


def test_intervals_hold_the_true_rank_as_often_as_they_say() -> None:
    sums, truth = draw_players(1500, 60, np.random.default_rng(2))
    found = [estimate(total[None], RANKS, temper=1.0) for total in sums]
    held = np.mean([one.holds(int(rank)) for one, rank in zip(found, truth, strict=True)])
    # whole ranks: an interval has somewhat more chance than it needs
    chance = np.mean([one.chances[one.low : one.high + 1].sum() for one in found])
    assert chance >= LEVEL and held == pytest.approx(chance, abs=0.02)


def test_the_temper_is_one_for_independent_moves_and_less_for_moves_that_repeat() -> None:
    random = np.random.default_rng(3)
    fitted = fit_temper(*draw_players(2000, 100, random))
    repeated = fit_temper(*draw_players(2000, 25, random, echo=4))
    assert fitted == pytest.approx(1, abs=0.1)
    assert repeated == pytest.approx(1 / 4, abs=0.04)
    noise = random.normal(size=(500, len(RANKS)))
    assert fit_temper(noise, random.integers(0, len(RANKS), 500)) < 0.2


def test_the_median_errs_by_fewer_ranks_than_naming_the_mean() -> None:
    sums, truth = draw_players(800, 100, np.random.default_rng(4))
    places = steps(RANKS)
    named = [places[estimate(total[None], RANKS, temper=1.0).best] for total in sums]
    ours = np.abs(np.array(named) - places[truth]).mean()
    assert ours < 0.6 * np.abs(places[truth].mean() - places[truth]).mean()


def test_chances_do_not_overflow_and_a_prior_leaves_no_rank_out() -> None:
    sums = np.array([[-9e5, -8e5, -9e5]])
    assert posterior(sums, 1.0).tolist() == [[0, 1, 0]]
    prior = shares(np.array([0, 0, 0, 2]), 3)
    assert prior.sum() == pytest.approx(1) and prior.argmax() == 0 and (prior > 0).all()
    assert posterior(np.zeros((1, 3)), 1.0, prior)[0] == pytest.approx(prior)
