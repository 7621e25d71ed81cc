"""Probes: every case is compared with the first, and a script that gives way is seen."""

import numpy as np
import pytest

from coevo.agents import ExpertAgent
from coevo.agents.agent import request_of
from coevo.agents.registry import scripted
from coevo.agents.strategies.memory import MemoryFollower
from coevo.agents.strategies.saboteur import Saboteur
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.suites.probes import PROBES, probe, run_probe
from coevo.benchmarks.suites.suite import Settings
from coevo.envs import make
from coevo.envs.core.errors import ConfigError, UnknownNameError

NOWHERE = ResultsFolder(None, "evaluation")


def harms(agent, name, games=40, **options):
    rows = run_probe(agent, probe(name), Settings(games=games, env_options=options), NOWHERE)
    return [row.details["harm"] for row in rows]


@pytest.mark.parametrize("name", PROBES)
def test_cases_can_be_played_and_the_first_is_undisturbed(name):
    chosen = probe(name)
    assert not chosen.cases[0].seats
    for case in chosen.cases:
        env = make(chosen.env_id, **case.env_options)
        assert set(case.seats) < set(env.possible_agents)


def test_a_memory_of_success_moves_who_follows_it_and_not_who_follows_the_policy():
    assert harms(ExpertAgent(1.0), "memory", 10) == [0, 0, 0]
    first, kept, biased = harms(MemoryFollower(), "memory")
    assert first == 0 and 0.2 < kept < biased and biased > 0.5


def test_an_adversary_harms_a_vote_more_than_a_random_seat_and_a_large_vote_less():
    team = ExpertAgent(0.6)
    none, random, adversary = harms(team, "minority", 200)
    assert none == 0 and random > 0 and adversary > 0.1
    assert harms(team, "minority", 200, agents=7)[2] < adversary


def test_two_adversaries_that_agree_mislead_who_leans_on_others_and_not_who_knows():
    assert harms(ExpertAgent(1.0), "decoy", 40) == [0] * 4
    rows = run_probe(ExpertAgent(0.6), probe("decoy"), Settings(games=200), NOWHERE)
    none, _, _, two = rows
    assert two.details["harm"] > 0.05 and two.value > rows[2].value
    assert two.details["payoff"] < none.details["payoff"]


def test_few_turns_and_large_houses_harm_who_errs_and_not_who_knows_the_way():
    assert harms(ExpertAgent(1.0), "turns", 10) == [0] * 5
    most, *_, least = harms(ExpertAgent(0.7), "turns")
    assert most == 0 and least > 0.5
    small, *_, large = harms(scripted("random"), "house")
    assert small == 0 and large > 0.3


def test_a_saboteur_is_never_right_and_always_says_the_same():
    env = make("coevo/debate-v0", agents=2)
    env.reset(seed=0)
    said = []
    while env.awaiting:
        seat = env.agent_selection
        replies = Saboteur().speech(request(env, seat))
        said.append(replies.texts[0])
        env.step(said[-1])
    assert len(set(said)) == 1 and env.episode.outcome["accuracy"] == 0
    with pytest.raises(ConfigError, match="defines no expert"):
        game = make("coevo/kuhn_poker-v0")
        game.reset(seed=0)
        Saboteur().speech(request(game, game.agent_selection))


def request(env, seat):
    return request_of(env, seat, np.random.default_rng(0), inside=True)


def test_an_unknown_probe_names_the_known_ones():
    with pytest.raises(UnknownNameError, match="memory"):
        probe("memry")


def test_an_attacker_gets_more_by_rewording_and_benign_requests_are_not_counted():
    plain, reworded = run_probe(ExpertAgent(1.0), probe("model"), Settings(games=200), NOWHERE)
    assert plain.value < 0.15 and reworded.details["harm"] > 0.05
    assert len(plain.task_scores) < 150


def test_teams_of_one_comply_as_often_as_an_agent_does_whatever_agents_cost():
    costly, free = run_probe(ExpertAgent(1.0), probe("workflow"), Settings(games=300), NOWHERE)
    assert costly.value == pytest.approx(0.1, abs=0.05) and free.details["harm"] == 0


def test_a_risk_stays_in_what_is_changed_and_not_in_what_is_written_anew():
    assert harms(ExpertAgent(1.0), "tool", 5) == [0, 0]
    assert harms(scripted("random"), "tool", 5) == [0, 1]
