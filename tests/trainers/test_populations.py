"""Populations in a run: members that do not learn, exchange of places, opponents by results.

1. Who does not learn has no tokens that count, no weights that move, and its own place.
2. Places move on a schedule; weights and what their optimiser remembers stay together.
3. What is known of opponents is in the checkpoint: resumed equals uninterrupted.
4. Who cannot play is refused before anything is trained.
"""

import json
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from coevo.agents.agent import Agent, Reply
from coevo.agents.api.outcome import Usage
from coevo.agents.load import load_agent
from coevo.agents.population import PopulationConfig, Prioritised, Result, population
from coevo.agents.population.pool import Standing
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.envs.core.config import read
from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.run_folder import RunFolder

SEATS = ("player_0", "player_1")
PROGRAM = [f"program:{Path(__file__).parents[1] / 'agents' / 'programs' / 'tit_for_tat.py'}"]
PROGRAM *= find_spec("pydantic_monty") is not None
DILEMMA = {"prompt_style": "terse", "rounds": 2}


def made(tree):
    rows = Rows()
    return read(PopulationConfig, tree)(
        SEATS, lambda name, **given: TabularPolicy(Table(), rows, name=name)
    )


@pytest.fixture
def tables(config):
    """Make the configuration of a run of tables in the repeated prisoner's dilemma."""

    def make(tree, changes=None, **settings):
        changes = {"population": tree, "collect.episodes": 8, "optim.lr": 0.1, **(changes or {})}
        given = config("reinforce", changes, model="table", **settings)
        return replace(given, env="coevo/iterated_game-v0", env_options=DILEMMA)

    return make


# ---- Members ---------------------------------------------------------------------------------


def test_a_scripted_member_keeps_its_place_and_nothing_of_it_is_learnt(tables, folder):
    given = tables({"name": "separate", "agents": {"player_1": "tft"}})
    run = loop.start(given, RunFolder(folder(given, "other").path))
    found = run.collector.collect(0)
    players = {(t.agent, t.player) for e in found.episodes for t in e.turns}
    assert players == {("player_0", "player_0"), ("player_1", "tft")}
    assert list(run.learners) == ["player_0"]
    assert found.tokens == 8 * 2, "a token per reply of the learner alone"
    assert all(t.token_ids is None for e in found.episodes for t in e.turns if t.player == "tft")
    trained = loop.train(given, folder(given))
    assert "return/tft" in trained.folder.read_metrics()[-1]
    assert load_agent(str(trained.folder.path)).name != "tft"


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"name": "separate", "agents": {"player_*": "tft"}}, "nobody is left to learn"),
        ({"name": "separate", "agents": {"judge": "tft"}}, "unknown parameter set 'judge'"),
        ({"name": "separate", "agents": {"player_1": "tfft"}}, "unknown agent 'tfft'"),
        ({"name": "separate", "agents": {"player_1": "human"}}, "human cannot"),
        (
            {"name": "separate", "agents": {"player_1": "tft"}, "frozen": ["player_1"]},
            "frozen names it too",
        ),
        ({"name": "past_selves", "size": 0}, "leave the pool empty"),
        ({"name": "past_selves", "members": ["nobody"]}, "unknown agent 'nobody'"),
        ({"name": "by_role", "exchange": 2}, "only player learns"),
    ],
)
def test_populations_without_meaning_are_refused(tree, words):
    with pytest.raises(ConfigError, match=words) as caught:
        made(tree)
    assert "\n" not in str(caught.value)


def test_a_member_that_cannot_play_is_refused_before_training(config, tmp_path):
    given = config("reinforce", {"population": {"name": "past_selves", "members": ["tft"]}})
    with pytest.raises(ConfigError, match=r"member 'tft' cannot play player_0 of coevo/kuhn_poker"):
        loop.start(given, RunFolder(tmp_path))


class Served(Agent):
    """Stands for a model behind an API, which was asked nothing but to play."""

    name = "openai:some"
    usage = Usage()
    asked = 0

    def act(self, requests):
        type(self).asked += len(requests)
        return [Reply("[A]") for _ in requests]


def test_a_served_member_is_asked_only_to_play_and_costs_no_training_tokens(
    tables, folder, monkeypatch
):
    monkeypatch.setattr(population, "load_agent", lambda source: Served())
    given = tables(
        {"name": "past_selves", "latest": 0.0, "size": 0, "members": ["openai:some"]}, steps=3
    )
    run = loop.start(given, folder(given))
    assert Served.asked == 0
    for _ in loop.updates(run):
        pass
    assert Served.asked == 3 * 8 * 2
    assert run.progress.tokens == 3 * 8 * 2 and run.progress.turns == 3 * 8 * 4


def test_half_of_a_mixed_pool_meets_members_and_no_prompt_says_whom(tables, folder):
    given = tables(algorithm("mixed_pool").population, {"collect.episodes": 400})
    run = loop.start(given, folder(given))
    met, chats = Counter(), {}
    for episode in run.collector.collect(0).episodes:
        players = {t.agent: t.player for t in episode.turns}
        learners = {s for s, name in players.items() if name in run.learners}
        met[len(learners)] += 1
        for seat in learners:
            (other,) = players.keys() - {seat}
            kind = "learner" if other in learners else "member"
            first = next(t for t in episode.turns if t.agent == seat)
            chats.setdefault((seat, kind), set()).add(str(first.chat))
    assert met.total() == 400 and met.keys() == {1, 2}
    assert met[1] / 400 == pytest.approx(0.5, abs=0.08)  # 3 sd
    for seat in SEATS:
        assert chats[seat, "learner"] == chats[seat, "member"] and len(chats[seat, "member"]) == 1


