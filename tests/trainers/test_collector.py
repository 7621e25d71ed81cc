"""What an update is given to learn from: starts, shares of plays, selection, replay."""

import copy
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.agents.population import FrozenOpponent
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.algorithm import CollectConfig
from coevo.trainers.build import build
from coevo.trainers.components import GreedyBaseline, Kl, TokenTis
from coevo.trainers.loss import LossConfig
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.samplers.allocate import Knapsack, Vade
from coevo.trainers.samplers.replay import RemixReplay, SpearReplay
from coevo.trainers.samplers.selection import KeepDynamic, RefillError
from coevo.trainers.schedules import Cosine

REMIX = {
    "collect.replay": RemixReplay(share=0.9, until=4),
    "collect.group_size": 2,
    "loss.anchor": "behaviour",
}
SPEAR = {
    "collect.replay": SpearReplay(capacity=2, coef=0.0, older=3),
    "schedules": {"collect.replay.coef": Cosine(to=1.0, over=4)},
    "replay_loss": LossConfig(anchor="behaviour"),
}


@pytest.fixture
def started(config, tmp_path):
    def start(changes, name="reinforce", **settings):
        return loop.start(config(name, changes, **settings), RunFolder(tmp_path))

    return start


def step_of(run):
    run.progress = replace(run.progress, step=run.progress.step + 1)


def seeds(run, step, groups=2):
    return [g.specs[0].seed for g in run.collector.plan(step, groups)]


def test_a_fixed_list_of_starts_is_played_again_and_again(started):
    run = started({"collect.tasks": 3, "collect.episodes": 4, "collect.group_size": 2})
    played = {seed for step in range(20) for seed in seeds(run, step)}
    assert len(played) == 3
    endless = started({"collect.episodes": 4, "collect.group_size": 2})
    assert len({seed for step in range(20) for seed in seeds(endless, step)}) == 40


def test_plays_are_shared_out_by_what_is_known_about_a_start(started):
    changes = {
        "population": FrozenOpponent(),
        "collect.tasks": 3,
        "collect.episodes": 24,
        "collect.group_size": 8,
        "collect.allocate": Knapsack(),
    }
    run = started(changes)
    run.collector.curriculum.history.after_update(
        [0] * 8 + [1] * 8 + [2] * 8, [0] * 8 + [1, 0] * 4 + [1] * 8
    )
    plays = {g.task.place: len(g.specs) for g in run.collector.plan(1, 3)}
    assert sum(plays.values()) == 24
    assert plays[2] == 2 < plays[1], "what is always won gets the least"
    collected = run.collector.collect(1)
    assert sorted(Counter(collected.groups).values()) == sorted(plays.values())
    assert run.collector.curriculum.history.stats().visits_P.sum() == 6


def test_an_allocator_that_leaves_starts_out_chooses_among_all_of_them(started):
    changes = {
        "population": FrozenOpponent(),
        "collect.tasks": 6,
        "collect.episodes": 8,
        "collect.group_size": 4,
        "collect.allocate": Vade(),
    }
    run = started(changes)
    outcomes = [0] * 8 + [1, 0] * 4
    run.collector.curriculum.history.after_update(
        [i % 6 for i in range(96)], [outcomes[i % 16] for i in range(96)]
    )
    planned = run.collector.plan(1, 2)
    assert sum(len(g.specs) for g in planned) == 8 and all(g.specs for g in planned)
    assert len({g.key for g in planned}) == len({g.task.place for g in planned}) == len(planned)
    collected = run.collector.collect(1)
    assert len(collected.episodes) == 8


