"""Composers: literal vectors of the papers, the laws they share, and what they do to a bandit."""

import doctest
import importlib
import inspect
import json
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.config import read
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.trainers.estimators import Composition, components
from coevo.trainers.estimators.adaptive import dominated_volume, influence
from coevo.trainers.estimators.compose import Parts
from coevo.trainers.estimators.groups import group_stats

NAMES = ("payoff", "format", "progress", "consistency")
# Options under which every composer takes NAMES with payoff in {0, 1} and the rest in [0, 0.1].
READY = {
    "weighted_sum": {},
    "decoupled": {},
    "gated": {"high": ("payoff", "format")},
    "tiered": {},
    "consistency": {},
    "lagrange": {"at_least": {"format": 0.9}, "at_most": {"progress": 0.01}},
    "hypervolume": {"origin": {"payoff": 0, "format": 0}},
    "gradient_weights": {},
}


def make(rows, names=NAMES, weights=None, state=None, dtype=torch.float64):
    """Make parts of one turn per trajectory from [B, K] or of several from [B, T, K]."""
    reward = torch.tensor(rows, dtype=dtype)
    reward = reward.unsqueeze(1) if reward.ndim == 2 else reward
    mask = torch.ones(reward.shape[:2], dtype=torch.bool)
    return Parts(reward, names[: reward.shape[-1]], weights or {}, mask, state or {})


def run(name, parts, **options):
    return read(Composition, {"name": name, **options})(parts)


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
    return Parts(
        reward.to(dtype), NAMES, {"format": 0.5} if padded else {}, mask, {"seat_ema/0": 1.0}
    )


