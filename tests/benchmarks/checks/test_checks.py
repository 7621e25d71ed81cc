"""Every check holds with the estimators as they are, and fails with one of them broken."""

import importlib

import pytest

from coevo.benchmarks.checks import CHECKS
from coevo.trainers.estimators import (
    CENTER,
    COMPOSE,
    CORRECT,
    GATE,
    KIND,
    MODIFY,
    SCALE,
    SURVEY,
)
from coevo.trainers.estimators.compose import weighted_sum
from coevo.trainers.estimators.correct import no_correction

SMALL = {
    "cov_entropy": {"STEPS": 60},
    "dr_mas_spikes": {"UPDATES": 100, "TEAMS": 1},
    "gated_accumulation": {"UPDATES": 200},
    "offline_bandit": {"FAR": 50.0},
    "polychromic": {"STEPS": 500},
    "ssp_gate": {"STEPS": 400},
}
"""Settings that make a check quick, and too short for some of its figures."""
QUICK = [name for name, check in CHECKS.items() if check.minutes <= 2]
"""The others take minutes, on larger tables or with language models; `coevo check NAME` runs them,
and their own tests use reduced sizes."""


def uncorrected(logp_old_BL, logp_roll_BL, mask_BL, *, cap: float = 2.0):
    return no_correction(logp_old_BL, logp_roll_BL, mask_BL)


def with_itself(y, frame, state, *, by: str = "group"):
    return CENTER["group"](y, frame, state, by=by)


def all_agents(a, y, frame, *, by: str = "group", **rest):
    return scale_group_std(a, y, frame, by="group", **rest)


def pooled_mean(y, frame, state, *, by: str = "group", **rest):
    return center_group(y, frame, state, by="game", **rest)


def alone_is_nothing(y, frame, state, *, by: str = "group", single: str = "zero"):
    return center_group(y, frame, state, by=by)


def ungated(parts, *, high: str = "payoff", delta: float = 0.5):
    return weighted_sum(parts)


def unscaled(a, y, frame, *, low: float = 0.0, high: float = 1.0, by: str = "group"):
    return a


def kept(x, generator, *, ratio: float = 0.0, lb: float = 1.0, ub: float = 5.0):
    return x.mask_BL.clone()


def unmarked(x, generator, *, frac: float = 0.0):
    return ~x.mask_BL


def no_pull(ratio_BL, x, *, tau: float = 0.1, form: str = "square"):
    return KIND["pg"](ratio_BL, x)


def everywhere(ratio_BL, x, *, side: str = "one", weight: str = "none", temperature: float = 1.0):
    return KIND["pg"](ratio_BL, x)


def each_alone(draft, *, label: str = "answer"):
    return draft


scale_group_std, center_group = SCALE["group_std"], CENTER["group"]
BROKEN = [
    ("agent_norm", SCALE, "group_std", all_agents, "E[A^2]"),
    ("bnpo_optimum", SCALE, "beta_pdf", unscaled, "p ~ Beta(1, 5): BNPO"),
    ("cov_entropy", GATE, "clip_cov", kept, "entropy, Clip-Cov - PPO"),
    ("cov_entropy", SURVEY, "kl_cov", unmarked, "entropy, KL-Cov - PPO"),
    ("dr_mas_spikes", CENTER, "group", pooled_mean, "scales: factor"),
    ("gated_accumulation", COMPOSE, "gate", ungated, "completion, gated"),
    ("gdpo_collapse", COMPOSE, "decoupled", weighted_sum, "P(both), scales 1 and 0.1"),
    ("mars_centre", CENTER, "agent_group", CENTER["batch"], "Kuhn"),
    ("offline_bandit", KIND, "opmd", no_pull, "OPMD"),
    ("offline_bandit", KIND, "rec", everywhere, "REC-OneSide"),
    ("polychromic", MODIFY, "share_set", each_alone, "min(P1, P2), set credit"),
    ("rloo_unbiased", CENTER, "group_loo", with_itself, "mean / analytic, leave one out"),
    ("ssp_gate", CENTER, "group", alone_is_nothing, "gain of a learning proposer"),
    ("tis_cosine", CORRECT, "token_tis", uncorrected, "gain by token_tis"),
]
"""Check, table, option, what is put in its place, and the figures that must then fail."""


@pytest.fixture
def small(monkeypatch):
    """Return a function that runs a check with its small settings and picks figures by label."""

    def run(name, figures, seeds=(0,)):
        module = importlib.import_module(f"coevo.benchmarks.checks.{name}")
        for setting, value in SMALL.get(name, {}).items():
            monkeypatch.setattr(module, setting, value)
        rows = [row for row in module.run(seeds).rows if row.label.startswith(figures)]
        assert any(row.bounded for row in rows)
        return rows

    return run


@pytest.mark.parametrize("name", [name for name in QUICK if name != "cov_entropy"])
def test_it_holds(name):
    seeds = [0] if name == "gdpo_collapse" else [0, 1]
    outcome = CHECKS[name].run(seeds)
    assert outcome.holds, failures(outcome.rows)
    assert {len(row.measured) for row in outcome.rows} <= {1, len(seeds)}


@pytest.mark.parametrize(
    ("name", "table", "option", "broken", "figures"),
    BROKEN,
    ids=[f"{name}-{figures}" for name, *_, figures in BROKEN],
)
def test_a_figure_fails_with_a_broken_estimator(
    monkeypatch, small, name, table, option, broken, figures
):
    before = small(name, figures)
    assert all(row.holds for row in before), failures(before)
    monkeypatch.setitem(table, option, broken)
    assert not all(row.holds for row in small(name, figures))


def test_every_check_is_seen_to_fail():
    assert {name for name, *_ in BROKEN} == set(QUICK)


@pytest.mark.parametrize("name", ["agent_norm", "gated_accumulation", "tis_cosine"])
def test_seeds_side_by_side_do_not_meet(small, name):
    both, alone = small(name, "", [3, 5]), small(name, "", [5])
    for two, one in zip(both, alone, strict=True):
        assert two.measured[-1] == pytest.approx(one.measured[-1], abs=1e-9)


def failures(rows):
    return [f"{row.label}: {row.mean:.4g}, {row.bound}" for row in rows if not row.holds]
