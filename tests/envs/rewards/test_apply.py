"""Who applies reward modules and when; what they give is checked; a misfit is said."""

import copy

import gymnasium
import numpy as np
import pettingzoo
import pytest

import coevo.envs
from coevo.envs.bridges.vector import vector_env
from coevo.envs.core.apply import apply_batch, apply_turn
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError, DataError, UnknownNameError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import Format, Gated, LengthPenalty, RewardModule, WeightedSum


def weighted(parts, weights=(), **more):
    return WeightedSum(parts=parts, weights=weights, **more)


def gated(module, **more):
    return Gated(module=module, **more)


KUHN = "coevo/kuhn_poker-v0"
SEATS = ("player_0", "player_1")


def turn(agent="player_0", **fields):
    return Turn(agent, (), "[bet]", "bet", Status.LEGAL, ("bet",), **fields)


def episode(*turns, stop=StopReason.FINISHED, env=KUHN):
    return Episode(env, 0, {}, SEATS, "t", list(turns), stop)


class Judge(RewardModule):
    """Pays the seats for the first reply and the last one, after the play."""

    name, range, per_turn = "judge", (0.0, 2.0), False

    def table(self, episodes):
        tables = [[{} for _ in e.turns] for e in episodes]
        for table in tables:
            table[0]["player_0"] = 0.5
            table[-1]["player_1"] = 2.0
        return tables


class Late(RewardModule):
    """Pays 1 to whoever spoke two replies ago, once this one shows that it was worth it."""

    def __init__(self, name="late", amount=1.0, now=None):
        self.name, self.amount, self.now = name, amount, now

    def score_turn(self, episode, turn):
        return {} if self.now is None else {turn.agent: self.now}

    def score_earlier(self, episode, turn):
        at = next(i for i, t in enumerate(episode.turns) if t is turn) - 2
        return {at: {episode.turns[at].agent: self.amount}} if at >= 0 else {}


class Gives(RewardModule):
    """Pays what it is told to."""

    name, per_turn = "gives", True

    def __init__(self, paid, earlier=None, table=None, per_turn=True):
        self.per_turn = per_turn
        self.paid, self.earlier, self.given = paid, earlier or {}, table

    def score_turn(self, episode, turn):
        return self.paid

    def score_earlier(self, episode, turn):
        return self.earlier

    def table(self, episodes):
        return super().table(episodes) if self.given is None else self.given


# ---- In everybody's hands -----------------------------------------------------------------------


def finish(env, seed=3):
    """Play the first legal move to the end; give what PettingZoo told every seat in all."""
    env.reset(seed=seed)
    told = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        told[agent] += reward
        env.step(None if terminated or truncated else f"[{info['legal_actions'][0]}]")
    return told


def test_what_waits_for_the_end_is_paid_there_to_the_replies_that_earned_it():
    env = pettingzoo.make("aec", KUHN, rewards=[Judge(), Format()])
    told = finish(env)
    played = env.unwrapped.episode
    assert [t.rewards["judge"] for t in played.turns] == [{"player_0": 0.5}, {"player_1": 2.0}]
    assert told == {a: pytest.approx(played.total(a)) for a in SEATS}
    assert played.outcome["return/player_1"] == played.total("player_1", "payoff")
    assert abs(played.total("player_1") - played.outcome["return/player_1"] - 2.05) < 1e-12


def test_a_play_that_is_given_up_is_not_scored():
    env = coevo.envs.make(KUHN, rewards=[Judge()])
    env.reset(seed=0)
    env.step("[check]")
    env.abandon("the server is down")
    assert "judge" not in env.episode.turns[0].rewards


