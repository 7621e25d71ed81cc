import copy

import numpy as np
import pytest
import torch

from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_model
from coevo.agents.population import PopulationConfig
from coevo.envs.core.config import read
from coevo.envs.core.errors import ConfigError

SEATS = ("player_0", "player_1", "player_2")


@pytest.fixture
def make(tiny_model_dir):
    model, tokenizer = load_model(str(tiny_model_dir), device="cpu")

    def made(name, learns=True):
        own = copy.deepcopy(model) if learns else model
        return LanguageModelAgent(own, tokenizer, name=name)

    return made


def seated(population, count=60):
    return [population.assign(i, np.random.default_rng(i)) for i in range(count)]


def bump(agent):
    with torch.no_grad():
        for p in agent.model.parameters():
            p.add_(1.0)


def first(agent):
    return float(next(agent.model.parameters()).detach().flatten()[0])


def test_shared_weights_sit_everywhere(make):
    population = read(PopulationConfig, {"name": "shared"})(SEATS, make)
    assert seated(population, 2) == [dict.fromkeys(SEATS, "policy")] * 2
    assert list(population.agents) == ["policy"]


def test_separate_weights_keep_their_seat_and_share_no_tensor(make):
    population = read(PopulationConfig, {"name": "separate"})(SEATS, make)
    assert seated(population, 2) == [{s: s for s in SEATS}] * 2
    before = first(population.learners["player_1"])
    bump(population.learners["player_0"])
    assert first(population.learners["player_1"]) == before


def test_one_learner_rotates_against_the_policy_it_started_from(make):
    population = read(PopulationConfig, {"name": "frozen_opponent"})(SEATS, make)
    places = [[s for s in SEATS if who[s] == "policy"] for who in seated(population, 6)]
    assert places == [[s] for s in SEATS] * 2
    before = first(population.fixed["frozen"])
    bump(population.learners["policy"])
    population.after_update(20)
    assert first(population.fixed["frozen"]) == before and list(population.learners) == ["policy"]


def test_a_pool_keeps_the_newest_copies_and_plays_them_in_every_seat(make):
    population = read(
        PopulationConfig, {"name": "past_selves", "every": 2, "size": 2, "latest": 0.5}
    )(SEATS, make)
    assert seated(population, 3) == [dict.fromkeys(SEATS, "policy")] * 3
    start = first(population.learners["policy"])
    for step in range(1, 8):
        bump(population.learners["policy"])
        population.after_update(step)
    assert list(population.fixed) == ["past000004", "past000006"]
    assert first(population.fixed["past000006"]) == pytest.approx(start + 6)
    assert population.fixed["past000004"].version == 4
    assert not any(p.requires_grad for p in population.fixed["past000004"].model.parameters())
    matches = seated(population, 300)
    alone = [who for who in matches if set(who.values()) == {"policy"}]
    assert 100 < len(alone) < 200
    past = [who for who in matches if who not in alone]
    assert {s for who in past for s in SEATS if who[s] == "policy"} == set(SEATS)
    assert {p for who in past for p in who.values()} == {"policy", "past000004", "past000006"}
    assert all(list(who.values()).count("policy") == 1 for who in past)


def test_a_past_self_has_random_numbers_and_a_memory_of_its_own(make):
    population = read(PopulationConfig, {"name": "past_selves"})(SEATS, make)
    learner, past = population.learners["policy"], population.restore_snapshot("past000020")
    assert past._asked is not learner._asked and past._spoken is not learner._spoken
    assert past.tokens is learner.tokens


@pytest.mark.parametrize("bad", [{"every": 0}, {"size": 0}, {"latest": 1.5}, {"latest": -0.1}])
def test_a_pool_without_meaning_is_refused(make, bad):
    with pytest.raises(ConfigError, match=rf"past_selves\.{next(iter(bad))}="):
        read(PopulationConfig, {"name": "past_selves", **bad})(SEATS, make)


def test_only_a_pool_takes_snapshots_back(make):
    with pytest.raises(ConfigError, match="keeps no snapshots"):
        read(PopulationConfig, {"name": "shared"})(SEATS, make).restore_snapshot("past000020")
