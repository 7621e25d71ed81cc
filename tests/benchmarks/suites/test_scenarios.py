import json
from dataclasses import replace

import pytest

from coevo.agents import FirstLegalAgent, FixedTextAgent, OracleAgent, RandomAgent
from coevo.agents.registry import is_scripted, scripted
from coevo.agents.strategies.conventions import ConventionAgent, conventions
from coevo.benchmarks.measurement import Measurement
from coevo.benchmarks.statistics.normalise import References
from coevo.benchmarks.suites.focal import FOCAL, _specs, play_scenario
from coevo.benchmarks.suites.scenarios import (
    ANY,
    SCENARIOS,
    Scenario,
    scenario,
)
from coevo.envs.core.errors import ConfigError, UnknownNameError
from tests.benchmarks.suites.scenario_references import dilemma_references, scenario_references

KUHN, HANABI, OPENSPIEL = "coevo/kuhn_poker-v0", "coevo/tiny_hanabi-v0", "coevo/openspiel-v0"
KUHN3 = {"game": "kuhn_poker(players=3)"}


GREEDY = {"spare": 0}
MEASURED = {
    "gathering_foragers": {},
    "gathering_guards": {},
    "cleanup_cleaner": {},
    "harvest_foragers": GREEDY,
    "harvest_guest": GREEDY,
}
"""Scenario whose references are played -> options of the experts who count as 1."""


@pytest.mark.parametrize("name", [n for n, x in SCENARIOS.items() if x.refs and n not in MEASURED])
def test_references_are_what_exact_play_gives(name):
    where = SCENARIOS[name]
    rounds = "recursion" in where.refs_source
    found = dilemma_references(where) if rounds else scenario_references(where)
    assert found == pytest.approx(where.refs, abs=1e-3)
    assert where.refs_source


@pytest.mark.parametrize("name", MEASURED)
def test_references_are_what_players_come_to(name):
    where = SCENARIOS[name]
    best = replace(where, env_options=MEASURED[name])
    played = (RandomAgent(), where), (scripted("expert:1"), best)
    for (player, place), reference in zip(played, where.refs, strict=True):
        found = play_scenario(player, place, episodes=30, seed=1)
        low, high = found.interval
        assert abs(found.value - reference) < high - low  # four standard errors
    assert where.refs_source


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_can_be_played_and_says_what_it_tests(name):
    where = SCENARIOS[name]
    found = play_scenario(RandomAgent(), where, episodes=2)
    assert found.episodes == 2 and found.forfeit_rate == 0
    assert where.tags and where.summary


def test_modes_go_by_the_majority():
    assert SCENARIOS["kuhn3_visitor"].mode == "visitor"
    assert SCENARIOS["kuhn3_resident"].mode == "resident"
    assert SCENARIOS["hanabi_random"].mode == "visitor"
    assert SCENARIOS["kuhn3_resident"].focal_sets() == [
        ("player_0", "player_1"),
        ("player_1", "player_2"),
        ("player_2", "player_0"),
    ]


def test_company_is_drawn_anew_for_every_play_and_focal_seats_move():
    where = SCENARIOS["kuhn3_visitor"]
    drawn = [m for m, _ in zip(_specs(where, 0), range(90), strict=False)]
    focal = [next(s for s, n in m.players.items() if n == FOCAL) for m in drawn]
    assert focal[:4] == ["player_0", "player_1", "player_2", "player_0"]
    company = {tuple(n for n in m.players.values() if n != FOCAL) for m in drawn}
    assert len(company) == 4
    assert len({m.seed for m in drawn}) == 90
    again = [m for m, _ in zip(_specs(where, 0), range(90), strict=False)]
    assert again == drawn


def test_random_play_comes_out_at_0():
    found = play_scenario(RandomAgent(), SCENARIOS["kuhn3_visitor"], episodes=400, seed=1)
    low, high = found.normalised_interval
    assert low < 0 < high
    assert found.value == pytest.approx(0.4375, abs=0.25)


def test_zero_sum_company_pays_what_the_focal_seat_gets():
    for name in ("kuhn3_visitor", "kuhn3_resident"):
        found = play_scenario(FirstLegalAgent(), SCENARIOS[name], episodes=30)
        seats = 1 if name == "kuhn3_visitor" else 2
        assert found.details["collective"] == pytest.approx(0)
        assert found.value * seats + found.details["background"] * (3 - seats) == pytest.approx(0)
        assert found.details["gap"] == pytest.approx(found.value - found.details["background"])
        assert found.episodes == 30