@pytest.mark.parametrize("parallel", [False, True])
def test_simultaneous_games_are_told_the_same(parallel):
    kind = "parallel" if parallel else "aec"
    env = pettingzoo.make(kind, "coevo/goofspiel-v0", rewards=[Judge(), Late()])
    if not parallel:
        told, played = finish(env), env.unwrapped.episode
    else:
        env.reset(seed=3)
        told = dict.fromkeys(env.possible_agents, 0.0)
        infos = env.unwrapped.infos
        while env.agents:
            moves = {a: f"[{infos[a]['legal_actions'][0]}]" for a in env.agents}
            _, rewards, _, _, infos = env.step(moves)
            told = {a: r + rewards[a] for a, r in told.items()}
        played = env.unwrapped.episode
    late = [t.rewards["late"].get(t.agent, 0.0) for t in played.turns]
    assert late == [1.0] * (len(late) - 2) + [0.0, 0.0]
    assert told == {a: pytest.approx(played.total(a)) for a in env.possible_agents}


def test_one_seat_in_gymnasium_is_told_the_same():
    env = gymnasium.make(KUHN, rewards=["format", Judge()], disable_env_checker=True)
    _, info = env.reset(seed=5)
    done, told = False, 0.0
    while not done:
        legal = info["legal_actions"]
        _, reward, ended, cut, info = env.step(f"[{legal[0]}]")
        told, done = told + reward, ended or cut
    played = env.unwrapped.env.episode
    assert told == pytest.approx(played.total("player_0"))
    assert played.total("player_0", "judge") == 0.5
    assert played.total("player_0", "format") > 0


def test_the_view_of_numbers_is_told_the_same():
    env = vector_env(KUHN, seat=1, rewards=[Judge()])
    env.reset(seed=5)
    done, told = False, 0.0
    while not done:
        _, reward, ended, cut, _ = env.step(int(np.flatnonzero(env.action_masks())[0]))
        told, done = told + reward, ended or cut
    assert told == pytest.approx(env.env.episode.total("player_1"))
    assert env.env.episode.total("player_1", "judge") == 2.0


def test_trainers_are_left_the_modules_that_score_whole_batches():
    env = coevo.envs.make(KUHN, rewards=[Judge(), "format"])
    env.applies_batch_rewards = False
    for one in (env, copy.deepcopy(env)):
        played = one.fresh()
        finish(played)
        assert all(set(t.rewards) <= {"format", "payoff"} for t in played.episode.turns)


def test_a_second_play_is_paid_like_the_first():
    env = coevo.envs.make(KUHN, rewards=[Judge(), Late(now=0.25)])
    first = finish(env, seed=1)
    assert finish(env, seed=2) != {} and finish(env, seed=1) == first


# ---- Rewards that are decided later -------------------------------------------------------------


def online(module, turns):
    """Return the table that an environment writes, reply by reply."""
    played = episode(stop=StopReason.UNFINISHED)
    for one in turns:
        played.turns.append(one)
        apply_turn([module], played, one)
    return [
        {a: pytest.approx(r) for a, r in t.rewards[module.component].items()} for t in played.turns
    ]


COMPOSED = {
    "sum": lambda: weighted([Late(), Format(), Late("b", 0.5, 0.125)], [2.0, 1.0, -1.0]),
    "gate on late": lambda: gated(Late("a", 1.0, 0.5), when=Late("w", 1.0, 0.25), least=1.0),
    "late behind a gate": lambda: gated(Late("a", 1.0), when=Format(), least=0.05),
    "now behind a late gate": lambda: gated(Format(), when=Late("w", 1.0), least=0.5),
    "nested": lambda: weighted(
        [gated(Late("a", -2.0, 0.5), when=Late("w", 0.5, 0.5), least=0.75), Late("c")], [3.0, 1.0]
    ),
}


@pytest.mark.parametrize("which", COMPOSED)
def test_compositions_pay_later_what_their_parts_pay_later(which):
    """Paid reply by reply, a composition comes to what it pays for the finished play."""
    module = COMPOSED[which]()
    turns = [turn(a) for a in ("player_0", "player_1", "player_0", "player_0", "player_1")]
    expected = module.table([episode(*copy.deepcopy(turns))])[0]
    assert online(module, turns) == expected
    assert any(any(paid.values()) for paid in expected)


