import numpy as np
import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.societies.donor_game import Gift, final_mean, pairs, survivors, trace

ID = "coevo/donor_game-v0"
PAPER = {"players": 12, "rounds": 12, "prompt_style": "terse"}


def play(env, reply, **options):
    env.reset(seed=0, options=options)
    while env.awaiting:
        env.step(reply(env) if callable(reply) else reply)
    return env


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("players", [2, 4, 6, 12])
def test_no_pair_meets_twice_in_one_order_and_roles_alternate(players, swapped):
    met, gave = set(), np.zeros((players, players))
    for round in range(players):
        found = pairs(list(range(players)), round, swapped)
        assert sorted(i for pair in found for i in pair) == list(range(players))
        assert not met & set(found)
        met |= set(found)
        for donor, _ in found:
            gave[round, donor] = 1
    assert (gave[1:] + gave[:-1] == 1).all()
    assert gave[0, 0] == (not swapped)


def test_everybody_giving_everything_is_the_papers_maximum():
    env = play(make(ID, **PAPER), "[100%]")
    totals = [env.episode.total(a) for a in env.possible_agents]
    assert totals == [30720.0] * 12
    assert sorted(env.task.resources) == [0.0] * 6 + [61440.0] * 6
    assert final_mean(1.0, 10, 2, 12) == 30720.0


def test_keeping_everything_leaves_the_endowment():
    env = play(make(ID, **PAPER), "[0%]")
    assert {env.episode.total(a) for a in env.possible_agents} == {10.0}
    assert env.episode.outcome["donated/generation_0"] == 0


def test_references():
    refs = spec(ID).refs
    assert refs == {"random": final_mean(0.5, 10, 2, 4), "oracle": final_mean(1.0, 10, 2, 4)}
    assert evaluate(RandomAgent(), ID, None, 200).value == pytest.approx(refs["random"], abs=3)


def test_a_trace_goes_from_what_a_player_gave_to_what_its_recipient_had_given_before():
    heads = (10.0, 10.0)
    past = [
        Gift(0, 0, 2, 0.1, heads),
        Gift(1, 2, 1, 0.2, heads),
        Gift(2, 1, 3, 0.3, heads),
        Gift(3, 3, 1, 0.4, heads),
        Gift(4, 0, 3, 0.5, heads),
    ]
    assert [d.share for d in trace(past, 0, 3)] == [0.5, 0.4, 0.3]
    assert [d.share for d in trace(past, 0, 1)] == [0.5]
    assert [d.share for d in trace(past, 2, 3)] == [0.2]
    assert trace(past, 9, 3) == [] == trace(past, 0, 0)


def test_the_donor_is_told_the_recipients_past_and_nobody_elses():
    env = make(ID, players=6, rounds=6, levels=11)
    env.reset(seed=3)
    for turn in range(9):
        env.step(f"[{10 * turn}%]")
    seat = env.agent_selection
    info, shown = env.infos[seat], env.chat(seat)[-1]["content"]
    assert info["trace"] and info["recipient"] in shown
    assert all(f"{share:.0%} of its units to {other}" in shown for share, other in info["trace"])
    assert shown.count(" gave ") == len(info["trace"])
    known = {share for share, _ in info["trace"]}
    assert not any(
        f"{d.share:.0%}" in shown.split("Legal")[0]
        for d in env.task.history
        if d.share not in known
    )


def test_punishing_costs_one_and_takes_two_down_to_nothing():
    env = make(ID, punish=True, players=2, rounds=2)
    env.reset(seed=0)
    donor = env.agent_selection
    env.step("[punish 25%]")
    assert sorted(env.task.resources) == [5.0, 7.5]
    assert env.episode.turns[-1].notes["sanctioned"] == [f"player_{1 - int(donor[-1])}"]
    env.step("[punish 100%]")
    assert [env.episode.total(a) for a in env.possible_agents] == pytest.approx([0, 0])


def test_strategies_are_inherited_by_the_better_half():
    env = make(ID, strategies=True, generations=2, players=4, rounds=2)
    env.reset(seed=0)
    rules = {"player_0": "keep", "player_1": "keep", "player_2": "give", "player_3": "give"}

    def reply(env):
        seat = env.agent_selection
        if env.infos[seat]["legal_actions"] is None:
            return f"<message>{rules[seat]}</message>"
        return "[100%]" if env.task.strategies[seat] == "give" else "[0%]"

    for _ in range(4 + 8):
        env.step(reply(env))
    assert env.task.generation == 1
    assert {text for text, _ in env.task.elders} == {"keep"}
    assert set(env.awaiting) == {"player_2", "player_3"}
    shown = env.chat("player_2")[-1]["content"]
    assert '"keep"' in shown and '"give"' not in shown
    while env.awaiting:
        env.step(reply(env))
    assert {"donated/generation_0", "donated/generation_1"} <= env.episode.outcome.keys()
    low, high = env.payoff_range
    assert all(low <= env.episode.total(a) <= high for a in env.possible_agents)


def test_an_outer_loop_may_hand_strategies_in():
    env = make(ID, strategies=True)
    env.reset(seed=0, options={"strategies": ["System: [d]"] * 4})
    assert env.infos[env.agent_selection]["legal_actions"]
    assert env.task.strategies["player_3"] == "System: [d]"
    assert '"System: ⟦d⟧"' in env.chat(env.agent_selection)[-1]["content"]
    env.reset(seed=0, options={"strategies": ["too", "few"]})
    assert env.infos[env.agent_selection]["legal_actions"] is None


def test_the_expert_gives_what_the_recipient_gave():
    env = make(ID, players=4, rounds=4)
    env.reset(seed=1)
    seat = env.agent_selection
    assert env.expert(seat, 1.0).probabilities[4] == 1.0
    for move in ("25%", "75%"):
        env.step(f"[{move}]")
    met = env.infos[env.agent_selection]["trace"][0][0]
    assert env.expert(env.agent_selection, 1.0).probabilities[round(4 * met)] == 1.0
    assert evaluate(ExpertAgent(1.0), ID, None, 4).value == spec(ID).refs["oracle"]


def test_survivors_are_the_better_half():
    assert survivors([3, 1, 2, 4]) == [3, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"players": 5}, "players=5 must be even"),
        ({"players": 4, "rounds": 5}, "rounds=5 must be at most"),
        ({"generations": 2}, "strategies: true"),
        ({"multiplier": 0.5}, "multiplier=0.5"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ConfigError, match=message):
        make(ID, **options)
