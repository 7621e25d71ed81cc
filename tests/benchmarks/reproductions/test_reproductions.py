"""Every reproduction holds with the estimators as they are, and fails with one of them broken."""

import functools
from dataclasses import replace

import pytest
import torch

from coevo.agents.engines.logit_processors import ValueAugmented
from coevo.benchmarks.reproductions import NAMES, claim
from coevo.benchmarks.reproductions.claims import hiring_regret
from coevo.envs.societies import causal_game
from coevo.trainers.archive.selectors import Grid
from coevo.trainers.collect.beginnings import Hint
from coevo.trainers.components import (
    AgentMean,
    BatchMean,
    BetaPdf,
    ClipCov,
    Decoupled,
    Gated,
    GroupMean,
    GroupStd,
    KlCov,
    LeaveOneOut,
    Opmd,
    PolicyGradient,
    Rec,
    ShareSet,
    TokenTis,
    WeightedSum,
)
from coevo.trainers.components.base import Correction
from coevo.trainers.judges.judge import Judge
from coevo.trainers.samplers.controlled import Controlled

SMALLER = {
    "cov_entropy": (30, {"collect.episodes": 128}),
    "dr_mas_spikes": (18, {}),
    "gated_accumulation": (100, {}),
    "gdpo_collapse": (30, {"optim.lr": 0.5}),
    "polychromic": (500, {}),
    "ssp_gate": (100, {}),
}
"""Updates and settings that make a claim quick; some of its figures need more."""
QUICK = [n for n in NAMES if claim(n).minutes <= 2 and claim(n).on == "formula"]
"""The others take minutes, on larger tables or with language models, or are trained by the shipped
loop; `coevo reproduce NAME` runs them, and their own tests use reduced sizes."""


def uncorrected(self, logp_old_CL, logp_behaviour_CL, mask_CL):
    return Correction(torch.ones_like(logp_old_CL), torch.ones_like(mask_CL))


def with_itself(self, e):
    return FULL_GROUP(GroupMean(by=self.by), e)


def all_agents(self, e):
    return GROUP_STD(replace(self, by="group"), e)


def pooled_mean(self, e):
    return FULL_GROUP(replace(self, by="game"), e)


def alone_is_nothing(self, e):
    return FULL_GROUP(replace(self, single="zero"), e)


def whole_batch(self, e):
    return BatchMean()(e)


def summed(self, batch, weight_K):
    return WeightedSum()(batch, weight_K)


def first_takes_all(self, batch, weight_K):
    total_BT = WeightedSum()(batch, weight_K)
    return torch.stack([total_BT, *[torch.zeros_like(total_BT)] * (len(weight_K) - 1)], dim=-1)


def unchanged(self, e):
    return e


def kept(self, x, generator):
    return x.mask_CL.clone()


def unmarked(self, x, generator):
    return ~x.mask_CL


def plain_gradient(self, ratio_CL, x):
    return PolicyGradient()(ratio_CL, x)


def careless(game, weight_U, action, levels=causal_game.LEVELS):
    return causal_game.policies(game.payoffs_UXYS.shape[2], levels)[0]


def hardly_looked(market, rounds, rng):
    return ESTIMATED(market, 16, rng)


def unchanged_logits(self, logits_NV, places):
    return logits_NV


def half(self, shown, success):
    return 0.5


def follows(self, tasks, judges):
    return WRITTEN(replace(self, critical=False), tasks, judges)


def stays(self, d, success, top):
    return d


def one_cell(self, descriptor):
    return (0, 0)