def test_groups_without_a_difference_are_played_again_until_enough_inform(started):
    changes = {
        "population": FrozenOpponent(),
        "collect.episodes": 8,
        "collect.group_size": 2,
        "collect.select": KeepDynamic(low=-9, high=9, tries=40),
    }
    run = started(changes)
    collected = run.collector.collect(0)
    assert Counter(collected.groups) == dict.fromkeys(range(4), 2)
    learner = dict(enumerate(collected.episodes))
    for group in range(4):
        pair = [e for i, e in learner.items() if collected.groups[i] == group]
        seat = next(t.agent for t in pair[0].turns if t.player == "policy")
        assert pair[0].total(seat, "payoff") != pair[1].total(seat, "payoff")
    assert collected.metrics["select/wasted"] >= 0
    kept = sum(
        len(t.token_ids) for e in collected.episodes for t in e.turns if t.player == "policy"
    )
    assert collected.tokens >= kept, "plays that were not kept were sampled all the same"


def test_a_task_on_which_every_play_ends_alike_is_named_as_such(started):
    run = started(
        {"collect.group_size": 2, "collect.select": KeepDynamic(low=-9, high=-8, tries=2)}
    )
    with pytest.raises(RefillError, match="2 generation batches"):
        run.collector.collect(0)


def test_whole_groups_of_earlier_policies_come_back_under_keys_of_their_own(started):
    run = started(REMIX | {"collect.episodes": 8})
    for _ in range(3):
        loop.update(run)
        step_of(run)
    collected = run.collector.collect(3)
    assert collected.fresh < 8
    old = collected.episodes[collected.fresh :]
    assert old and len(collected.episodes) == 8
    assert {t.version for e in old for t in e.turns} <= {1, 2}
    assert {t.version for e in collected.episodes[: collected.fresh] for t in e.turns} == {3}
    assert not set(collected.groups[: collected.fresh]) & set(collected.groups[collected.fresh :])
    assert run.collector.collect(4).fresh == 8, "replay has ended"


def test_the_reference_becomes_the_policy_when_replay_ends(started):
    run = started(REMIX | {"collect.episodes": 4, "loss.regularise": (Kl(coef=0.1),)}, "rloo")
    learner = run.learners["policy"]
    first = {k: v.clone() for k, v in learner.reference.state_dict().items()}
    for _ in range(4):
        loop.update(run)
        step_of(run)
    assert all(torch.equal(v, first[k]) for k, v in learner.reference.state_dict().items())
    now = {k: v.clone() for k, v in learner.model.state_dict().items()}
    loop.update(run)
    assert all(torch.equal(v, now[k]) for k, v in learner.reference.state_dict().items())


def test_successes_are_learnt_from_again_with_the_loss_for_replay(started):
    run = started(SPEAR | {"collect.episodes": 8}, "reinforce")
    seen = []
    for _ in range(3):
        metrics, _ = loop.update(run)
        step_of(run)
        seen.append({k: v for k, v in metrics.items() if k.startswith("replay/")})
    passes = [m for m in seen if m]
    assert passes and all(m["replay/trajectories"] == 2 for m in passes)
    assert all("replay/grad_norm" in m for m in passes)


def test_the_schedule_of_replay_weighs_the_loss_and_not_the_advantages(started):
    run = started(SPEAR | {"collect.episodes": 8}, "reinforce")
    passes = []
    for step in range(3):
        collected = run.collector.collect(step)
        batch = build(collected.episodes, collected.groups, run.learners)
        batch = replace(batch, advantage_CL=batch.mask_CL * 1.0)
        run.collector.remember(collected, batch, step)
        rng = np.random.default_rng([run.config.seed, step, 2])
        state = copy.deepcopy(run.collector.replay)
        extra, again = state.extra(step, rng), run.collector.replay_pass(step)
        if again is not None:
            played, advantage_B, weight = again
            assert weight == extra.weight
            expected = [extra.items[at].advantage for at, _ in played.origin_B]
            assert advantage_B.tolist() == pytest.approx(expected)
            passes.append(weight)
    assert passes and min(passes) < 1.0


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        (REMIX | {"loss.anchor": "old"}, "add loss.is_correction=token_tis, or set loss.anchor="),
        (SPEAR | {"replay_loss": None}, "add loss.is_correction=token_tis, or set loss.anchor="),
        (SPEAR | {"replay_loss": LossConfig()}, "set replay_loss.anchor=behaviour"),
        (SPEAR | {"replay_loss": LossConfig(), "loss.anchor": "behaviour"}, "set replay_loss"),
    ],
)
def test_old_episodes_are_not_learnt_from_as_if_they_were_new(config, changes, advice):
    with pytest.raises(ConfigError, match=r"collect\.replay='.*' and .*" + advice) as refused:
        config("grpo", changes)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        REMIX | {"loss.anchor": "old", "loss.is_correction": TokenTis()},
        SPEAR | {"replay_loss": None, "loss.anchor": "behaviour"},
        SPEAR | {"replay_loss": LossConfig(is_correction=TokenTis())},
    ],
)
def test_old_episodes_are_learnt_from_under_a_correction(config, changes):
    assert config("grpo", changes).algorithm.collect.replay is not None


