import itertools

import numpy as np
import pytest

from coevo.agents import SCRIPTED, RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.metrics import metric
from coevo.envs import make, spec
from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import ConfigError
from coevo.envs.dilemmas.split import beats, split_payoff

ID = "coevo/trust_and_split-v0"


def started(seed=0, **options):
    env = make(ID, **options)
    env.reset(seed=seed)
    return env


def finish(env, claim=lambda env, agent: 5, say="<message>hello</message>"):
    while env.awaiting:
        agent = env.agent_selection
        speaks = env.infos[agent]["legal_actions"] is None
        env.step(say if speaks else f"[{claim(env, agent)}]")
    return env


def upper(env, agent):
    first, second = env.task.hands[env.task.round]
    return beats(first, second) if agent == "player_0" else beats(second, first)


# ---- Rules ------------------------------------------------------------------------------------


def test_hands_differ_and_either_seat_may_be_upper():
    seen, wins = set(), []
    for seed in range(60):
        env = started(seed)
        assert len(env.task.hands) == 10
        for first, second in env.task.hands:
            assert first != second
            seen.add((first, second))
            wins.append(beats(first, second))
    assert len(seen) == 6
    assert np.mean(wins) == pytest.approx(0.5, abs=0.08)


def test_the_own_hand_does_not_tell_who_is_upper():
    table = {}
    for seed in range(200):
        for first, second in started(seed).task.hands:
            table.setdefault(first, []).append(beats(first, second))
    assert all(np.mean(wins) == pytest.approx(0.5, abs=0.08) for wins in table.values())


def test_equal_seeds_have_equal_hands_whatever_is_said():
    env, other = started(3, illegal="random"), started(3, illegal="random")
    finish(env)
    while other.awaiting:
        other.step("no claim at all")  # draws random moves from the same generator
    assert env.task.hands == other.task.hands and env.task.starter == other.task.starter


def test_the_upper_hand_may_alternate():
    first = []
    for seed in range(20):
        env = started(seed, alternate=True)
        uppers = [env.task._worth(r)[0] == 10 for r in range(10)]
        assert all(a != b for a, b in itertools.pairwise(uppers))
        assert all(a != b for a, b in env.task.hands)
        first.append(uppers[0])
    assert 0 < sum(first) < 20


def test_claims_are_paid_by_the_rule_and_messages_pay_nothing():
    rng = np.random.default_rng(0)
    claims = rng.integers(11, size=(10, 2))
    env = finish(started(1), lambda env, a: claims[env.task.round][env.possible_agents.index(a)])
    worth = [(10, 1) if beats(*hands) else (1, 10) for hands in env.task.hands]
    wanted = split_payoff(claims, worth)
    turns = env.episode.turns
    for number in range(10):
        own = [t for t in turns if t.round == number]
        assert [t.notes["phase"] for t in own] == ["message", "message", "choice", "choice"]
        paid = [sum(t.rewards.get("payoff", {}).values()) for t in own]
        assert paid[:3] == [0, 0, 0]
        assert list(own[3].rewards["payoff"].values()) == pytest.approx(wanted[number])
    assert env.episode.outcome["mean_reward"] == pytest.approx(wanted.mean())
    assert env.episode.outcome["efficiency"] == pytest.approx(wanted.sum() / 1000)


def test_metrics_of_named_plays():
    honest = finish(started(), lambda env, a: 10 if upper(env, a) else 0).episode.outcome
    assert honest["efficiency"] == 1 and honest["mean_reward"] == 50
    assert honest["claim_high"] == 10 and honest["claim_low"] == 0
    greedy = finish(started(), lambda env, a: 10).episode.outcome
    assert greedy["efficiency"] == pytest.approx(0.55)
    waste = finish(started(), lambda env, a: 0).episode.outcome
    assert waste["efficiency"] == 0


def test_the_starter_is_drawn_and_alternates():
    firsts = set()
    for seed in range(12):
        env = started(seed, rounds=4)
        starters = []
        while env.awaiting:
            if env.task.phase == "message" and not env.task.said:
                starters.append(env.agent_selection)
            env.step("hello" if env.task.phase == "message" else "[5]")
        assert starters[0] != starters[1] == starters[3] != starters[2]
        firsts.add(starters[0])
    assert len(firsts) == 2


# ---- What a seat sees -------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["full", "terse"])
def test_a_seat_sees_its_own_hand_and_never_the_others(style):
    for seed in range(10):
        env = started(seed, prompt_style=style)
        while env.awaiting:
            agent = env.agent_selection
            own, other = env.task.hands[env.task.round][:: 1 if agent == "player_0" else -1]
            now = [m["content"] for m in env.chat(agent) if m["role"] != "system"]
            if env.task.phase == "message":
                assert own in now[-1] and other not in now[-1]
            info = env.infos[agent]
            assert info["hand"] == own and "hands" not in info
            assert other not in str({k: v for k, v in info.items() if k != "messages"})
            env.step("hello" if env.task.phase == "message" else "[5]")


