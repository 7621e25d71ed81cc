"""Plays per task: published vectors, exactness, and laws that every allocator obeys."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.config import components, read
from coevo.envs.core.errors import ConfigError
from coevo.trainers.samplers.allocate import (
    Allocation,
    Knapsack,
    Uniform,
    Vade,
    Xrpo,
    knapsack_cost,
)
from coevo.trainers.samplers.selection import KeepDynamic
from coevo.trainers.samplers.tasks import TaskStats


def called(kind):
    return lambda stats, total, rng, **options: kind(**options)(stats, total, rng)


knapsack, uniform, vade, xrpo = map(called, (Knapsack, Uniform, Vade, Xrpo))


def rng(seed=0):
    return np.random.default_rng(seed)


def counted(successes, trials):
    successes, trials = np.array(successes, float), np.array(trials, float)
    seen = trials > 0
    mean = np.where(seen, successes / np.where(seen, trials, 1), np.nan)
    return TaskStats(successes, trials, mean, seen.astype(int))


# ---- Knapsack ---------------------------------------------------------------------------------


def knapsack_value(p, n):
    """Return (1 - p^n - (1-p)^n) p (1-p)^2: the chance that n episodes differ, times the gain."""
    p, n = np.asarray(p, dtype=float), np.asarray(n)
    return (1 - p**n - (1 - p) ** n) * p * (1 - p) ** 2


def test_knapsack_values_of_the_spec():
    assert knapsack_value(0.1, 8) == pytest.approx(0.0461, abs=5e-5)
    assert knapsack_value(0.5, 8) == pytest.approx(0.1240, abs=5e-5)


def test_knapsack_allocations_of_the_spec():
    p = np.array([0.1, 0.5, 0.9])
    episodes = knapsack(TaskStats.of_rates(p), 24, rng())
    assert episodes.tolist() == [15, 7, 2]
    assert knapsack_value(p, episodes).sum() == pytest.approx(0.1890, abs=5e-5)
    five = TaskStats.of_rates([0.0, 0.1, 0.5, 0.9, 1.0])
    assert knapsack(five, 40, rng()).tolist() == [2, 24, 8, 4, 2]


def test_the_released_dynamic_program_is_not_reproduced():
    p, released = np.array([0.1, 0.5, 0.9]), np.array([14, 7, 3])
    ours = knapsack(TaskStats.of_rates(p), 24, rng())
    assert knapsack_value(p, ours).sum() > knapsack_value(p, released).sum()


@pytest.mark.parametrize("seed", range(8))
def test_knapsack_is_as_good_as_the_best_of_all_allocations(seed):
    p = rng(seed).uniform(0.02, 0.98, 4)
    total, least = 19, 2
    episodes = knapsack(TaskStats.of_rates(p), total, rng(), n_max=12)
    every = itertools.product(range(least, 13), repeat=4)
    best = max(knapsack_value(p, np.array(n)).sum() for n in every if sum(n) == total)
    assert knapsack_value(p, episodes).sum() == pytest.approx(best, abs=1e-12)
    assert episodes.max() <= 12


def test_what_the_others_do_not_need_goes_to_hopeless_starts():
    stats = TaskStats.of_rates([0.0, 0.5, 1.0])  # needed: 2, ceil(3.32), 2
    assert knapsack(stats, 40, rng()).tolist() == [34, 4, 2]
    assert knapsack(stats, 40, rng(), n_max=20).tolist() == [20, 18, 2]
    assert sorted(knapsack(TaskStats.of_rates([0.0, 0.0]), 9, rng()).tolist()) == [4, 5]
    assert sorted(knapsack(TaskStats.of_rates([1.0, 1.0]), 9, rng()).tolist()) == [4, 5]
    assert knapsack_cost([0.5, 0.9, 1.0]).round(2).tolist() == [3.32, 21.85, np.inf]


def test_no_start_is_played_more_than_the_maximum():
    stats = TaskStats.of_rates([0.1, 0.9])
    assert knapsack(stats, 30, rng())[0] > 16
    assert knapsack(stats, 30, rng(), n_max=16).tolist() == [16, 14]
    assert xrpo(counted([4, 40], [9, 90]), 30, rng(), n_max=16).tolist() == [16, 14]


def test_knapsack_reads_the_last_visit_or_all_of_them():
    stats = TaskStats([5.0, 5.0, 0.0], [10.0, 10.0, 0.0], [0.1, 0.5, np.nan], [2, 2, 0])
    as_rates = TaskStats.of_rates([0.1, 0.5, 0.3])
    assert knapsack(stats, 40, rng(), unseen=0.3).tolist() == knapsack(as_rates, 40, rng()).tolist()
    same = knapsack(stats, 41, rng(), estimate="all", unseen=0.5)
    assert sorted(same.tolist()) == [13, 14, 14]


def test_knapsack_on_the_pool_of_the_spec():
    # 512 prompts, 8 episodes each: non-zero share .310 -> .323, value .0265 -> .0312, at most 34.
    draw = rng(0)
    p = np.concatenate([np.full(150, 0.98), np.full(150, 0.01), draw.beta(0.5, 2, 212)])
    stats = TaskStats.of_rates(p)
    for allocate, share, value, most in (
        (uniform, 0.310, 0.0265, 8),
        (knapsack, 0.323, 0.0312, 34),
    ):
        episodes = allocate(stats, 512 * 8, draw)
        assert np.mean(1 - p**episodes - (1 - p) ** episodes) == pytest.approx(share, abs=2e-3)
        assert knapsack_value(p, episodes).mean() == pytest.approx(value, abs=1e-4)
        assert episodes.max() == most


# ---- XRPO -------------------------------------------------------------------------------------


def test_xrpo_plays_the_unknown_before_the_known_and_the_open_before_the_settled():
    known = counted([5, 50, 0], [10, 100, 100])
    episodes = xrpo(known, 250, rng(), explore=0.0, n_max=250)
    assert episodes[0] > episodes[1] > episodes[2]
    assert xrpo(known, 250, rng(), explore=100.0, n_max=250)[2] > episodes[2]


def test_xrpo_reduces_the_expected_posterior_variance_that_it_claims():
    # Var(theta) c / (c + n) against the mean over outcomes of the posterior variance.
    a, b, n = 3.0, 5.0, 6
    draw = rng(1)
    k = draw.binomial(n, draw.beta(a, b, 400_000))
    after = (a + k) * (b + n - k) / ((a + b + n) ** 2 * (a + b + n + 1))
    before = a * b / ((a + b) ** 2 * (a + b + 1))
    assert after.mean() == pytest.approx(before * (a + b) / (a + b + n), rel=2e-3)


def xrpo_objective(stats, episodes, explore):
    """Sum the uncertainty that goes and the bonus over all episodes, from their definitions."""
    a, b = 1 + stats.successes_P, 1 + stats.trials_P - stats.successes_P
    c = a + b
    gone = np.sqrt(a * b / (c**2 * (c + 1))) * (1 - np.sqrt(c / (c + episodes)))
    seen = np.log1p(stats.trials_P.sum())
    bonus = [
        sum(np.sqrt(seen / (m + j)) for j in range(1, n + 1))
        for m, n in zip(stats.trials_P, episodes, strict=True)
    ]
    return gone.sum() + explore * sum(bonus)


@pytest.mark.parametrize("explore", [0.0, 0.02, 10.0])
@pytest.mark.parametrize("seed", range(6))
def test_xrpo_maximises_its_objective(seed, explore):
    draw = rng(seed)
    trials = draw.integers(0, 12, 3)
    stats = counted(draw.binomial(trials, 0.3), trials)
    episodes = xrpo(stats, 14, rng(), explore=explore)
    every = (np.array(n) for n in itertools.product(range(1, 13), repeat=3) if sum(n) == 14)
    best = max(xrpo_objective(stats, n, explore) for n in every)
    assert xrpo_objective(stats, episodes, explore) == pytest.approx(best, abs=1e-12)


def test_the_bonus_of_xrpo_counts_the_play_it_is_paid_for():
    stats = counted([1, 16], [27, 31])  # with sqrt(log(1+T) / (N+n+1)) this would be [4, 3]
    assert xrpo(stats, 7, rng(), explore=0.05).tolist() == [5, 2]
    worth = [xrpo_objective(stats, np.array([n, 7 - n]), 0.05) for n in range(1, 7)]
    assert np.argmax(worth) == 4


# ---- VADE -------------------------------------------------------------------------------------


def test_vade_picks_whole_groups_of_the_most_open_starts():
    stats = counted([500, 990, 5, 450], [1000, 1000, 1000, 1000])
    assert vade(stats, 16, rng()).tolist() == [8, 0, 0, 8]
    assert vade(stats, 20, rng()).tolist() == [8, 4, 0, 8]
    assert vade(stats, 20, rng(), n_min=2).tolist() == [8, 2, 2, 8]
    assert vade(stats, 22, rng(), n_min=2).tolist() == [8, 4, 2, 8]
    assert vade(stats, 36, rng()).min() == 9


def test_both_scores_of_vade_rank_alike_but_share_differently():
    stats = counted([500, 900, 50], [1000, 1000, 1000])
    picked = [vade(stats, 8, rng(), score=s).tolist() for s in ("variance", "mixed")]
    assert picked[0] == picked[1]
    variance, mixed = (
        vade(stats, 1000, rng(), score=s, spread="share") for s in ("variance", "mixed")
    )
    expected = {}
    for name, score in (
        ("variance", [0.25, 0.09, 0.0475]),
        ("mixed", [1 - 2 * 0.5**8, 1 - 0.9**8 - 0.1**8, 1 - 0.95**8 - 0.05**8]),
    ):
        expected[name] = 1000 * np.array(score) / sum(score)
    assert np.abs(variance - expected["variance"]).max() < 30
    assert np.abs(mixed - expected["mixed"]).max() < 30
    assert mixed[2] > variance[2] + 50


def effective_share(chosen, seed, shift=60, updates=90):
    """Return the share of informative groups while the pool is steady and after a reshuffle."""
    draw = rng(seed)
    rates = draw.permutation(np.repeat([0.99, 0.01, 0.5], [48, 48, 32]))
    history, found = chosen.history(128), []
    for update in range(updates):
        rates = draw.permutation(rates) if update == shift else rates
        if chosen.name == "uniform":
            episodes = np.zeros(128, int)
            episodes[draw.choice(128, 16, replace=False)] = 8
        else:
            episodes = chosen(history.stats(), 128, draw)
        tasks = np.repeat(np.arange(128), episodes)
        outcome = (draw.random(len(tasks)) < rates[tasks]).astype(float)
        found.append(len(KeepDynamic()(outcome, tasks)) / np.count_nonzero(episodes))
        history.after_update(tasks, outcome)
    return np.mean(found[30:shift]), np.mean(found[shift : shift + 20])


def test_vade_finds_informative_starts_and_forgetting_lets_it_follow_a_shift():
    def mean(chosen):
        return np.mean([effective_share(chosen, seed) for seed in range(3)], axis=0)

    even = mean(Uniform())
    fading = mean(Vade())
    counting = mean(Vade(lam_v=1.0, lam_g=1.0))
    assert fading[0] > even[0] + 0.4 and fading[1] > even[1] + 0.2
    assert fading[1] > counting[1] + 0.1


# ---- All --------------------------------------------------------------------------------------

SOME = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), st.one_of(st.none(), st.floats(0, 1))),
    min_size=1,
    max_size=12,
)


@given(SOME, st.integers(0, 60), st.integers(0, 9), st.sampled_from(sorted(components(Allocation))))
def test_plays_sum_exactly_and_respect_the_minimum(tasks, more, seed, name):
    share, trials, last = (np.array(x, float) for x in zip(*tasks, strict=True))
    stats = TaskStats(share * trials, trials, last, trials > 0)
    least = {"uniform": 1, "knapsack": 2, "xrpo": 1, "vade": 0}[name]
    total = least * len(tasks) + more
    episodes = read(Allocation, {"name": name})(stats, total, rng(seed))
    assert episodes.shape == (len(tasks),) and episodes.dtype.kind == "i"
    assert episodes.sum() == total and episodes.min() >= least


@pytest.mark.parametrize("name", ["uniform", "knapsack", "xrpo"])
@given(st.permutations(range(6)))
def test_permuting_the_starts_permutes_the_plays(name, order):
    stats = counted([1, 3, 5, 8, 1, 7], [9, 8, 8, 9, 30, 70])
    moved = TaskStats(
        *(getattr(stats, n)[list(order)] for n in ("successes_P", "trials_P")),
        stats.last_mean_P[list(order)],
        stats.visits_P[list(order)],
    )
    episodes = read(Allocation, {"name": name})(stats, 60, rng(1))
    assert (
        read(Allocation, {"name": name})(moved, 60, rng(2)).tolist()
        == episodes[list(order)].tolist()
    )


def test_no_start_is_favoured_for_its_place():
    for name in ("uniform", "knapsack", "xrpo"):
        got = [
            read(Allocation, {"name": name})(TaskStats.unseen(4), 13, rng(seed))
            for seed in range(60)
        ]
        first = np.mean([episodes[0] for episodes in got])
        assert {int(p.max()) for p in got} == {4} and 3.05 < first < 3.5


@pytest.mark.parametrize("name", sorted(components(Allocation)))
def test_equal_generators_give_equal_plays(name):
    stats = counted([1, 3, 5], [9, 8, 8])
    assert (
        read(Allocation, {"name": name})(stats, 20, rng(3)).tolist()
        == read(Allocation, {"name": name})(stats, 20, rng(3)).tolist()
    )


@pytest.mark.parametrize(
    ("name", "total", "options", "message"),
    [
        ("uniform", 2, {}, r"2 episodes for 3 tasks: at least 3 are needed \(n_min=1\)"),
        ("knapsack", 5, {}, "at least 6 are needed"),
        ("knapsack", 400, {}, r"at most 384 possible \(n_max=128\)"),
        ("knapsack", 9, {"n_min": 4, "n_max": 3}, "n_min=4 must not be above n_max=3"),
        ("knapsack", 9, {"unseen": 1.5}, "unseen=1.5"),
        ("xrpo", 9, {"alpha": 0.0}, "alpha=0.0"),
        ("xrpo", 9, {"explore": -1.0}, "explore=-1.0"),
        ("vade", 9, {"group": 1}, "group=1"),
        ("vade", 90, {"group": 4, "n_min": 5}, "group=4 .* n_min=5"),
        ("vade", 9, {"lam_v": 1.5}, "lam_v=1.5"),
    ],
)
def test_what_cannot_be_handed_out_is_refused(name, total, options, message):
    with pytest.raises(ConfigError, match=message):
        read(Allocation, {"name": name, **options})(TaskStats.unseen(3), total, rng())


def test_histories_forget_only_for_vade():
    assert (Vade().history(3).lam_v, Vade().history(3).lam_g) == (0.8, 0.99)
    assert (Xrpo().history(3).lam_v, Xrpo().history(3).lam_g) == (1.0, 1.0)