ESTIMATED, WRITTEN = hiring_regret.estimated, Judge._written
FULL_GROUP, GROUP_STD = GroupMean.__call__, GroupStd.__call__
BROKEN = [
    ("agent_norm", GroupStd, "__call__", all_agents, "E[A^2]"),
    ("bnpo_optimum", BetaPdf, "__call__", unchanged, "p ~ Beta(1, 5): BNPO"),
    ("c2_gate", Judge, "_written", follows, "rejecting minus following all"),
    ("causal_levels", causal_game, "best_reply", careless, "gain over pure commitments"),
    ("cov_entropy", ClipCov, "__call__", kept, "entropy, Clip-Cov - PPO"),
    ("cov_entropy", KlCov, "batch_statistics", unmarked, "entropy, KL-Cov - PPO"),
    ("dr_mas_spikes", GroupMean, "__call__", pooled_mean, "scales: factor"),
    ("gated_accumulation", Gated, "__call__", summed, "completion, gated"),
    ("gdpo_collapse", Decoupled, "__call__", first_takes_all, "P(both), scales 1 and 0.1"),
    ("hint_rounds", Hint, "share", half, "distance in round 4"),
    ("hiring_regret", hiring_regret, "estimated", hardly_looked, "slope, with slack"),
    ("map_elites_arm", Grid, "cell", one_cell, "difference of the scores"),
    ("mars_centre", AgentMean, "__call__", whole_batch, "Kuhn"),
    ("offline_bandit", Opmd, "__call__", plain_gradient, "OPMD"),
    ("offline_bandit", Rec, "__call__", plain_gradient, "REC-OneSide"),
    ("polychromic", ShareSet, "__call__", unchanged, "min(P1, P2), set credit"),
    ("rloo_unbiased", LeaveOneOut, "__call__", with_itself, "standard errors of leave one out"),
    ("scaler_control", Controlled, "moved", stays, "success in 0.4 to 0.6, ten"),
    ("ssp_gate", GroupMean, "__call__", alone_is_nothing, "gain of a learning proposer"),
    ("tis_cosine", TokenTis, "__call__", uncorrected, "gain by token_tis"),
    ("value_sampling", ValueAugmented, "__call__", unchanged_logits, "beta 10"),
]
"""Reproduction, component or module, its method, what is put in its place, and the figures that
then fail."""


def small(name, figures, seeds=(0,)):
    """Run a claim in fewer updates, and return the figures whose labels begin so."""
    steps, changes = SMALLER.get(name, (None, {}))
    whole = claim(name)
    found = replace(whole, changes={**whole.changes, **changes}).run(seeds, steps, figures).figures
    assert any(figure.bounded for figure in found)
    return found


@functools.cache
def whole(name):
    """Run a claim as it is, once for all tests of this module."""
    return claim(name).run([0, 1])


def unbroken(name, figures):
    """Return those figures of the first seed with every component as it is."""
    if name in SMALLER:
        return small(name, figures)
    rows = [row for row in whole(name).figures if row.label.startswith(figures)]
    return [replace(row, measured=row.measured[:1]) for row in rows]


@pytest.mark.parametrize("name", QUICK)
def test_it_holds(name):
    outcome = whole(name)
    assert outcome.holds, failures(outcome.figures)
    assert {len(figure.measured) for figure in outcome.figures} <= {1, 2}


@pytest.mark.parametrize(
    ("name", "component", "method", "broken", "figures"),
    [pytest.param(*one, marks=[] if one[0] in QUICK else pytest.mark.slow) for one in BROKEN],
    ids=[f"{name}-{figures}" for name, *_, figures in BROKEN],
)
def test_a_figure_fails_with_a_broken_estimator(
    monkeypatch, name, component, method, broken, figures
):
    before = unbroken(name, figures)
    assert all(row.holds for row in before), failures(before)
    monkeypatch.setattr(component, method, broken)
    assert not all(row.holds for row in small(name, figures))


def test_every_one_is_seen_to_fail():
    assert {name for name, *_ in BROKEN} >= set(QUICK)


@pytest.mark.parametrize("name", ["agent_norm", "tis_cosine"])
def test_seeds_side_by_side_do_not_meet(name):
    both, alone = small(name, "", [3, 5]), small(name, "", [5])
    for two, one in zip(both, alone, strict=True):
        assert two.measured[-1] == pytest.approx(one.measured[-1], abs=1e-9)


def failures(rows):
    return [f"{row.label}: {row.mean:.4g}, {row.bound}" for row in rows if not row.holds]
