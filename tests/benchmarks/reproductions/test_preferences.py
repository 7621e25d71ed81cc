"""Tables in the shipped loop: the first updates of runs that `coevo reproduce` does in full."""

from dataclasses import replace

import pytest
import torch

from coevo.benchmarks.reproductions.claims import dno_monotone, rpo_coverage, spo_minimax, upo_noise
from coevo.benchmarks.reproductions.claims.optima_codes import LOSS, WORDS, MessageTerm
from coevo.benchmarks.reproductions.preferences import P_AA, worst_case
from coevo.envs import list_envs
from coevo.envs.discussion.digit_message import SENDER, raw_env


def test_the_circle_has_no_best_arm():
    assert torch.equal(P_AA + P_AA.T, torch.ones(4, 4, dtype=P_AA.dtype))
    assert max(worst_case(p) for p in torch.eye(4, dtype=P_AA.dtype)) <= 0.2


def test_a_regression_step_is_the_closed_form_and_is_preferred_to_the_policy_before():
    found = dno_monotone.CLAIM.measures("dno", steps=3)
    assert found["distance"] < 1e-3
    assert found["over"] > 0.5


def test_comparisons_and_scores_lead_to_different_places():
    spo = spo_minimax.CLAIM.measures("spo", steps=60)
    scores = spo_minimax.CLAIM.measures("fitted", steps=40)
    assert spo["dominated"] < 0.2
    assert scores["last"] < spo["average"]


def test_imitation_keeps_the_preferred_replies():
    claim = replace(rpo_coverage.CLAIM, changes={**rpo_coverage.CLAIM.changes, "optim.epochs": 60})
    dpo, rpo = (claim.measures(arm, seed=4) for arm in ("dpo", "rpo"))
    assert dpo["bound"] == rpo["bound"]  # of the same pairs
    assert rpo["preferred"] > dpo["preferred"] + 0.3


def test_sifted_labels_are_right_more_often_and_equal_seeds_sift_alike():
    found, again = (upo_noise.CLAIM.measures("upo", seed=1, steps=2) for _ in range(2))
    assert found["kept"] - found["made"] > 0.05
    assert found == again


def test_toys_are_not_offered():
    assert not [e for e in list_envs() if e.module.startswith("coevo.benchmarks")]


@pytest.mark.parametrize("form", ["sentence", "code", "noise"])
def test_a_message_pays_for_brevity_and_readability(form):
    terms = (MessageTerm(), MessageTerm(of="readability"))
    env = raw_env(prompt_style="terse", listed=True, rewards=terms)
    env.reset(seed=0)
    env.step(f"[{form}]")
    paid = {c: env.episode.total(SENDER, c) for c in ("brevity", "readability")}
    assert paid == {"brevity": -WORDS[form] / 12, "readability": 1 / LOSS[form]}
    assert (not env.awaiting) == (form == "noise")
