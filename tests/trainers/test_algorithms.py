"""Every record of the registry: what it says, how it is composed, and that it trains.

Tables of options are written out, so that a slot that changes its value is noticed. Their numbers
and laws are in the two files beside this one.
"""

import importlib
import shlex
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
import yaml

from coevo.benchmarks.reproductions import NAMES, claim
from coevo.commands.algos import describe, in_short
from coevo.commands.parse import parse
from coevo.commands.run_setup import prepare
from coevo.envs.core.config import plain, read
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.algorithm import SHOWN, STATUS, Algorithm
from coevo.trainers.algorithms import ALGORITHMS, algorithm
from coevo.trainers.components import (
    ClipCov,
    ConvexKl,
    DistinctMean,
    DualClip,
    Hapo,
    Kl,
    Opmd,
    Preclip,
    Rec,
    SeqGeoRatio,
    SeqMeanTokenMean,
    TokenMis,
    TokenTis,
)
from coevo.trainers.samplers.replay import RemixReplay

EVERY = [
    *((name, None) for name in ALGORITHMS),
    *((name, variant) for name, a in ALGORITHMS.items() for variant in a.variants),
]


def label(value):
    return value if isinstance(value, str) else ":".join(filter(None, value))


REC = ("oneside_nois", "oneside_is", "twoside_is", "ring_nois", "gspo_nois", "gspo_is")


