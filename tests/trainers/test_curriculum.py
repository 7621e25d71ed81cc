"""Several environments in a run, and tasks that follow from how earlier ones went.

1. Every environment has its share of the groups, its own options, its numbers in the log.
2. Tasks that tell more come again and are varied; a buffer is in the checkpoint.
3. What cannot be trained on together is refused in one line before anything is trained.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.envs import make
from coevo.envs.core.config import plain, read
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.trainers import loop
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.config import Environment, TrainConfig, config_text, load_config
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.samplers.allocate import Knapsack
from coevo.trainers.samplers.curriculum import Proposal, Source
from coevo.trainers.samplers.evolve import Evolve

KUHN, DILEMMA = "coevo/kuhn_poker-v0", "coevo/iterated_game-v0"
BOTH = {KUHN: 3, DILEMMA: {"weight": 1, "options": {"rounds": 2}, "skill": "trust"}}


@pytest.fixture
def several(config):
    def made(changes=None, env=BOTH, **settings):
        given = config("reinforce", {"collect.episodes": 8, **(changes or {})}, model="table")
        return replace(given, env=env, env_options={"prompt_style": "terse"}, **settings)

    return made


def test_each_environment_has_its_share_its_options_and_its_numbers(several, folder):
    given = several(steps=2)
    run = loop.train(given, folder(given))
    found = run.collector.collect(2).episodes
    assert Counter(e.env for e in found) == {KUHN: 6, DILEMMA: 2}
    assert all(len(e.turns) == 4 for e in found if e.env == DILEMMA), "two rounds"
    last = run.folder.read_metrics()[-1]
    assert {f"{KUHN}/return/player_0", f"{DILEMMA}/return/player_1", "return/player_0"} <= set(last)
    assert last[f"skill/{KUHN}/seen"] == 2 * 6 * 2 and last["skill/trust/seen"] == 2 * 2 * 2
    assert 0 <= last["skill/trust/success"] <= 1


def test_the_mapping_survives_a_file(several, tmp_path):
    given = several()
    (tmp_path / "config.yaml").write_text(config_text(given), encoding="utf-8")
    assert load_config(tmp_path / "config.yaml") == given == read(TrainConfig, plain(given))
    assert given.env[KUHN] == Environment(weight=3)


def test_small_shares_come_up_in_their_turn(several, folder):
    run = loop.start(several({"collect.episodes": 2}), folder(several()))
    drawn = Counter(g.task.env for k in range(400) for g in run.collector.plan(k, 2))
    assert drawn[DILEMMA] / 800 == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("changes", [{}, {"collect.tasks": 5}, {"collect.curriculum": Evolve()}])
def test_resumed_equals_uninterrupted(several, folder, changes):
    given = several({"optim.lr": 0.1, "collect.group_size": 2, **changes})
    given = replace(given, steps=4, checkpoint_every=2)
    straight = loop.train(given, folder(given, "straight"))
    stopped = folder(given, "stopped")
    loop.train(replace(given, steps=2), stopped)
    resumed = loop.train(given, stopped)
    assert straight.collector.state_dict() == resumed.collector.state_dict()
    one, two = (r.learners["policy"].model.logits_RA for r in (straight, resumed))
    assert torch.equal(one, two) and one.abs().sum() > 0


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({KUHN: 0}, r"env\.coevo/kuhn_poker-v0\.weight=0 must be greater than 0"),
        ({KUHN: -1}, r"weight=-1 must be greater than 0"),
        ({}, "must name an environment"),
        ({KUHN: {"wieght": 1}}, "did you mean 'weight'"),
        ({KUHN: 1, "coevo/kuhn_pokr-v0": 1}, "unknown environment 'coevo/kuhn_pokr-v0'"),
        ({KUHN: 1, "coevo/debate-v0": 1}, "need the same seats: coevo/kuhn_poker-v0 has player_0"),
        (
            {KUHN: 1, DILEMMA: {"options": {"rewards": ["majority"]}}},
            "need the same rewards over whole episodes",
        ),
    ],
)
def test_what_cannot_be_trained_together_is_refused(several, tmp_path, env, words):
    with pytest.raises(CoevoError, match=words) as caught:
        loop.start(several(env=env), RunFolder(tmp_path))
    assert "\n" not in str(caught.value)


# ---- Tasks that evolve -------------------------------------------------------------------------


@pytest.fixture
def evolving():
    """Make a curriculum of arithmetic questions."""

    def made(config, **collect):
        env = make("coevo/debate-v0", agents=2, questions={"name": "digits"})
        given = CollectConfig(curriculum=config, episodes=16, group_size=2, **collect)
        return config.start({env.task.env_id: Source(env, 1.0, "digits")}, given, 0)

    return made


def test_tasks_come_again_in_proportion_to_what_they_tell(evolving):
    tasks = evolving(Evolve(fresh=0.0, vary=0.0, warmup=0))
    first = tasks.propose(0, 4)
    assert len({p.key for p in first}) == 4, "nothing is known: fresh ones"
    outcomes = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 1.0]]
    tasks.observe(list(zip(first, outcomes, strict=True)), 0)
    drawn = Counter(p.key for step in range(1, 300) for p in tasks.propose(step, 10))
    assert set(drawn) == {first[1].key, first[3].key}
    assert drawn[first[1].key] / 2990 == pytest.approx(2 / 3, abs=0.03)
    tasks.observe([(first[1], [1.0, 1.0])], 1)
    assert {p.key for p in tasks.propose(1, 10)} == {first[3].key}, "the latest episodes count"


def test_variations_are_near_and_fresh_tasks_keep_their_share(evolving):
    tasks = evolving(Evolve(fresh=0.25, vary=1.0, warmup=0))
    parent = Proposal("coevo/debate-v0", 7, {"item": 4783}, 2)
    tasks.observe([(parent, [0.0, 1.0])], 0)
    found = tasks.propose(1, 8)
    assert sum(not p.options for p in found) == 2 and all(p.episodes == 2 for p in found)
    near = {p.options["item"] for p in found if p.options}
    assert near <= {4782, 4784, 4683, 4883}, "one of two numbers, by one"


def test_of_too_many_tasks_those_go_that_tell_least(evolving):
    tasks = evolving(Evolve(size=2))
    played = [Proposal("coevo/debate-v0", seed) for seed in range(3)]
    tasks.observe(list(zip(played, [[0, 1], [0, 0], [0, 0.5]], strict=True)), 0)
    assert list(tasks.buffer) == [played[0].key, played[2].key]
    assert tasks.metrics()["curriculum/info"] == pytest.approx(0.75)


def test_two_that_decide_what_is_played_are_refused(several, tmp_path):
    changes = {
        "collect.tasks": 4,
        "collect.allocate": Knapsack(),
        "collect.curriculum": Evolve(),
        "collect.group_size": 2,
    }
    with pytest.raises(ConfigError, match="both decide what is played"):
        loop.start(several(changes), RunFolder(tmp_path))


def test_a_task_without_variations_is_drawn_anew(evolving):
    env = make(KUHN)
    given = CollectConfig(curriculum=Evolve(warmup=0, fresh=0.0, vary=1.0))
    tasks = given.curriculum.start({KUHN: Source(env, 1.0, KUHN)}, given, 0)
    tasks.observe([(Proposal(KUHN, 3), [0.0, 1.0])], 0)
    assert all(p.seed != 3 and not p.options for p in tasks.propose(1, 5))
    assert env.task.variation(np.random.default_rng(0)) == {}
