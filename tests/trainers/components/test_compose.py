"""Composers: literal vectors of the papers, the laws they share, and what they do to a bandit."""

import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.config import components, read
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.trainers.advantage import AdvantageConfig, _composed
from coevo.trainers.batch import Batch
from coevo.trainers.components import AnyComposition
from coevo.trainers.components.rank_consistency import RankConsistency
from coevo.trainers.tensors import group_stats

NAMES = ("payoff", "format", "progress", "consistency")
# Options under which every composer takes NAMES with payoff in {0, 1} and the rest in [0, 0.1].
READY = {
    "weighted_sum": {},
    "decoupled": {},
    "gated": {"high": ("payoff", "format")},
    "tiered": {},
    "rank_consistency": {"local": "progress"},
    "constrained": {"points": {"format": 0.05}},
}


def make(rows, names=NAMES, weights=None, dtype=torch.float64):
    """Make parts of one turn per trajectory from [B, K] or of several from [B, T, K]."""
    reward = torch.tensor(rows, dtype=dtype)
    reward = reward.unsqueeze(1) if reward.ndim == 2 else reward
    mask = torch.ones(reward.shape[:2], dtype=torch.bool)
    return Parts(reward, names[: reward.shape[-1]], weights or {}, mask)


class Parts(NamedTuple):
    """Rewards before or after they are composed."""

    reward_BTK: torch.Tensor
    components: tuple[str, ...]
    weights: dict[str, float]
    mask_BT: torch.Tensor


def run(name, parts, **options):
    compose = read(AnyComposition, {"name": name, **options})
    turn_of_BS = torch.where(parts.mask_BT, torch.arange(parts.mask_BT.shape[1]), -1)
    batch = Batch.from_rewards(parts.reward_BTK, parts.components, parts.mask_BT, turn_of_BS, {})
    config = AdvantageConfig(compose=compose, reward_weights=parts.weights)
    _, weight_K, reward = _composed(config, batch.checked())
    if compose.keeps_apart:
        weights = dict(zip(parts.components, weight_K.tolist(), strict=True))
        return Parts(reward, parts.components, weights, parts.mask_BT)
    return Parts(reward.unsqueeze(-1), ("reward",), {}, parts.mask_BT)


def outcomes(parts):
    return parts.reward_BTK.sum(1)[:, 0].tolist()


def near(*values):
    return pytest.approx(list(values), abs=1e-9)


# ---- What all composers share -------------------------------------------------------------------


def batch(rewards, padded, dtype):
    """Two turns each; the second of some is padding that holds NaN."""
    reward = torch.tensor(rewards, dtype=torch.float64).reshape(-1, 2, 4)
    reward[..., 0] = torch.stack([torch.zeros(len(reward)), reward[:, 0, 0].round()], 1)
    mask = torch.ones(reward.shape[:2], dtype=torch.bool)
    reward[..., 1:] *= 0.05
    for row in padded:
        if row < len(reward):
            reward[row, 0, 0], mask[row, 1] = reward[row, 1, 0], False
            reward[row, 1] = math.nan
    return Parts(reward.to(dtype), NAMES, {"format": 0.5} if padded else {}, mask)