def test_every_file_has_one_record_and_the_readme_counts_them():
    folder = Path(importlib.import_module("coevo.trainers.algorithms").__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    records = {name for name in files if "\nALGORITHM = " in (folder / f"{name}.py").read_text()}
    assert set(ALGORITHMS) == records
    assert len(ALGORITHMS) > 50, "the README says so"


def test_variants_that_papers_name_are_there():
    assert set(REC) <= set(ALGORITHMS["rec"].variants)
    assert {"tis", "mis", "kl"} <= set(ALGORITHMS["grpo"].variants)


def test_no_two_records_are_the_same():
    slots = [str(describe(a)["settings"]) for a in ALGORITHMS.values()]
    assert len(set(slots)) == len(slots)


def test_a_variant_changes_its_record():
    same = [
        (name, v)
        for name, v in EVERY
        if v and replace(algorithm(name, v), variants={}) == replace(ALGORITHMS[name], variants={})
    ]
    assert same == [("rec", "oneside_nois")]  # the record under the paper's name


@pytest.mark.parametrize("which", EVERY, ids=label)
def test_records_and_variants_survive_a_file(which):
    record = algorithm(*which)
    text = yaml.safe_dump(plain(record), sort_keys=False, allow_unicode=True)
    tree = plain(record) | {"published": {}}
    assert read(Algorithm, yaml.safe_load(text)) == record
    assert read(Algorithm, tree) == replace(record, published={})


def test_usages_name_an_environment_that_has_what_a_record_learns_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for record in ALGORITHMS.values():
        if "FILE" not in record.usage:
            line = parse(["train", record.name, *shlex.split(record.usage)])
            assert prepare(line).config.algorithm.name == record.name


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_status_is_held(name):
    record = ALGORITHMS[name]
    assert record.status in STATUS
    assert [c for c in record.reproductions if c not in NAMES] == []
    assert record.status not in SHOWN or record.status in {
        claim(c).on for c in record.reproductions
    }
    if record.status == "inferred":
        doc = importlib.import_module(f"coevo.trainers.algorithms.{name}").__doc__
        assert "nferred" in doc or "could not be read" in doc


def test_a_status_that_does_not_hold_is_refused():
    with pytest.raises(ConfigError, match="status"):
        replace(ALGORITHMS["grpo"], status="proven")
    for status in SHOWN:
        with pytest.raises(ConfigError, match="name a reproduction"):
            replace(ALGORITHMS["grpo"], status=status, reproductions=())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_what_was_published_names_a_setting(name):
    record = ALGORITHMS[name]
    known = list(describe(record)["settings"])
    for key, published in record.published.items():
        assert any(k == key or k.startswith(f"{key}.") for k in known), key
        assert published.source


# Literal compositions: credit / baseline / normalisation + transforms | ratio:kind
# and bounds | aggregate | the rest. `inner` algorithms are not in it.
COMPOSITION = {
    "reinforce": "to_go / batch_mean / - | policy_gradient | seq_mean_token_sum",
    "rloo": "outcome / leave_one_out(group+agent) / - | policy_gradient | seq_mean_token_sum",
    "p3o": "outcome / leave_one_out(group+agent) / - | policy_gradient | seq_mean_token_sum",
    "grpo": "outcome / group_mean / group_std | ppo_clip 0.2 | seq_mean_token_mean",
    "dr_grpo": "outcome / group_mean / - | ppo_clip 0.2 | constant_mean",
    "dapo": "outcome / group_mean / group_std | dual_clip 0.2,0.28 | token_mean"
    " | overlong_penalty, keep_dynamic",
    "lite_ppo": "outcome / group_mean / batch_std | ppo_clip 0.2 | token_mean",
    "reinforce_pp": "to_go / batch_mean / token_std | ppo_clip 0.2 | token_mean | KL in reward",
    "reinforce_pp_baseline": "outcome / group_mean / token_std | ppo_clip 0.2 | token_mean | kl",
    "gspo": "outcome / group_mean / group_std | seq_geo_ratio:ppo_clip 0.0003,0.0004"
    " | seq_mean_token_mean",
    "bnpo": "outcome / group_mean / beta_pdf | dual_clip 0.2,0.28 | seq_mean_token_sum | decoupled",
    "gdpo": "outcome / group_mean / group_std + batch_whiten | ppo_clip 0.2 | token_mean"
    " | decoupled",
    "rec": "outcome / group_mean / - | rec(one) 0.2 | token_mean",
    "red_drop": "outcome / group_mean / - + drop_negatives | policy_gradient | token_mean",
    "red_weight": "outcome / group_mean / - + exp_weight | policy_gradient | token_mean",
    "opmd": "outcome / group_mean / - | opmd(square) | token_mean",
    "asymre": "outcome / group_mean / - + shift | policy_gradient | token_mean",
    "remix": "outcome / group_mean / group_std | remix_clip 0.2 | token_mean"
    " | remix_replay, convex_kl",
    "hapo": "outcome / group_mean / group_std per token + grpo_fallback | hapo 0.2 | token_mean",
    "clip_cov": "outcome / group_mean / group_std | ppo_clip 1 | token_mean | clip_cov",
    "kl_cov": "outcome / group_mean / group_std | unclipped | token_mean | kl_cov",
    "polychromic": "outcome / - / - + share_set | ppo_clip 0.2 | token_mean",
    "mars": "to_go / agent_mean / - | dual_clip 0.2 | token_mean | ema_magnet",
    "ssp": "outcome / group_mean(episode+role) / group_std(episode+role) | dual_clip 0.2,0.285"
    " | token_mean | kl",
    "dr_mas": "outcome / group_mean(group+agent) / group_std(group+agent) per turn"
    " | ppo_clip 0.2 | token_mean",
    "gigpo": "outcome / group_mean / - + add_state_group | ppo_clip 0.2 | token_mean",
    "salt": "outcome / group_mean / group_std + merge_edges | ppo_clip 0.2 | token_mean",
    "tree_grpo": "outcome / group_mean / group_std + add_tree | ppo_clip 0.2 | token_mean",
    "ppo": "gae / batch_mean / token_std | ppo_clip 0.2 | token_mean | entropy, critic",
    "turn_ppo": "gae / batch_mean / token_std | turn_ratio:ppo_clip 0.2 | token_mean | critic",
    "archer": "td_critic / - / - | policy_gradient | seq_mean_token_sum | critic",
    "stable_reinforce": "to_go / batch_mean / token_std + filter_sigma | preclip 0.2"
    " | seq_mean_token_mean | KL in reward",
    "copo": "outcome / group_mean(group+agent) / group_std(group+agent) + blend_global"
    " | ppo_clip 0.2 | seq_mean_token_mean",
    "paired": "gae / agent_mean / - | ppo_clip 0.2 | token_mean | regret, entropy, critic",
    "eva": "outcome / leave_one_out(group+agent) / - | policy_gradient | seq_mean_token_sum",
    "spo": "outcome / group_mean / - | policy_gradient | seq_mean_token_sum | win_rate",
    "sppo": "update_reference > make_items(pairs) > update(sppo) | win_rate",
    "dno": "update_reference > make_items(pairs) > update(dno) | win_rate",
    "rpo": "make_items(pairs) > update(rpo)",
    "upo": "update_reference > make_items(pairs) > filter_pairs > update(dpo)",
    "optima": "make_items(best) > update(sft) | token_cost",
    "sft": "demonstrate(random) > make_items(replies) > update(sft)",
    "two_level": "compute_advantages > update(not planner*) > every 1 from 50: update(planner*)"
    " > replay_update | entropy, critic",
    "bn_ac": "show_parents > compute_advantages > update | critic",
    "mixed_pool": "gae / batch_mean / token_std | policy_gradient | token_mean | entropy, critic",
    "mpo": "inject_text(rubric) > compute_advantages > update"
    " > every 10 from 9: rewrite_text(rubric) | rubric, KL in reward, critic",
    "mac_spgg": "gae / agent_mean / - | ppo_clip 0.2 | token_mean | entropy, critic",
    "advantage_alignment": "to_go / leave_one_out(group+agent+turn) / - + align"
    " | policy_gradient | token_mean | entropy, token_tis",
}


@pytest.mark.parametrize("name", COMPOSITION)
def test_the_composition_is_that_of_the_source(name):
    assert " | ".join(in_short(ALGORITHMS[name])) == COMPOSITION[name]


PARAMETERS = {
    "grpo:kl": {"loss.regularise": (Kl(coef=0.04, kind="k3"),)},
    "grpo:tis": {"loss.is_correction": TokenTis(cap=2.0)},
    "grpo:mis": {"loss.is_correction": TokenMis(hi=5.0, lo=0.5)},
    "dapo": {"loss.surrogate": DualClip(c=10.0, eps_hi=0.28, eps_lo=0.2)},
    "hapo": {"loss.surrogate": Hapo(c=10.0, eps_hi=0.2, eps_lo=0.2, share=0.8)},
    "opmd:kimi": {"loss.surrogate": Opmd(form="half", tau=0.1)},
    "rec:oneside_is": {"loss.surrogate": Rec(eps_hi=0.2, eps_lo=0.2, side="one", weight="is")},
    "rec:twoside_is": {"loss.surrogate": Rec(eps_hi=0.2, eps_lo=0.2, side="two", weight="is")},
    "rec:ring_nois": {
        "loss.surrogate": Rec(
            eps_hi=0.2, eps_lo=0.2, ring_hi=2.0, ring_lo=0.6, side="ring", weight="none"
        )
    },
    "rec:gspo_is": {
        "loss.ratio_level": SeqGeoRatio(),
        "loss.surrogate": Rec(eps_hi=0.0004, eps_lo=0.0003, side="one", weight="is"),
        "loss.aggregate": SeqMeanTokenMean(),
    },
    "remix": {
        "collect.replay": RemixReplay(last=2, share=0.4, until=50),
        "loss.regularise": (ConvexKl(after=50, coef=0.001, every=10, fall=0.1, least=0.5),),
        "optim.epochs": 2,
    },
    "clip_cov": {"loss.token_masks": (ClipCov(lb=1.0, ratio=0.0002, ub=5.0),)},
    "stable_reinforce": {"loss.surrogate": Preclip(bound=1000.0, eps_hi=0.2, eps_lo=0.2)},
    "mars:code": {"advantage.baseline": DistinctMean(by="seat", padding_zero=True)},
    "spear": {
        "replay_loss.anchor": "behaviour",
        "replay_loss.token_masks": (ClipCov(eps_hi=0.2, eps_lo=0.2, lb=1.0, ratio=0.02, ub=40.0),),
    },
}


@pytest.mark.parametrize("which", PARAMETERS)
def test_constants_are_those_of_the_source(which):
    name, _, variant = which.partition(":")
    record = algorithm(name, variant or None)
    found = {key: attrgetter(key)(record) for key in PARAMETERS[which]}
    assert found == PARAMETERS[which]


# ---- Training --------------------------------------------------------------------------------


SMALL = {
    "remix": {},
    "spear": {"collect.replay.capacity": 2},
    "polychromic": {"collect.group_size": 8},
    "semantic": {"rewards": ({"name": "format"}, {"name": "semantic", "reference": "bet"})},
    "toolrl": {"rewards": ({"name": "tool_calls", "expected": "bet()"},)},
}
"""Changes with which an algorithm learns something from two updates on Kuhn poker."""


@pytest.mark.parametrize("name", SMALL)
def test_rewards_with_settings_and_old_episodes_give_gradients(config, folder, name):
    """Every algorithm with its own settings trains and resumes in test_loop."""
    size = {"collect.group_size": min(ALGORITHMS[name].collect.group_size, 4)}
    given_ = config("grpo", steps=2, checkpoint_every=100)
    record = algorithm(name, None, {"collect.episodes": 8} | size | SMALL[name])
    logged = loop.train(replace(given_, algorithm=record), folder(given_)).folder.read_metrics()
    norms = [m.get("grad_norm", m.get("policy/grad_norm")) for m in logged]
    assert len(norms) == 2 and np.isfinite(norms).all() and max(norms) > 0
    if name == "spear":
        assert any(m.get("replay/trajectories", 0) > 0 for m in logged)
    if name == "remix":
        assert logged[-1]["replay/share"] > 0


@pytest.mark.parametrize("place", ["name", "summary", "published.collect.episodes"])
def test_what_a_record_says_of_itself_is_no_setting(place):
    with pytest.raises(ConfigError, match=f"{place} says what mars is"):
        algorithm("mars", changes={place: "x"})
