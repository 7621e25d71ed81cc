"""Reward modules alone, composed, and inside an environment."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coevo.envs
from coevo.envs.core.config import plain, read
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, DataError, UnknownNameError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import (
    REWARDS,
    Format,
    Gated,
    LengthPenalty,
    Reward,
    RewardModule,
    WeightedSum,
    reward_modules,
)


def reward(name, **params):
    return reward_modules([{"name": name, **params}])[0]


def weighted(parts, weights=(), **more):
    return WeightedSum(parts=parts, weights=weights, **more)


def gated(module, **more):
    return Gated(module=module, **more)


KUHN = "coevo/kuhn_poker-v0"
LEGAL, ILLEGAL, UNPARSABLE = Status.LEGAL, Status.ILLEGAL, Status.UNPARSABLE


def turn(text="[bet]", status=LEGAL, tokens=None, agent="player_0"):
    ids = None if tokens is None else [1] * tokens
    return Turn(agent, (), text, "bet", status, ("bet",), token_ids=ids)


def episode(*turns):
    return Episode(KUHN, 0, {}, ("player_0", "player_1"), turns=list(turns))


class Fixed(RewardModule):
    """Pays fixed amounts, counts its lessons, remembers a number."""

    range, version = (-1.0, 1.0), 0

    def __init__(self, name, paid, range=(-1.0, 1.0)):
        self.name, self.paid, self.range = name, paid, range
        self.memory = 0.0

    def score_turn(self, episode, turn):
        return dict(self.paid)

    def fit(self, episodes):
        self.version += 1
        self.memory = float(len(episodes))
        return {"loss": self.memory}

    def state_dict(self):
        return {"memory": self.memory, "version": self.version}

    def load_state_dict(self, state):
        self.memory, self.version = state["memory"], state["version"]


# ---- Format and length ------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "paid"), [(LEGAL, 0.05), (ILLEGAL, 0.0), (UNPARSABLE, 0.0)])
def test_format_pays_the_speaker_of_a_legal_reply(status, paid):
    given = turn(status=status, agent="player_1")
    assert Format().score_turn(episode(given), given) == {"player_1": paid}


def test_format_amounts_are_parameters():
    module = Format(legal=1.0, otherwise=-1.0)
    assert module.range == (-1, 1)
    assert module.score_turn(episode(), turn(status=ILLEGAL)) == {"player_0": -1}
    assert Format().range == (0, 0.05)
    assert Format().per_turn


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (0, 0.0),
        (2048, 0.0),
        (2049, -0.5 / 2037),
        (2048 + 2037, -0.5),
        (4096, -0.5 * 2048 / 2037),
        (9999, -0.5 * 2048 / 2037),
    ],
)
def test_length_follows_the_formula_of_marshal(tokens, expected):
    """MARSHAL's released code: 0 up to 2048 tokens, else -0.5 (n - 2048) / 2037."""
    module = LengthPenalty()
    assert module.score_turn(episode(), turn(tokens=tokens)) == {
        "player_0": pytest.approx(expected)
    }
    assert module.range == (pytest.approx(-0.5 * 2048 / 2037), 0)
    assert str(module.charge(0)) == "0.0", "minus zero looks like a charge in a table"


def test_length_in_tokens_waits_for_the_record():
    module = LengthPenalty(free=1, span=1, longest=9)
    assert not module.per_turn
    assert module.score_turn(episode(), turn(tokens=None)) == {}, "a scripted player has no tokens"


def test_length_in_characters_is_charged_during_play():
    module = LengthPenalty(unit="characters", free=3, span=10, weight=1.0, longest=5)
    assert module.per_turn
    assert [module.charge(n) for n in (3, 4, 5, 6)] == [0, -0.1, -0.2, -0.2]
    assert module.score_turn(episode(), turn("下注 🙂x")) == {"player_0": -0.2}


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.floats(-3, 3))
def test_charges_keep_to_their_range_and_order(short, long, weight):
    module = LengthPenalty(weight=weight)
    short, long = sorted((short, long))
    low, high = module.range
    assert low <= module.charge(long) <= high
    assert abs(module.charge(short)) <= abs(module.charge(long))


@pytest.mark.parametrize(
    "params",
    [{"unit": "words"}, {"span": 0}, {"free": -1}, {"free": 10, "longest": 9}],
)
def test_length_refuses_what_makes_no_sense(params):
    with pytest.raises(ConfigError, match=str(next(iter(params)))):
        LengthPenalty(**params)


def test_a_table_has_a_row_for_every_turn():
    plays = [episode(turn(), turn(status=ILLEGAL, agent="player_1")), episode()]
    assert Format().table(plays) == [[{"player_0": 0.05}, {"player_1": 0.0}], []]


