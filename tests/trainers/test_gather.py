"""What an update is given to learn from: starts, shares of plays, selection, replay."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.algorithm import SamplerSpec
from coevo.trainers.estimators import option
from coevo.trainers.rows import build
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.samplers import RefillError

REMIX = {"sampler.replay": "remix(share=0.9, until=4)", "sampler.group_size": 2}
SPEAR = {"sampler.replay": "spear(capacity=2, horizon=4, older=3)"}


@pytest.fixture
def started(config, tmp_path):
    def start(changes, name="reinforce", **settings):
        return loop.start(config(name, changes, **settings), RunFolder(tmp_path))

    return start


def step_of(run):
    run.progress = replace(run.progress, step=run.progress.step + 1)


def seeds(run, step, groups=2):
    return [g.matches[0].seed for g in run.gatherer.plan(step, groups)]


def test_a_fixed_list_of_starts_is_played_again_and_again(started):
    run = started({"sampler.starts": 3, "sampler.episodes": 4, "sampler.group_size": 2})
    played = {seed for step in range(20) for seed in seeds(run, step)}
    assert len(played) == 3
    endless = started({"sampler.episodes": 4, "sampler.group_size": 2})
    assert len({seed for step in range(20) for seed in seeds(endless, step)}) == 40


def test_plays_are_shared_out_by_what_is_known_about_a_start(started):
    changes = {
        "population": "frozen",
        "sampler.starts": 3,
        "sampler.episodes": 24,
        "sampler.group_size": 8,
        "sampler.allocate": "knapsack",
    }
    run = started(changes)
    run.gatherer.history.after_update([0] * 8 + [1] * 8 + [2] * 8, [-1] * 8 + [1, -1] * 4 + [1] * 8)
    plays = {g.start: len(g.matches) for g in run.gatherer.plan(1, 3)}
    assert sum(plays.values()) == 24
    assert plays[2] == 2 < plays[1], "what is always won gets the least"
    gathered = run.gatherer.gather(1)
    assert sorted(Counter(gathered.groups).values()) == sorted(plays.values())
    assert run.gatherer.history.stats().visits_P.sum() == 6


def test_an_allocator_that_leaves_starts_out_chooses_among_all_of_them(started):
    changes = {
        "population": "frozen",
        "sampler.starts": 6,
        "sampler.episodes": 8,
        "sampler.group_size": 4,
        "sampler.allocate": "vade",
    }
    run = started(changes)
    outcomes = [-1] * 8 + [1, -1] * 4
    run.gatherer.history.after_update(
        [i % 6 for i in range(96)], [outcomes[i % 16] for i in range(96)]
    )
    planned = run.gatherer.plan(1, 2)
    assert sum(len(g.matches) for g in planned) == 8 and all(g.matches for g in planned)
    assert len({g.key for g in planned}) == len({g.start for g in planned}) == len(planned)
    gathered = run.gatherer.gather(1)
    assert len(gathered.episodes) == 8


def test_groups_without_a_difference_are_played_again_until_enough_inform(started):
    changes = {
        "population": "frozen",
        "sampler.episodes": 8,
        "sampler.group_size": 2,
        "sampler.select": "dynamic(low=-9, high=9, tries=40)",
    }
    run = started(changes)
    gathered = run.gatherer.gather(0)
    assert Counter(gathered.groups) == dict.fromkeys(range(4), 2)
    learner = dict(enumerate(gathered.episodes))
    for group in range(4):
        pair = [e for i, e in learner.items() if gathered.groups[i] == group]
        seat = next(t.agent for t in pair[0].turns if t.player == "policy")
        assert pair[0].total(seat, "payoff") != pair[1].total(seat, "payoff")
    assert gathered.metrics["select/wasted"] >= 0
    kept = sum(len(t.token_ids) for e in gathered.episodes for t in e.turns if t.player == "policy")
    assert gathered.tokens >= kept, "plays that were not kept were sampled all the same"


def test_a_task_on_which_every_play_ends_alike_is_named_as_such(started):
    run = started({"sampler.group_size": 2, "sampler.select": "dynamic(low=-9, high=-8, tries=2)"})
    with pytest.raises(RefillError, match="2 generation batches"):
        run.gatherer.gather(0)


def test_whole_groups_of_earlier_policies_come_back_under_keys_of_their_own(started):
    run = started(REMIX | {"sampler.episodes": 8})
    for _ in range(3):
        loop.update(run)
        step_of(run)
    gathered = run.gatherer.gather(3)
    assert gathered.fresh < 8
    old = gathered.episodes[gathered.fresh :]
    assert old and len(gathered.episodes) == 8
    assert {t.version for e in old for t in e.turns} <= {1, 2}
    assert {t.version for e in gathered.episodes[: gathered.fresh] for t in e.turns} == {3}
    assert not set(gathered.groups[: gathered.fresh]) & set(gathered.groups[gathered.fresh :])
    assert run.gatherer.gather(4).fresh == 8, "replay has ended"


def test_the_reference_becomes_the_policy_when_replay_ends(started):
    run = started(REMIX | {"sampler.episodes": 4, "loss.regularise": "kl(coef=0.1)"}, "rloo")
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
    run = started(SPEAR | {"sampler.episodes": 8}, "reinforce")
    seen = []
    for _ in range(3):
        metrics, _ = loop.update(run)
        step_of(run)
        seen.append({k: v for k, v in metrics.items() if k.startswith("replay/")})
    passes = [m for m in seen if m]
    assert passes and all(m["replay/plays"] == 2 for m in passes)
    assert all("replay/grad_norm" in m for m in passes)


@pytest.mark.parametrize("changes", [REMIX, SPEAR, {"sampler.starts": 3}], ids=str)
def test_what_is_remembered_survives_a_stop(config, folder, changes):
    given = config("reinforce", changes | {"sampler.episodes": 4}, steps=4, checkpoint_every=2)
    straight = loop.train(given, folder(given, "straight"))
    stopped = folder(given, "stopped")
    loop.train(replace(given, steps=2), stopped)
    resumed = loop.train(given, stopped)
    for name, learner in straight.learners.items():
        other = resumed.learners[name].model.state_dict()
        assert all(torch.equal(v, other[k]) for k, v in learner.model.state_dict().items())
    assert straight.gatherer.state_dict() == resumed.gatherer.state_dict()


def test_sharing_out_plays_needs_a_list_of_starts():
    with pytest.raises(ConfigError, match=r"sampler\.starts=0"):
        SamplerSpec(allocate=option("knapsack"))


def test_a_greedy_play_of_every_start_is_the_baseline(started):
    changes = {"sampler.greedy": True, "advantage.center": "greedy", "sampler.episodes": 6}
    run = started(changes)
    gathered = run.gatherer.gather(0)
    assert len(gathered.episodes) == 6 and len(gathered.baselines) == 12
    assert {t.player for e in gathered.episodes for t in e.turns} == {"policy"}
    again = run.gatherer.gather(0)
    assert again.baselines == gathered.baselines, "nothing is drawn in a greedy play"
    kept = sum(len(t.token_ids) for e in gathered.episodes for t in e.turns)
    assert gathered.tokens > kept, "greedy plays are sampled too"
    batch = build(gathered.episodes, gathered.groups, {"policy"}, gathered.baselines)
    for b, (at, seat) in enumerate(batch.played_B):
        assert float(batch.trajectories.baseline_B[b]) == gathered.baselines[at, seat]
    assert loop.update(run)[0]["grad_norm"] > 0


@pytest.mark.parametrize(
    "changes", [{"sampler.greedy": True}, {"advantage.center": "greedy"}], ids=str
)
def test_the_greedy_baseline_and_its_plays_need_each_other(config, changes):
    with pytest.raises(ConfigError, match="contradict"):
        config("reinforce", changes)