def test_partners_share_and_a_convention_needs_to_be_known():
    found = play_scenario(OracleAgent(), SCENARIOS["hanabi_conventions"], episodes=60)
    assert found.value == found.details["background"] == found.details["collective"] / 2
    assert found.details["by_company"]["convention:1"] == 10  # its own
    assert found.details["by_company"]["convention:2"] < 9
    assert found.normalised < 1


def test_results_are_repeatable_json():
    where = SCENARIOS["hanabi_random"]
    first, again = (play_scenario(RandomAgent(), where, episodes=10, seed=4) for _ in range(2))
    assert first == again
    assert Measurement.from_dict(json.loads(json.dumps(first.to_dict(), allow_nan=False))) == first
    assert play_scenario(RandomAgent(), where, episodes=10, seed=5) != first


def test_forfeits_of_the_focal_seat_are_counted():
    found = play_scenario(FixedTextAgent("?"), SCENARIOS["kuhn3_resident"], episodes=6)
    assert found.forfeit_rate == 1
    assert found.value < found.details["background"]


def test_without_references_nothing_is_normalised():
    bare = replace(SCENARIOS["hanabi_random"], refs=None)
    found = play_scenario(RandomAgent(), bare, episodes=4)
    assert found.normalised is found.normalised_interval is None


def test_named_seats_have_companies_of_their_own():
    where = Scenario(
        name="roles",
        env_id=OPENSPIEL,
        env_options=KUHN3,
        focal_seats=("player_1",),
        background={"player_0": ("first_legal",), ANY: ("random",)},
        refs=References(0.0, 1.0),
    )
    found = play_scenario(RandomAgent(), where, episodes=5)
    assert list(found.details["by_company"]) == ["first_legal, random"]


def test_other_players_come_from_the_loader():
    where = Scenario(name="x", env_id=KUHN, background={ANY: ("runs/a",)})
    loaded = []

    def load(name):
        loaded.append(name)
        return FirstLegalAgent()

    play_scenario(RandomAgent(), where, episodes=4, load=load)
    assert loaded == ["runs/a"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"focal_seats": 2}, "at least one seat must be focal and one background"),
        ({"focal_seats": 0}, "at least one seat"),
        ({"focal_seats": ("player_7",)}, "player_7"),
        ({"background": {"player_9": ("random",)}}, "player_9"),
        ({"background": {"player_0": ("random",)}}, "nobody may play player_1"),
    ],
)
def test_impossible_scenarios_are_refused(fields, said):
    with pytest.raises((ConfigError, UnknownNameError), match=said):
        Scenario(name="x", env_id=KUHN, **fields)


def test_scenarios_are_found_by_name():
    assert scenario("kuhn3_visitor") is SCENARIOS["kuhn3_visitor"]
    with pytest.raises(UnknownNameError, match="did you mean 'kuhn3_visitor'"):
        scenario("kuhn_visitor")
    with pytest.raises(ConfigError, match="episodes=0"):
        play_scenario(RandomAgent(), scenario("kuhn3_visitor"), episodes=0)


# ---- Players ---------------------------------------------------------------------------------


def test_conventions_are_ranked_by_what_they_pay():
    values = [value for value, _ in conventions("tiny_hanabi()")]
    assert values == sorted(values, reverse=True)
    assert values[0] == 10
    assert len(values) == 9
    first = play_scenario(
        ConventionAgent(2),
        Scenario(name="x", env_id=HANABI, background={ANY: ("convention:2",)}),
        episodes=400,
    )
    low, high = first.interval
    assert low < values[1] < high


def test_players_by_name():
    assert scripted("random").name == "random"
    assert is_scripted("expert:0.25")
    assert not is_scripted("runs/a")
    for name, said in (("expert:x", "not a number"), ("convention:0", "start at 1")):
        with pytest.raises(ConfigError, match=said):
            scripted(name)
    with pytest.raises(UnknownNameError, match="did you mean 'random'"):
        scripted("randon")
    with pytest.raises(ConfigError, match="no conventions"):
        conventions("kuhn_poker()")