# ---- The base class ---------------------------------------------------------------------------


def test_a_module_without_a_score_says_so():
    with pytest.raises(NotImplementedError, match="RewardModule must define one score"):
        RewardModule().table([episode(turn())])


def test_a_module_that_does_not_learn_has_nothing_to_keep():
    module = Format()
    assert module.fit([episode()]) == {}
    assert module.state_dict() == {}
    module.load_state_dict({})
    assert module.version == 0


# ---- Composition ------------------------------------------------------------------------------


def test_a_sum_weighs_its_parts():
    parts = [Fixed("a", {"player_0": 1.0}), Fixed("b", {"player_0": 0.5, "player_1": 2.0})]
    module = weighted(parts, [2, -1])
    assert module.score_turn(episode(), turn()) == {"player_0": 1.5, "player_1": -2.0}
    assert module.component == "sum"
    assert weighted(parts, component="shaping").component == "shaping"
    assert weighted(parts).combine([{"a_0": 1}, {"a_0": 2}]) == {"a_0": 3}


def test_the_range_of_a_sum_follows_the_weights():
    parts = [Fixed("a", {}, range=(0, 1)), Fixed("b", {}, range=(-2, 3))]
    assert weighted(parts, [2, -1]).range == (-3, 4)
    assert weighted(parts).range == (-2, 4)


@pytest.mark.parametrize(
    ("parts", "weights"),
    [([], ()), ([Format(), Format()], ()), ([Format()], [1, 2])],
)
def test_a_sum_refuses_what_it_cannot_add(parts, weights):
    with pytest.raises(ConfigError, match=r"one part or more|parts need one each"):
        weighted(parts, weights)


def test_a_gate_pays_only_where_the_other_module_pays_enough():
    module = gated(
        LengthPenalty(unit="characters", free=0, span=1, weight=1.0),
        when=Format(),
        least=0.05,
    )
    assert module.component == "length_penalty"
    assert module.score_turn(episode(), turn("abc")) == {"player_0": -3}
    assert module.score_turn(episode(), turn("abc", status=ILLEGAL)) == {"player_0": 0}
    assert module.range == (-4096, 0)


def test_a_gate_is_shut_for_those_its_condition_does_not_pay():
    paid = Fixed("a", {"player_0": 1.0, "player_1": 1.0, "player_2": 1.0}, range=(0.5, 1))
    condition = Fixed("b", {"player_0": 0.3, "player_1": 0.2})
    module = gated(paid, when=condition, least=0.3, component="gated")
    assert module.score_turn(episode(), turn()) == {"player_0": 1, "player_1": 0, "player_2": 0}
    assert module.component == "gated"
    assert module.range == (0, 1)


def test_one_offline_part_makes_the_whole_offline():
    assert weighted([Format(), LengthPenalty(unit="characters")]).per_turn
    assert not weighted([Format(), LengthPenalty()]).per_turn
    assert not gated(Format(), when=LengthPenalty(), least=0).per_turn


def test_batch_scores_equal_turn_scores():
    plays = [episode(turn(tokens=3000), turn(status=ILLEGAL, tokens=5)), episode(turn(tokens=1))]
    for module in (
        weighted([Format(), LengthPenalty()], [2, 3]),
        gated(LengthPenalty(), when=Format(), least=0.05),
        weighted([gated(Format(), when=LengthPenalty(), least=0), LengthPenalty()]),
    ):
        assert module.table(plays) == [[module.score_turn(e, t) for t in e.turns] for e in plays]


def test_parts_learn_and_are_saved():
    module = weighted([Fixed("a", {}), gated(Fixed("b", {}), when=Format(), least=0)])
    assert module.version == 0
    metrics = module.fit([episode(), episode()])
    assert metrics == {"a/loss": 2, "b/b/loss": 2}
    assert module.version == 2
    other = weighted([Fixed("a", {}), gated(Fixed("b", {}), when=Format(), least=0)])
    other.load_state_dict(module.state_dict())
    assert other.state_dict() == module.state_dict()
    assert other.version == 2
    with pytest.raises(DataError, match="not 'a'"):
        other.load_state_dict({"c": {}})


# ---- In an environment ------------------------------------------------------------------------


def play(env, *replies, seed=0):
    env.reset(seed=seed)
    paid = []
    for reply in replies:
        env.step(reply)
        paid.append(dict(env.rewards))
    return paid