def test_public_hands_are_shown_to_both():
    env = started(public=True, messages=False)
    for agent in env.possible_agents:
        text = env.chat(agent)[-1]["content"]
        assert all(hand in text for hand in env.task.hands[0])
        assert f"you have the {'upper' if upper(env, agent) else 'lower'} hand" in text
        assert env.infos[agent]["hands"] == list(env.task.hands[0])
    terse = started(public=True, messages=False, prompt_style="terse")
    for agent in terse.possible_agents:
        mine, theirs = (10, 1) if upper(terse, agent) else (1, 10)
        text = terse.chat(agent)[-1]["content"]
        assert f"worth {mine} to you, {theirs} to other" in text


def test_the_next_prompt_says_who_was_upper_and_what_was_claimed():
    for style in ("full", "terse"):
        env = started(5, prompt_style=style)
        was = {a: upper(env, a) for a in env.possible_agents}
        for text in ("hello", "hello", "[7]", "[2]"):
            env.step(text)
        agent = env.agent_selection
        own, other = (7, 2) if agent == "player_0" else (2, 7)
        text = env.chat(agent)[-1]["content"]
        if style == "terse":
            assert f"Last: {'won' if was[agent] else 'lost'} {own}, other {other}." in text
        else:
            assert f"You claimed {own}, " in text and f"claimed {other};" in text
            who = "you had the upper hand" if was[agent] else "and you the lower one"
            assert who in text


def test_the_second_speaker_reads_the_first():
    env = started()
    first, second = env.agent_selection, env.task.others(env.agent_selection)[0]
    env.step(f"[say: I have {env.infos[first]['hand']}.]")
    assert f'{first} said: "I have ' in env.chat(second)[-1]["content"]


def test_claims_are_read_in_both_forms():
    env = started(messages=False, rounds=1)
    env.step("<proposal> 7 </proposal>")
    env.step("Half. [5]")
    assert env.task.history[0]["claims"] == [7, 5]


def test_terse_prompts_are_short():
    tokenizers = pytest.importorskip("transformers")
    from coevo.agents.models.folders import STARTER_MODEL

    count = tokenizers.AutoTokenizer.from_pretrained(STARTER_MODEL)
    for env_id in (ID, "coevo/iterated_game-v0"):
        env = make(env_id, prompt_style="terse")
        env.reset(seed=0)
        while env.awaiting:
            info = env.infos[env.agent_selection]
            assert len(count(env.chat(env.agent_selection)[-1]["content"])["input_ids"]) <= 70
            says = f"[say: I have {info.get('hand')}.]"
            env.step(says if info["legal_actions"] is None else f"[{info['legal_actions'][-1]}]")


# ---- Options ----------------------------------------------------------------------------------


def test_options_are_recorded_and_make_the_same_task():
    options = {
        "rounds": 3,
        "coins": 20,
        "values": [5.0, 2.0],
        "claims": [0, 10, 20],
        "alternate": True,
        "public": True,
        "messages": False,
        "unparsable": "0",
    }
    env = started(4, **options)
    assert {k: env.episode.options[k] for k in options} == options
    assert env.payoff_range == (0, 300)
    again = make(ID, **env.episode.options)
    again.reset(seed=4)
    assert again.task.hands == env.task.hands
    assert finish(again, lambda e, a: 20).episode.outcome["efficiency"] == pytest.approx(0.7)


def test_a_reply_without_a_claim_may_count_as_nothing():
    env = started(messages=False, rounds=1, unparsable=0)
    env.step("all of it")
    env.step("all of it")
    env.step("[10]")
    assert env.episode.stop is StopReason.FINISHED
    assert env.task.history[0]["claims"] == [0, 10]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coins": 0}, "coins=0"),
        ({"coins": 2.5}, "coins=2.5"),
        ({"values": [10]}, "values"),
        ({"values": [1, 10]}, "values"),
        ({"values": "a,b"}, "values"),
        ({"claims": [5]}, "claims"),
        ({"claims": [0, 11]}, "claims"),
        ({"claims": [5, 0]}, "claims"),
        ({"claims": ["a", "b"]}, "claims"),
        ({"claims": 7}, "claims=7"),
        ({"alternate": 1}, "alternate=1"),
        ({"messages": "no"}, "messages='no'"),
        ({"unparsable": "11"}, "unparsable='11'"),
    ],
)
def test_bad_arguments_say_what_is_right(options, message):
    with pytest.raises(ConfigError, match=message):
        make(ID, **options)


# ---- References -------------------------------------------------------------------------------


def test_references():
    refs = spec(ID).refs
    claims = np.stack(np.meshgrid(np.arange(11), np.arange(11), indexing="ij"), axis=-1)
    assert refs["random"] == pytest.approx(10 * split_payoff(claims, [10, 1]).mean())
    assert refs["oracle"] == 10 * split_payoff(claims, [10, 1]).sum(axis=-1).max() / 2
    found = evaluate(RandomAgent(), ID, None, games=50)
    assert found.value == pytest.approx(refs["random"], abs=25)
    assert metric(ID).measure(SCRIPTED["welfare_max"](), 4).normalised == 1
    with pytest.raises(ConfigError, match="no reference"):
        metric(ID, {"messages": False}).normalised(1.0)