def test_a_correction_of_the_replay_loss_sees_how_far_the_policy_has_moved(started):
    tis = {"replay_loss": LossConfig(is_correction=TokenTis()), "optim.lr": 3e-3}
    run = started(SPEAR | tis | {"collect.episodes": 8}, "reinforce")
    shares = []
    for _ in range(4):
        metrics, _ = loop.update(run)
        step_of(run)
        shares += [v for k, v in metrics.items() if k == "replay/is_correction/effective"]
    assert shares and min(shares) < 1.0 - 1e-6


@pytest.mark.parametrize("changes", [REMIX, SPEAR, {"collect.tasks": 3}], ids=str)
def test_what_is_remembered_survives_a_stop(config, folder, changes):
    given = config("reinforce", changes | {"collect.episodes": 4}, steps=4, checkpoint_every=2)
    straight = loop.train(given, folder(given, "straight"))
    stopped = folder(given, "stopped")
    loop.train(replace(given, steps=2), stopped)
    resumed = loop.train(given, stopped)
    for name, learner in straight.learners.items():
        other = resumed.learners[name].model.state_dict()
        assert all(torch.equal(v, other[k]) for k, v in learner.model.state_dict().items())
    assert straight.collector.state_dict() == resumed.collector.state_dict()


def test_sharing_out_plays_needs_a_list_of_starts():
    with pytest.raises(ConfigError, match=r"collect\.tasks=0"):
        CollectConfig(allocate=Knapsack())


def test_a_greedy_play_of_every_start_is_the_baseline(started):
    changes = {
        "advantage.baseline": GreedyBaseline(),
        "collect.episodes": 6,
    }
    run = started(changes)
    collected = run.collector.collect(0)
    assert len(collected.episodes) == 6 and len(collected.baselines) == 12
    assert {t.player for e in collected.episodes for t in e.turns} == {"policy"}
    again = run.collector.collect(0)
    assert again.baselines == collected.baselines, "nothing is drawn in a greedy play"
    kept = sum(len(t.token_ids) for e in collected.episodes for t in e.turns)
    assert collected.tokens > kept, "greedy plays are sampled too"
    batch = build(collected.episodes, collected.groups, {"policy"}, collected.baselines)
    for b, (at, seat) in enumerate(batch.origin_B):
        assert float(batch.baseline_B[b]) == collected.baselines[at, seat]
    assert loop.update(run)[0]["grad_norm"] > 0


def test_the_greedy_baseline_weighs_components_as_the_credit_does(started):
    changes = {"advantage.baseline": GreedyBaseline(), "collect.episodes": 6}
    changes |= {"rewards": [{"name": "format", "legal": 0.25}]}
    plain = started(changes).collector.collect(0).baselines
    weighted = {"advantage.reward_weights": {"format": 0.0}}
    payoff = started(changes | weighted).collector.collect(0).baselines
    assert set(payoff.values()) <= {-2.0, -1.0, 1.0, 2.0}, "chips of Kuhn poker"
    assert any(plain[key] != payoff[key] for key in plain)