def test_a_late_reward_opens_a_gate():
    module = gated(Format(legal=2.0), when=Late("w", 1.0), least=0.5)
    turns = [turn() for _ in range(3)]
    assert online(module, turns) == [{"player_0": 2.0}, {"player_0": 0.0}, {"player_0": 0.0}]


# ---- What they give is checked ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Gives({"player_7": 1.0}), "'gives' rewards 'player_7'; the agents are player_0, player_1"),
        (Gives({"player_0": float("nan")}), "gives nan; rewards must be finite"),
        (Gives({"player_0": float("inf")}), "gives inf; rewards must be finite"),
        (Gives({"player_0": None}), "gives None, which is no number"),
        (Gives({"player_0": "1"}), "gives '1', which is no number"),
        (Gives({}, {7: {"player_0": 1.0}}), "rewards an earlier reply number 7; this is number 0"),
        (Gives({}, {0: {"player_0": 1.0}}), "rewards an earlier reply number 0; this is number 0"),
        (Gives({}, {-1: {"player_0": 1.0}}), "rewards an earlier reply number -1"),
        (Gives({}, table=[[]], per_turn=False), "one entry for each reply"),
        (Gives({}, table=[], per_turn=False), "one entry for each reply"),
        (Gives({"x": 1.0}, per_turn=False), "rewards 'x'; the agents are"),
    ],
)
def test_a_module_that_pays_nonsense_is_named(module, message):
    env = coevo.envs.make(KUHN, rewards=[module])
    with pytest.raises(DataError, match=message):
        finish(env)


@pytest.mark.parametrize("number", [np.float32(0.5), np.int64(2), True, np.array(0.5)])
def test_numbers_of_other_kinds_are_numbers(number):
    env = coevo.envs.make(KUHN, rewards=[Gives({"player_0": number})])
    finish(env)
    paid = [t.rewards["gives"]["player_0"] for t in env.episode.turns]
    assert paid == [float(number)] * 2 and all(type(r) is float for r in paid)


def test_no_plays_are_paid_nothing():
    assert apply_batch([Judge(), Format()], []) == []


# ---- How modules are named to an environment ----------------------------------------------------


def test_names_and_mappings_make_modules():
    env = pettingzoo.make(
        "aec",
        KUHN,
        rewards=[
            "format",
            {"name": "length_penalty", "unit": "characters", "free": 3, "span": 1, "weight": 1},
            weighted([Format(legal=1.0)], component="more"),
        ],
    ).unwrapped
    finish(env)
    assert env.episode.turns[0].rewards["format"] == {"player_0": 0.05}
    assert env.episode.turns[0].rewards["length_penalty"] == {"player_0": 3.0 - len("[check]")}
    assert env.episode.turns[0].rewards["more"] == {"player_0": 1.0}


def test_every_environment_has_modules_of_its_own_by_name():
    one, other = (coevo.envs.make(KUHN, rewards=["format"]) for _ in range(2))
    assert one.reward_modules[0] is not other.reward_modules[0]
    module = Format()
    assert coevo.envs.make(KUHN, rewards=[module]).reward_modules[0] is module


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["formt"], UnknownNameError, "did you mean 'format'"),
        (["format", "formt"], UnknownNameError, "did you mean 'format'"),
        ([{"name": "format", "leagl": 1}], UnknownNameError, "did you mean 'legal'"),
        ([{"legal": 1}], ConfigError, "must be a name, or a mapping with one"),
        ([{"name": 3}], ConfigError, "must be a name, or a mapping with one"),
        ([{"name": "format", 3: 1}], ConfigError, "Keys should be strings"),
        ([None], ConfigError, "None must be a name, or a mapping with one"),
        ([Format], ConfigError, "must be a name, or a mapping with one"),
        ("format", ConfigError, "rewards='format' must be"),
        (None, ConfigError, "rewards=None must be"),
        (7, ConfigError, "rewards=7 must be"),
        (["format", "format"], ConfigError, "is empty, repeated or reserved"),
        (
            [{"name": "length_penalty", "free": "x"}],
            ConfigError,
            "free='x' must be a valid integer",
        ),
        ([LengthPenalty(), {"name": "length_penalty"}], ConfigError, "repeated"),
    ],
)
def test_what_names_no_module_is_refused_when_the_environment_is_made(given, error, message):
    for make in (lambda **k: coevo.envs.make(KUHN, **k), lambda **k: gymnasium.make(KUHN, **k)):
        with pytest.raises(error, match=message):
            make(rewards=given)