rows = st.lists(st.floats(0, 1), min_size=8, max_size=40).map(lambda x: x[: len(x) // 8 * 8])
dtypes = st.sampled_from([torch.float64, torch.float32, torch.float16, torch.bfloat16])


@pytest.mark.parametrize("name", sorted(components(AnyComposition)))
@given(rewards=rows, padded=st.sets(st.integers(0, 4)), dtype=dtypes)
def test_no_composer_makes_a_nan_or_reads_padding(name, rewards, padded, dtype):
    parts = batch(rewards, padded, dtype)
    after = run(name, parts, **READY[name])
    assert after.reward_BTK.dtype == torch.float64
    assert after.reward_BTK.isfinite().all()
    assert (after.reward_BTK[~parts.mask_BT] == 0).all()
    assert after.reward_BTK.shape == (*parts.mask_BT.shape, len(after.components))


@pytest.mark.parametrize(
    "name", sorted(set(components(AnyComposition)) - {"decoupled", "constrained"})
)
def test_composers_leave_one_component_and_no_weights(name):
    after = run(name, make([[1.0, 0.1, 0.1, 0.1], [0.0, 0.1, 0.1, 0.1]]), **READY[name])
    assert (after.components, after.weights) == (("reward",), {})


@pytest.mark.parametrize("name", sorted(components(AnyComposition)))
def test_rows_are_composed_alike_whatever_their_order(name):
    parts = make([[1.0, 0.1, 0.02, 0.1], [0.0, 0.05, 0.1, 0.0], [1.0, 0.0, 0.1, 0.1]])
    order = torch.tensor([2, 0, 1])
    plain = run(name, parts, **READY[name]).reward_BTK
    moved = run(name, parts._replace(reward_BTK=parts.reward_BTK[order]), **READY[name])
    assert torch.allclose(moved.reward_BTK, plain[order], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", sorted(components(AnyComposition)))
def test_an_empty_batch_is_composed_to_an_empty_one(name):
    none = Parts(torch.zeros(0, 3, 4), NAMES, {}, torch.zeros(0, 3, dtype=torch.bool))
    assert run(name, none, **READY[name]).reward_BTK.shape[:2] == (0, 3)


@pytest.mark.parametrize("name", sorted(components(AnyComposition)))
def test_bad_parts_are_refused_by_name(name):
    good = make([[1.0, 0.1, 0.1, 0.1]])
    with pytest.raises(UnknownNameError, match="'formt'; did you mean 'format'"):
        run(name, good._replace(weights={"formt": 1.0}), **READY[name])
    with pytest.raises(ConfigError, match="progress=nan must be a finite number"):
        run(name, good._replace(weights={"progress": math.nan}), **READY[name])
    with pytest.raises(ConfigError, match=r"reward 'consistency' of .* must be finite"):
        run(name, make([[1.0, 0.1, 0.1, math.inf]]), **READY[name])
    with pytest.raises(ConfigError, match="expected"):
        run(name, good._replace(components=("payoff",)), **READY[name])


# ---- Sum and decoupled --------------------------------------------------------------------------


def test_a_sum_is_weighted_and_keeps_turns():
    parts = make([[[1.0, 0.5], [0.0, 1.0]]], weights={"format": 0.1})
    assert run("weighted_sum", parts).reward_BTK.tolist() == [[[1.05], [0.1]]]


def test_bfloat16_rewards_are_summed_in_float64():
    parts = make([[256.0, 1.0]], dtype=torch.bfloat16)
    assert outcomes(run("weighted_sum", parts)) == [257.0], "256 + 1 = 256 in bfloat16"


def test_decoupled_leaves_components_and_one_weight_each():
    after = run("decoupled", make([[1.0, 0.5]], weights={"format": 0.1}))
    assert after.components == ("payoff", "format")
    assert after.weights == {"payoff": 1.0, "format": 0.1}
    assert after.reward_BTK.tolist() == [[[1.0, 0.5]]]


def gdpo(pairs, prompts, eps=1e-4):
    """Normalise each component per prompt, then add: GDPO before its batch normalisation."""
    parts = run("decoupled", make(pairs, ("format", "accuracy")))
    key = torch.tensor(prompts)
    total = torch.zeros(len(pairs), dtype=torch.float64)
    for k, name in enumerate(parts.components):
        y = parts.reward_BTK[..., k].sum(1)
        stats = group_stats(y, key, torch.ones_like(y))
        total += parts.weights[name] * (y - stats.mean) / (stats.std + eps)
    return total


def test_gdpo_tells_apart_what_a_sum_makes_equal():
    """V2: one component better, or both."""
    pairs = [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    assert gdpo(pairs, [0, 0, 1, 1]).tolist() == pytest.approx(
        [-0.7071, 0.7071, -1.4142, 1.4142], abs=3e-4
    )


def test_gdpo_vector_of_two_prompts():
    """V2: before and after the batch normalisation."""
    first, second = [[1, 1], [1, 0], [0, 1], [0, 0]], [[1, 1], [1, 1], [0, 1], [1, 1]]
    total = gdpo([[float(x) for x in pair] for pair in first + second], [0] * 4 + [1] * 4)
    before = [1.7318, 0, 0, -1.7318, 0.4999, 0.4999, -1.4997, 0.4999]
    assert total.tolist() == pytest.approx(before, abs=6e-5)
    final = (total - total.mean()) / (total.std() + 1e-4)
    after = [1.5274, 0, 0, -1.5274, 0.4409, 0.4409, -1.3227, 0.4409]
    assert final.tolist() == pytest.approx(after, abs=6e-5)


# ---- Gate ---------------------------------------------------------------------------------------


def test_gate_vector():
    """V10: high 1 or 0, low (.1, .2, .1), threshold .5."""
    low = [0.1, 0.2, 0.1]
    assert outcomes(run("gated", make([[1.0, *low], [0.0, *low]]))) == near(1.4, 0.0)


def test_a_gate_reads_the_outcome_and_pays_every_turn():
    parts = make([[[0.0, 0.2], [0.6, 0.1]], [[0.0, 0.2], [0.4, 0.1]]])
    after = run("gated", parts, delta=0.6)
    assert after.reward_BTK[..., 0].tolist() == [near(0.2, 0.7), near(0.0, 0.4)]


def test_gates_follow_priorities():
    """a opens b and the rest, b opens the rest alone; a shut a leaves b shut and what b opens."""
    parts = make([[1, 1, 0.1, 0.2], [1, 0.3, 0.1, 0.2], [0.4, 1, 0.1, 0.2]])
    assert outcomes(run("gated", parts, high=("payoff", "format"))) == near(2.3, 1.3, 0.4)
    assert outcomes(run("gated", parts, high=("payoff",))) == near(2.3, 1.6, 0.4)
    assert outcomes(run("gated", parts, high=("format", "payoff"))) == near(2.3, 0.3, 1.4)


def test_a_gate_reads_what_is_paid_before_weights():
    parts = make([[0.5, 0.2]], weights={"payoff": 0.1, "format": 10.0})
    assert outcomes(run("gated", parts)) == near(2.05)


@pytest.mark.parametrize("high", [(), ("payoff", "payoff")])
def test_gate_refuses_a_list_that_is_none(high):
    with pytest.raises(ConfigError, match="high="):
        run("gated", make([[1.0, 1.0]]), high=high)
    with pytest.raises(UnknownNameError, match="'score'"):
        run("gated", make([[1.0, 1.0]]), high=("score",))
    with pytest.raises(ConfigError, match="delta=nan"):
        run("gated", make([[1.0, 1.0]]), delta=math.nan)


def completion(name, seed, options, updates=400, plays=64, rate=0.5):
    """Learn five turns of submit or stall; give the share of plays that submit.

    A stall pays .5 as `step`; a submit pays 1 with probability .3, else .2, as `submit`, and ends.
    """
    torch.manual_seed(seed)
    z_T = torch.zeros(5, dtype=torch.float64)
    for _ in range(updates):
        p_T = z_T.sigmoid()
        submit_BT = torch.rand(plays, 5) < p_T
        earlier_BT = submit_BT.long().cumsum(1) - submit_BT.long()
        mask_BT = earlier_BT == 0
        here_BT = submit_BT & mask_BT
        pay_B1 = torch.where(torch.rand(plays, 1) < 0.3, 1.0, 0.2)
        reward_BTK = torch.stack([here_BT * pay_B1, 0.5 * (mask_BT & ~here_BT)], dim=-1)
        after = run(name, Parts(reward_BTK, ("submit", "step"), {}, mask_BT), **options)
        return_B = after.reward_BTK.sum((1, 2))
        grad_BT = mask_BT * (here_BT.double() - p_T)
        z_T += rate * ((return_B - return_B.mean()).unsqueeze(1) * grad_BT).mean(0)
    return float(1 - (1 - z_T.sigmoid()).prod())


@pytest.mark.parametrize("seed", range(3))
def test_a_gate_stops_stalling(seed):
    """A toy: completion .041 with a sum, .999 with the gate."""
    assert completion("weighted_sum", seed, {}) < 0.3
    assert completion("gated", seed, {"high": ("submit",), "delta": 0.2}) > 0.95


# ---- Tiers --------------------------------------------------------------------------------------


def test_tiers_grade_successes_and_failures():
    parts = make([[1, 0], [1, 1], [0, 0], [0, 1]], ("payoff", "progress"))
    assert outcomes(run("tiered", parts, alpha=0.9)) == near(1.0, 1.9, 0.0, 0.9)
    assert outcomes(run("tiered", parts, alpha=0.0)) == near(1.0, 1.0, 0.0, 0.0)


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1),
    st.floats(0, 1, exclude_max=True),
)
def test_every_failure_stays_below_every_success(plays, alpha):
    parts = make([[float(won), tier] for won, tier in plays], ("payoff", "progress"))
    paid = list(zip(outcomes(run("tiered", parts, alpha=alpha)), plays, strict=True))
    failures = [r for r, (won, _) in paid if not won]
    assert max(failures, default=-1.0) < min((r for r, (won, _) in paid if won), default=1.0)


@pytest.mark.parametrize("alpha", [-0.1, 1.0, 2.0, math.nan])
def test_tiers_refuse_an_alpha_that_could_swap_them(alpha):
    with pytest.raises(ConfigError, match="alpha="):
        run("tiered", make([[1.0, 0.5]], ("payoff", "progress")), alpha=alpha)


def test_tiers_refuse_what_breaks_the_order():
    names = ("payoff", "progress", "bonus")
    with pytest.raises(ConfigError, match=r"a failure earns 1\.5, a success 1"):
        run("tiered", make([[1, 0, 0.0], [0, 1, 1.0]], names))
    with pytest.raises(ConfigError, match="a failure earns 1, a success 1"):
        weights = {"progress": 2.0}
        run("tiered", make([[1, 0], [0, 1]], ("payoff", "progress"), weights=weights))
    with pytest.raises(ConfigError, match=r"outcome 'payoff' is -1\.0"):
        run("tiered", make([[-1.0, 0.0]], ("payoff", "progress")))
    with pytest.raises(ConfigError, match=r"tier 'progress' is 1\.5"):
        run("tiered", make([[1.0, 1.5]], ("payoff", "progress")))


# ---- Rank consistency ---------------------------------------------------------------------------


def weighed(local_SN, outcome_N=(1.0, 1.0, 0.0, 0.0)):
    """Return what a right answer adds to each of some seats, whose local rewards are given."""
    seats, plays = len(local_SN), len(outcome_N)
    rows = [[r, own] for own_N in local_SN for r, own in zip(outcome_N, own_N, strict=True)]
    reward_BTK = torch.tensor(rows, dtype=torch.float64).unsqueeze(1)
    mask_BT = torch.ones(len(rows), 1, dtype=torch.bool)
    seat_B = torch.arange(seats).repeat_interleave(plays)
    batch = Batch.from_rewards(
        reward_BTK, ("payoff", "local"), mask_BT, mask_BT.long() - 1, {"seat": seat_B}
    )
    paid_BT = RankConsistency()(batch, torch.ones(2, dtype=torch.float64))
    return (paid_BT.squeeze(1) - reward_BTK[:, 0, 1])[::plays].tolist()


AGREES, REVERSED = (0.9, 0.8, 0.2, 0.1), (0.1, 0.2, 0.8, 0.9)


def test_who_agrees_with_the_outcome_has_more_of_it():
    assert weighed([AGREES, REVERSED]) == pytest.approx([0.6057, 0.3943], abs=1e-4)
    third = (0.95, 0.85, 0.3, 0.0)
    assert weighed([AGREES, REVERSED, third]) == pytest.approx([0.3772, 0.2455, 0.3772], abs=1e-4)
    assert weighed([REVERSED, REVERSED]) == pytest.approx([0.5, 0.5])


def test_equal_outcomes_say_nothing_of_a_seat():
    assert weighed([AGREES, REVERSED], (1.0, 1.0, 1.0, 1.0)) == pytest.approx([0.5, 0.5])


# ---- Constrained -------------------------------------------------------------------------------


def test_multipliers_descend_until_the_points_are_met():
    """By hand: J = (.75, .5), theta = .5: mu_a = -.1 * .25 and mu_b stays 0; the rest weighs 2."""
    parts = make([[1.0, 0.5, 0.0], [0.5, 0.5, 0.0]], names=("a", "b", "payoff"))
    mask, turn_of = parts.mask_BT, torch.zeros(2, 1, dtype=torch.long)
    batch = Batch.from_rewards(parts.reward_BTK, parts.components, mask, turn_of, {})
    compose = read(AnyComposition, {"name": "constrained", "points": {"a": 0.5, "b": 0.5}})
    weight_K, state = compose.weighed(batch, torch.ones(3, dtype=torch.float64), {})
    down = math.tanh(-0.025)
    assert weight_K.tolist() == pytest.approx([down, 0.0, 2 - down])
    weight_K, state = compose.weighed(batch, torch.ones(3, dtype=torch.float64), state)
    slope = 0.1 * 0.25 + (1 - down**2) * 0.25
    assert float(weight_K[0]) == pytest.approx(math.tanh(-0.025 - 0.1 * slope))
    lenient = read(
        AnyComposition, {"name": "constrained", "points": {"a": 1}, "form": "inequality"}
    )
    weight_K, _ = lenient.weighed(batch, torch.ones(3, dtype=torch.float64), {})
    assert float(weight_K[0]) == pytest.approx(1 / (1 + math.exp(-0.1 * 0.25 * 0.25)))