def test_online_modules_are_components_and_rewards_their_sum():
    length = LengthPenalty(unit="characters", free=7, span=10, weight=1.0)
    env = coevo.envs.make(KUHN, rewards=[Format(), length])
    paid = play(env, "I pass: [check]", "[check]")
    first, second = env.episode.turns
    assert first.rewards["format"] == {"player_0": 0.05}
    assert first.rewards["length_penalty"] == {"player_0": pytest.approx(-0.8)}
    assert second.rewards["format"] == {"player_1": 0.05}
    assert paid[0] == {"player_0": pytest.approx(-0.75), "player_1": 0}
    payoff = second.rewards["payoff"]
    assert paid[1] == {"player_0": payoff["player_0"], "player_1": payoff["player_1"] + 0.05}
    assert env.episode.outcome["return/player_1"] == payoff["player_1"], "the rules' payoff alone"
    assert env.episode.total("player_0") == pytest.approx(payoff["player_0"] - 0.75)


def test_a_retry_earns_no_format_reward():
    env = coevo.envs.make(KUHN, rewards=[Format()], illegal="textarena")
    play(env, "hm", "[check]")
    assert [t.rewards["format"] for t in env.episode.turns] == [{"player_0": 0}, {"player_0": 0.05}]


def test_a_forfeit_pays_the_penalty_and_no_format_reward():
    """MARSHAL: -1 - 10 for the offender, 0 for the other seat, no bonus."""
    env = coevo.envs.make(KUHN, rewards=[Format()], illegal="marshal")
    assert play(env, "hm") == [{"player_0": -11, "player_1": 0}]


@pytest.mark.parametrize("name", ["", "payoff", "illegal", "format"])
def test_names_are_unique_and_some_are_reserved(name):
    with pytest.raises(ConfigError, match="is empty, repeated or reserved"):
        coevo.envs.make(KUHN, rewards=[Format(), Fixed(name, {})])


def test_pettingzoo_accumulates_shaping_until_the_seat_is_asked_again():
    env = coevo.envs.make(KUHN, rewards=[Fixed("all", {"player_0": 1.0, "player_1": 0.25})])
    play(env, "[check]", "[bet]")
    assert env.agent_selection == "player_0"
    assert env.last()[1] == 2.0


def test_what_a_seat_was_told_is_not_told_again():
    module = Fixed("all", {"player_0": 1.0, "player_1": 0.25})
    env = coevo.envs.make("coevo/openspiel-v0", game="nim", rewards=[module])
    env.reset(seed=0)
    told = []
    while env.awaiting and len(told) < 4:
        told.append((env.agent_selection, env.last()[1]))
        env.step(f"[{env.infos[env.agent_selection]['legal_actions'][0]}]")
    assert told == [("player_0", 0), ("player_1", 0.25), ("player_0", 2), ("player_1", 0.5)]


def test_modules_travel_with_the_environment():
    env = coevo.envs.make(KUHN, rewards=[weighted([Format()], [2])])
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert play(other, "[check]") == play(env, "[check]") == [{"player_0": 0.1, "player_1": 0}]


NEED_MORE = {"weighted_sum", "gated", "formula", "written", "policy_discriminator"}
"""Modules that mean nothing without others, a formula, a program or a file of episodes."""
NAMED = sorted(n for n in REWARDS.keys() - NEED_MORE if not REWARDS[n]().roles_asked)


# ---- The table --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMED)
def test_every_named_module_is_ready_to_use(name):
    module = reward(name)
    assert type(module) is REWARDS[name]
    assert module.component.startswith("payoff" if name == "shared_payoff" else name)
    assert module.range[0] <= module.range[1]
    table = module.table([episode(turn(tokens=5000), turn(status=ILLEGAL, tokens=1))])
    assert all(module.range[0] <= r <= module.range[1] for row in table[0] for r in row.values())


def test_parameters_are_passed_on():
    assert reward("format", legal=0.2).legal == 0.2


def test_unknown_names_and_parameters_list_the_near_ones():
    with pytest.raises(
        UnknownNameError,
        match=r"unknown reward module 'length_penalt'; did you mean 'length_penalty'",
    ):
        reward("length_penalt")
    with pytest.raises(UnknownNameError, match="'weigth'; did you mean 'weight'"):
        reward("length_penalty", weigth=1)


def test_compositions_are_named_in_a_tree():
    (module,) = reward_modules(
        [
            {
                "name": "gated",
                "module": {
                    "name": "weighted_sum",
                    "parts": ["format", "shared_payoff"],
                    "weights": [2, 0],
                },
                "when": {"name": "format", "legal": 1.0},
                "least": 1,
                "component": "both",
            }
        ]
    )
    assert module.component == "both" and module.module.weights == (2.0, 0.0)
    assert read(Reward, json.loads(json.dumps(plain(module)))) == module
    with pytest.raises(UnknownNameError, match="'formt'; did you mean 'format'"):
        reward("weighted_sum", parts=["formt"])