rows = st.lists(st.floats(0, 1), min_size=8, max_size=40).map(lambda x: x[: len(x) // 8 * 8])
dtypes = st.sampled_from([torch.float64, torch.float32, torch.float16, torch.bfloat16])


@pytest.mark.parametrize("name", sorted(components(Composition)))
@given(rewards=rows, padded=st.sets(st.integers(0, 4)), dtype=dtypes)
def test_no_composer_makes_a_nan_or_reads_padding(name, rewards, padded, dtype):
    parts = batch(rewards, padded, dtype)
    if name == "lagrange":
        parts = parts._replace(weights={})
    for _ in range(3):
        after = run(name, parts, **READY[name])
        assert after.reward_BTK.dtype == torch.float64
        assert after.reward_BTK.isfinite().all()
        assert (after.reward_BTK[~parts.mask_BT] == 0).all()
        assert after.reward_BTK.shape == (*parts.mask_BT.shape, len(after.components))
        assert after.state["seat_ema/0"] == 1.0, "what others keep stays"
        assert all("/" in key for key in after.state)
        assert json.loads(json.dumps(after.state, allow_nan=False)) == after.state
        parts = parts._replace(state=after.state)


@pytest.mark.parametrize("name", sorted(set(components(Composition)) - {"decoupled"}))
def test_composers_leave_one_component_and_no_weights(name):
    after = run(name, make([[1.0, 0.1, 0.1, 0.1], [0.0, 0.1, 0.1, 0.1]]), **READY[name])
    assert (after.components, after.weights) == (("reward",), {})


@pytest.mark.parametrize("name", sorted(components(Composition)))
def test_rows_are_composed_alike_whatever_their_order(name):
    parts = make([[1.0, 0.1, 0.02, 0.1], [0.0, 0.05, 0.1, 0.0], [1.0, 0.0, 0.1, 0.1]])
    order = torch.tensor([2, 0, 1])
    plain = run(name, parts, **READY[name]).reward_BTK
    moved = run(name, parts._replace(reward_BTK=parts.reward_BTK[order]), **READY[name])
    assert torch.allclose(moved.reward_BTK, plain[order], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", sorted(components(Composition)))
def test_an_empty_batch_is_composed_to_an_empty_one(name):
    none = Parts(torch.zeros(0, 3, 4), NAMES, {}, torch.zeros(0, 3, dtype=torch.bool), {})
    assert run(name, none, **READY[name]).reward_BTK.shape[:2] == (0, 3)


@pytest.mark.parametrize("name", sorted(components(Composition)))
def test_bad_parts_are_refused_by_name(name):
    good = make([[1.0, 0.1, 0.1, 0.1]])
    with pytest.raises(UnknownNameError, match="'formt'; did you mean 'format'"):
        run(name, good._replace(weights={"formt": 1.0}), **READY[name])
    with pytest.raises(ConfigError, match="weight of 'progress' is nan"):
        run(name, good._replace(weights={"progress": math.nan}), **READY[name])
    with pytest.raises(ConfigError, match="'consistency' of a real turn is not finite"):
        run(name, make([[1.0, 0.1, 0.1, math.inf]]), **READY[name])
    with pytest.raises(ConfigError, match="expect"):
        run(name, good._replace(components=("payoff",)), **READY[name])


@pytest.mark.parametrize("module", ["parts", "compose", "adaptive"])
def test_every_public_function_has_an_example_that_runs(module):
    module = importlib.import_module(f"coevo.trainers.estimators.{module}")
    result = doctest.testmod(module)
    assert result.failed == 0 < result.attempted
    functions = [f for n, f in inspect.getmembers(module, inspect.isfunction) if n[0] != "_"]
    own = [f for f in functions if f.__module__ == module.__name__]
    assert [f.__name__ for f in own if ">>>" not in (inspect.getdoc(f) or "")] == []


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
        after = read(Composition, {"name": name, **options})(
            Parts(reward_BTK, ("submit", "step"), {}, mask_BT, {})
        )
        return_B = after.reward_BTK.sum((1, 2))
        grad_BT = mask_BT * (here_BT.double() - p_T)
        z_T += rate * ((return_B - return_B.mean()).unsqueeze(1) * grad_BT).mean(0)
    return float(1 - (1 - z_T.sigmoid()).prod())


@pytest.mark.parametrize("seed", range(3))
def test_a_gate_stops_stalling(seed):
    """A toy: completion .041 with a sum, .999 with the gate."""
    assert completion("weighted_sum", seed, {}) < 0.3
    assert completion("gated", seed, {"high": ("submit",), "delta": 0.2}) > 0.95


# ---- Tiers and consistency ----------------------------------------------------------------------


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


def test_consistency_vectors():
    """V10: (f, a, c) -> reward."""
    names = ("format", "payoff", "consistency")
    parts = make([[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]], names)
    assert outcomes(run("consistency", parts)) == near(2, 1.5, 0.5, 1.5)


def test_consistency_of_another_turn_counts_and_other_components_are_added():
    names = ("format", "payoff", "consistency", "other")
    parts = make([[[0, 1, 0, 0.25], [1, 0, 1, 0.0]]], names)
    assert run("consistency", parts).reward_BTK[..., 0].tolist() == [near(1.75, 0.5)]


def test_consistency_needs_three_components():
    with pytest.raises(ConfigError, match="three different"):
        run("consistency", make([[1.0] * 4]), accuracy="format")
    with pytest.raises(UnknownNameError, match="'consistency'"):
        run("consistency", make([[1.0, 1.0]]))


# ---- Multipliers --------------------------------------------------------------------------------


def test_multipliers_step_towards_the_threshold_and_stop_at_zero():
    parts = make([[1, 0.5, 0.3], [0, 0.7, 0.5]], state={"lagrange/format": 2.0})
    options = {"at_least": {"format": 0.9}, "at_most": {"progress": 0.1}, "lr": 0.5}
    after = run("lagrange", parts, **options)
    assert outcomes(after) == near(2.0, 1.4), "this batch is composed with what was known before"
    assert after.state == pytest.approx(
        {"lagrange/format": 2.0 + 0.5 * 0.3, "lagrange/progress": 0.5 * 0.3}
    )
    again = run("lagrange", parts._replace(state=after.state), **options)
    assert outcomes(again) == near(1 + 2.15 * 0.5 - 0.15 * 0.3, 2.15 * 0.7 - 0.15 * 0.5)
    kept = run("lagrange", make([[1.0, 1.0]]), at_least={"format": 0.9})
    assert kept.state == {"lagrange/format": 0.0}


@pytest.mark.parametrize(
    ("limits", "weights"),
    [
        ({"at_least": {"format": math.nan}}, {}),
        ({"at_least": {"format": 0.9}, "at_most": {"format": 1.0}}, {}),
        ({"at_least": {"payoff": 1.0}}, {}),
        ({"at_least": {"format": 0.9}}, {"format": 2.0}),
    ],
)
def test_constraints_that_make_no_sense(limits, weights):
    with pytest.raises(ConfigError, match=r"threshold|at_least"):
        run("lagrange", make([[1.0, 1.0]], weights=weights), **limits)


def test_dual_ascent_keeps_a_threshold_that_the_reward_alone_breaks():
    """Arm 0 pays more, arm 1 is well formed: format must be .8 on average, alone it would be 0."""
    arms = torch.tensor([[1.0, 0.0], [0.2, 1.0]], dtype=torch.float64)
    z_A, state, late = torch.zeros(2, dtype=torch.float64), {}, []
    for step in range(3000):
        p_A, lam = z_A.softmax(0), state.get("lagrange/format", 0.0)
        parts = make([(p_A @ arms).tolist()], state=state)
        state = run("lagrange", parts, at_least={"format": 0.8}, lr=0.05).state
        y_A = arms[:, 0] + lam * arms[:, 1]
        z_A += 0.3 * p_A * (y_A - p_A @ y_A)
        late += [(float(p_A[1]), lam)] if step >= 1500 else []
    formed, multiplier = torch.tensor(late).mean(0).tolist()
    assert formed == pytest.approx(0.8, abs=0.02)
    assert multiplier == pytest.approx(0.8, abs=0.05), "at which the two arms pay the same"


# ---- Hypervolume --------------------------------------------------------------------------------

points = st.lists(st.lists(st.integers(-1, 4), min_size=3, max_size=3), max_size=6)


@given(points)
def test_volume_counts_the_unit_cells_below_some_point(points):
    cells = {
        (x, y, z)
        for a, b, c in points
        for x in range(max(a, 0))
        for y in range(max(b, 0))
        for z in range(max(c, 0))
    }
    assert dominated_volume(points, [0, 0, 0]) == len(cells)


def test_volumes_of_known_sets():
    assert dominated_volume([], [0, 0]) == 0
    assert dominated_volume([[3.0]], [1.0]) == 2
    assert dominated_volume([[1, 4], [2, 2], [4, 1], [1, 1]], [0, 0]) == 8
    assert dominated_volume([[2] * 4, [1] * 4], [0] * 4) == 16
    assert dominated_volume([[5, 0], [0, 5]], [0, 0]) == 0


def test_progress_raises_the_factor_of_the_next_batch():
    origin = {"origin": {"payoff": 0, "format": 0}}
    first = run("hypervolume", make([[0.5, 0.5], [0.5, 0.1]], weights={"format": 2.0}), **origin)
    assert outcomes(first) == near(1.5, 0.7)
    gain = 0.5 * 0.3
    assert first.state["hypervolume/factor"] == pytest.approx(0.5 + 1.5 * math.tanh(gain))
    assert first.state["hypervolume/archive"] == [pytest.approx([0.3, 0.5])], "format, payoff"
    worse = run("hypervolume", make([[0.4, 0.2]], state=first.state), **origin)
    assert outcomes(worse) == near(0.6 * (0.5 + 1.5 * math.tanh(gain)))
    assert worse.state["hypervolume/factor"] == 0.5
    assert worse.state["hypervolume/archive"] == first.state["hypervolume/archive"]
    other = run("hypervolume", make([[0.1, 0.9]], state=worse.state), **origin)
    assert len(other.state["hypervolume/archive"]) == 2
    best = run("hypervolume", make([[1.0, 1.0]], state=other.state), **origin)
    assert best.state["hypervolume/archive"] == [[1.0, 1.0]], "dominated points leave"
    more = run("hypervolume", make([[2.0, 1.0]], state=best.state), **origin)
    assert more.state["hypervolume/archive"] == [[1.0, 2.0]], "and those equalled in part"


def test_without_an_origin_the_first_batch_is_the_reference():
    first = run("hypervolume", make([[0.5, 0.1]]))
    assert first.state["hypervolume/factor"] == 0.5
    second = run("hypervolume", make([[1.0, 0.6]], state=first.state))
    assert second.state["hypervolume/factor"] == pytest.approx(0.5 + 1.5 * math.tanh(0.25))


def test_a_shared_factor_cancels_where_a_deviation_divides():
    """The trap that the docstring names: GRPO does not feel the factor, a centre alone does."""
    rows = [[1.0, 0.2], [0.0, 0.4], [1.0, 0.0], [0.0, 0.1]]
    advantages = {}
    for factor in (1.0, 2.0):
        state = {"hypervolume/factor": factor}
        y_B = run("hypervolume", make(rows, state=state)).reward_BTK.sum((1, 2))
        stats = group_stats(y_B, torch.zeros(4, dtype=torch.int64), torch.ones(4))
        centred_B = y_B - stats.mean
        advantages[factor] = centred_B, centred_B / (stats.std + 1e-6)
    assert torch.allclose(2 * advantages[1.0][0], advantages[2.0][0])
    assert torch.allclose(advantages[1.0][1], advantages[2.0][1], atol=1e-5)


def test_hypervolume_refuses_a_bad_origin_or_another_archive():
    with pytest.raises(ConfigError, match=r"origin.payoff=nan must be a finite number"):
        run("hypervolume", make([[1.0, 0.0]]), origin={"payoff": math.nan})
    with pytest.raises(UnknownNameError, match="'score'"):
        run("hypervolume", make([[1.0, 0.0]]), origin={"score": 0})
    with pytest.raises(ConfigError, match="does not hold the objectives"):
        state = {"hypervolume/archive": [[1.0]]}
        run("hypervolume", make([[1.0, 0.0]], state=state))


# ---- Influence ----------------------------------------------------------------------------------

OBJECTIVES = ("format", "accuracy", "brevity")
# All arms but the first are well formed; they trade accuracy for brevity.
ARMS = [[0, 0.5, 0.5], [1, 0.9, 0.3], [1, 0.3, 0.9], [1, 0.7, 0.7], [1, 0.1, 0.1]]


def test_influence_counts_every_pair():
    g = [torch.randn(3, 2, generator=torch.Generator().manual_seed(k)).bfloat16() for k in range(4)]
    direct = [sum(float((a.double() * b.double()).sum()) for b in g) for a in g]
    assert influence(g).tolist() == pytest.approx(direct)
    for bad in ([], [torch.zeros(2), torch.zeros(3)]):
        with pytest.raises(ConfigError, match="gradients of one shape"):
            influence(bad)


def test_weights_follow_the_formula_once_and_use_up_the_influence():
    state = {"gradient_weights/s/payoff": 2.0, "gradient_weights/s/format": -1.0}
    parts = make([[1.0, 0.0]], weights={"payoff": 1.0, "format": 3.0}, state=state)
    after = run("gradient_weights", parts, lr=1e-6, rho=1e-5)
    raw = [0.25 * math.exp(0.2), 0.75 * math.exp(-0.1)]
    assert outcomes(after) == near(raw[0] / sum(raw))
    assert set(after.state) == {"gradient_weights/w/payoff", "gradient_weights/w/format"}
    again = run("gradient_weights", parts._replace(state=after.state))
    assert again.state == pytest.approx(after.state), "no influence, no step"


def test_a_step_of_any_size_leaves_weights_that_can_come_back():
    state = {"gradient_weights/s/payoff": 1e300, "gradient_weights/s/format": -1e300}
    after = run("gradient_weights", make([[1.0, 0.0]], state=state), lr=1.0, rho=1e-10)
    weights = [after.state[f"gradient_weights/w/{n}"] for n in ("payoff", "format")]
    assert all(0 < w < 1.1 for w in weights)
    assert sum(weights) == pytest.approx(1)


@pytest.mark.parametrize(
    ("state", "weights", "match"),
    [
        ({"gradient_weights/s/payoff": 1.0}, {}, "influence of"),
        ({"gradient_weights/w/payoff": 1.0}, {}, "the batch has"),
        ({"gradient_weights/s/payoff": math.nan, "gradient_weights/s/format": 0.0}, {}, "finite"),
        ({}, {"format": 0.0}, "must be above 0"),
    ],
)
def test_gradient_weights_refuse_half_a_state(state, weights, match):
    with pytest.raises(ConfigError, match=match):
        run("gradient_weights", make([[1.0, 0.0]], weights=weights, state=state))


def follow(saturated_at=None, steps=1500):
    """Follow exact gradients of a softmax bandit that starts at arm 0.

    Gives the weights and the mean outcomes by step. From `saturated_at` on every arm is well
    formed. A log-weight moves by lr / rho = 1 times the influence.
    """
    arm_AK = torch.tensor(ARMS, dtype=torch.float64)
    z_A, state = torch.tensor([2.0, 0, 0, 0, 0], dtype=torch.float64), {}
    weights, means = [], []
    for step in range(steps):
        if step == saturated_at:
            arm_AK[:, 0] = 1.0
        p_A = z_A.softmax(0)
        mean_K = p_A @ arm_AK
        grad_KA = (p_A[:, None] * (arm_AK - mean_K)).T
        parts = make([mean_K.tolist()], OBJECTIVES, state=state)
        state = dict(run("gradient_weights", parts, lr=1e-5, rho=1e-5).state)
        weight_K = mean_K.new_tensor([state[f"gradient_weights/w/{n}"] for n in OBJECTIVES])
        weights.append(weight_K)
        means.append(mean_K)
        s_K = influence(list(grad_KA)).tolist()
        state |= {f"gradient_weights/s/{n}": s for n, s in zip(OBJECTIVES, s_K, strict=True)}
        z_A += 0.5 * (weight_K @ grad_KA)
    return torch.stack(weights), torch.stack(means)


def fixed(weights, steps=1500):
    """Return the end of the same bandit under weights that do not move."""
    arm_AK = torch.tensor(ARMS, dtype=torch.float64)
    z_A = torch.tensor([2.0, 0, 0, 0, 0], dtype=torch.float64)
    y_A = arm_AK @ arm_AK.new_tensor(weights)
    for _ in range(steps):
        p_A = z_A.softmax(0)
        z_A += 0.5 * p_A * (y_A - p_A @ y_A)
    return (z_A.softmax(0) @ arm_AK).tolist()


def test_the_weight_of_an_objective_that_is_learned_falls():
    """Format teaches most at first and weighs most; once learned it has little left to say."""
    weights, means = follow()
    learned = int((means[:, 0] > 0.95).nonzero()[0])
    assert weights[learned, 0] > 0.5
    assert weights[-1, 0] < weights[learned, 0] - 0.1


def test_the_weight_of_an_objective_saturated_at_step_50_falls():
    weights, _ = follow(saturated_at=50)
    assert weights[50, 0] > 1 / 3
    assert (weights[51:, 0].diff() <= 1e-12).all()
    assert weights[-1, 0] < weights[51, 0] - 0.1


def test_moving_weights_reach_what_the_best_fixed_ones_reach():
    reached = dominated_volume([follow()[1][-1].tolist()], [0, 0, 0])
    grid = [(i / 10, j / 10, (10 - i - j) / 10) for i in (1, 3, 5, 7) for j in range(1, 10 - i, 2)]
    best = max(dominated_volume([fixed(w)], [0, 0, 0]) for w in grid)
    assert reached >= 0.98 * best > 0.4