# ---- With environments that say more about a reply ----------------------------------------------


def debate(*modules, seed=2, replies=None, **options):
    """Let three debaters answer twice; the digits in `replies` are their answers in order."""
    env = pettingzoo.make("aec", "coevo/debate-v0", rewards=list(modules), **options)
    env.reset(seed=seed)
    said = iter(replies or "770770")
    told = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, ended, cut, _ = env.last()
        told[agent] += reward
        env.step(None if ended or cut else f"I say [{next(said)}]")
    played = env.unwrapped.episode
    assert told == {a: pytest.approx(played.total(a)) for a in told}
    return played


def right_and_wrong(seed=2):
    """Return the digit that is right in that play, and one that is wrong."""
    played = [debate("verifier", seed=seed, replies=str(d) * 6) for d in range(10)]
    (right,) = (d for d, p in enumerate(played) if p.total("debater_0", "verifier") == 2.0)
    return str(right), str((right + 1) % 10)


def column(played, name):
    return [t.rewards[name].get(t.agent) for t in played.turns]


def test_a_debate_with_reward_modules_from_plain_pettingzoo():
    right, wrong = right_and_wrong()
    said = [right, wrong, wrong, right, right, wrong]
    modules = [
        "verifier",
        "margin",
        "quality",
        "majority",
        {"name": "shared_payoff", "share": "team"},
    ]
    played = debate(*modules, replies=said)
    assert column(played, "verifier") == [1.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    assert column(played, "margin")[:3] == [1.0, 0.0, 0.0]
    assert column(played, "margin")[3:] == [
        pytest.approx(1.0 + 0.5 * 2 / 3),
        pytest.approx(1.0 + 0.5 * 2 / 3),
        pytest.approx(-0.5 / 3),
    ]
    assert column(played, "quality")[3:] == [
        pytest.approx(1.0 + 0.5 / 3),
        pytest.approx(1.0 + 0.5 / 3),
        pytest.approx(-0.5 * 2 / 3),
    ]
    assert column(played, "majority") == [0.5] * 6, "three against three"
    assert played.turns[-1].rewards["payoff"] == {"debater_0": 1, "debater_1": 1, "debater_2": 0}
    team = played.turns[-1].rewards["payoff_team"]
    assert team == dict.fromkeys(played.agents, pytest.approx(2 / 3))


def test_a_debate_may_be_paid_by_its_own_vote():
    right, wrong = right_and_wrong()
    last = {"name": "majority", "over": "episode", "last_only": True}
    played = debate(last, replies=[right, right, right, wrong, wrong, right])
    assert column(played, "majority") == [None, None, None, 1.0, 1.0, 0.0], "agreement, not truth"


def test_a_debate_in_gymnasium_is_told_the_same():
    env = gymnasium.make(
        "coevo/debate-v0", rewards=["verifier", "majority"], disable_env_checker=True
    )
    env.reset(seed=2)
    done, told = False, 0.0
    while not done:
        _, reward, ended, cut, _ = env.step("[4]")
        told, done = told + reward, ended or cut
    played = env.unwrapped.env.episode
    assert told == pytest.approx(played.total("debater_0"))
    assert {"verifier", "majority"} <= set(played.turns[0].rewards)