# ---- Exchange --------------------------------------------------------------------------------


def test_places_are_exchanged_and_optimisers_stay_with_their_weights(tables, folder):
    given = tables({"name": "separate", "exchange": 2}, steps=3)
    run = loop.start(given, folder(given))
    seen, optimisers = [], {n: id(x.optimizer) for n, x in run.learners.items()}
    for done in loop.updates(run):
        (place,) = {t.agent for e in done.episodes for t in e.turns if t.player == "player_0"}
        seen.append(place)
        moved = {n: x.optimizer.state_dict()["state"][0]["step"] for n, x in run.learners.items()}
        assert set(map(float, moved.values())) == {float(done.step)}
    assert seen == ["player_0", "player_0", "player_1"]
    assert optimisers == {n: id(x.optimizer) for n, x in run.learners.items()}
    newest = checkpoint.latest(run.folder.checkpoints)
    assert json.loads((newest / "seats.json").read_text()) == {
        "player_0": "player_1",
        "player_1": "player_0",
    }
    assert run.policies()["player_1"] is run.learners["player_0"].agent


# ---- Opponents by results --------------------------------------------------------------------


def standing(*won):
    return [Standing(x, 0.0) for x in won]


def test_who_is_hard_to_beat_comes_more_often():
    draw, rng = Prioritised(), np.random.default_rng(0)
    drawn = Counter(draw(standing(0.5, 0.75, 1.0), rng) for _ in range(5000))
    # (1 - x)^2: 1/4, 1/16 and 0
    assert drawn[0] / 5000 == pytest.approx(0.8, abs=0.02) and drawn[2] == 0
    even = Counter(Prioritised(prefers="even")(standing(0.5, 0.1, 0.0), rng) for _ in range(5000))
    assert even[0] / 5000 == pytest.approx(0.25 / 0.34, abs=0.02) and even[2] == 0
    assert len({draw(standing(1.0, 1.0), rng) for _ in range(50)}) == 2, "all beaten: all alike"


def test_a_pool_counts_who_earned_more_and_forgets_by_and_by():
    pool = made({"name": "past_selves", "members": ["tft", "always_d"], "size": 0, "fade": 0.5})
    seated = {"player_0": "policy", "player_1": "tft"}
    assert pool.won("tft") == 0.5
    pool.observe([Result(seated, {"player_0": 1.0, "player_1": 0.0})] * 3)
    pool.observe([Result(seated, {"player_0": 1.0, "player_1": 1.0})])
    pool.observe([Result(dict.fromkeys(SEATS, "policy"), {"player_0": 1.0, "player_1": 0.0})])
    assert pool.results == {"tft": [3.5, 4.0]}
    assert pool.won("tft") == pytest.approx(4.0 / 5.0) and pool.won("always_d") == 0.5
    pool.after_update(1)
    assert pool.results == {"tft": [1.75, 2.0]}


def test_what_is_known_of_a_past_self_goes_with_it():
    pool = made({"name": "past_selves", "every": 1, "size": 1})
    pool.after_update(1)
    pool.observe(
        [Result({"player_0": "policy", "player_1": "past000001"}, dict.fromkeys(SEATS, 0))]
    )
    assert list(pool.results) == ["past000001"]
    pool.after_update(2)
    assert pool.results == {} and list(pool.fixed) == ["past000002"]


def test_several_learners_meet_each_other_and_all_keep_past_selves():
    pool = made({"name": "past_selves", "learners": 2, "every": 1, "size": 1, "latest": 0.5})
    pool.after_update(1)
    assert sorted(pool.fixed) == ["past000001_0", "past000001_1"]
    seats = [pool.assign(i, np.random.default_rng(i)) for i in range(400)]
    met = Counter(tuple(sorted(s.values())) for s in seats)
    assert met[("policy_0", "policy_1")] > 60
    assert all(met[(f"past000001_{i}", f"policy_{k}")] > 20 for i in range(2) for k in range(2))


def test_resumed_equals_uninterrupted_with_exchange_and_with_results(tables, folder):
    league = {
        "name": "past_selves",
        "every": 1,
        "size": 2,
        "latest": 0.2,
        "learners": 2,
        "members": ["tft", "random", *PROGRAM],
        "draw": {"name": "prioritised"},
        "fade": 0.1,
    }
    team = {"name": "separate", "exchange": 1}
    for name, tree in (("league", league), ("team", team)):
        given = tables(tree, steps=5, checkpoint_every=1)
        straight = loop.train(given, folder(given, f"{name}-straight"))
        stopped = folder(given, f"{name}-stopped")
        loop.train(replace(given, steps=3), stopped)
        resumed = loop.train(given, stopped)
        assert resumed.population.state_dict() == straight.population.state_dict()
        for n, learner in straight.learners.items():
            assert torch.equal(learner.model.logits_RA, resumed.learners[n].model.logits_RA)
        timed = ("seconds", "seconds/collect", "total_seconds", "tokens_per_second")
        logs = [
            [{k: v for k, v in m.items() if k not in timed} for m in r.folder.read_metrics()]
            for r in (straight, resumed)
        ]
        assert logs[0] == logs[1]
