"""Whatever a play holds and whoever configures them: modules keep their promises.

Promises: 1 a table has one entry per reply and pays seats of the play finite amounts within the
declared range; 2 scoring changes nothing and gives the same again; 3 what is paid reply by reply
is what is paid for the finished play; 4 odd arguments are refused with a message, or work.
"""

import copy
import math
from dataclasses import asdict, fields

import numpy as np
import pettingzoo
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import coevo.envs
from coevo.envs.core.apply import apply_batch, apply_turn
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import REWARDS, Gated, WeightedSum, reward_modules


def reward(name, **params):
    return reward_modules([{"name": name, **params}])[0]


def weighted(parts, weights=(), **more):
    return WeightedSum(parts=parts, weights=weights, **more)


def gated(module, **more):
    return Gated(module=module, **more)


SEATS = ("solver_0", "solver_1", "evaluator_0", "scorer_0")
ROLES = ("solver", "evaluator", "scorer", "", "judge")
WIDE = 1e-6
"""Sums of floats in another order."""
slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=25)

NASTY = ["", "[bet]", "\ud83d", "\x00", "<think>", "search(q=x)", "9" * 400, "1/0", "calc(e=[1, 2"]
ANSWERS = ["1", "2", "3", "right", "wrong", "7", "7.0", "-1/2", "1" * 50, " ", "\\frac{1}{2}"]
TASKS = ["", "q", "r", '{"calls": ["calc(e=1)"]}', '{"calls": ["calc(e=1)", "stop()"]}', "{}", "{"]
CHARACTERS = "ab[](){}<>='\"\\, 1.é下🙂\n"


class Drawn:
    """Odd episodes by number: drawn in microseconds, where hypothesis takes tenths of a second."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def one(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def text(self):
        drawn = "".join(self.rng.choice(list(CHARACTERS), int(self.rng.integers(12))))
        return self.one(drawn, self.one(*NASTY))

    def turn(self, place):
        made = Turn(
            agent=self.one(*SEATS),
            seen=tuple({"role": "user", "content": self.text()} for _ in range(self.one(0, 1, 2))),
            text=self.text(),
            move=self.one(None, self.text()),
            status=self.one(*Status),
            legal=self.one(None, ("bet",)),
        )
        made.role, made.player = self.one(*ROLES), self.one("", "policy", "frozen")
        made.round, made.about = self.one(-1, 0, 1, 2), int(self.rng.integers(-1, place))
        made.answer = self.one(None, self.one(*ANSWERS), self.text())
        made.verified = self.one(None, 0.0, 1.0, float(self.rng.random()))
        made.token_ids = self.one(None, [], [1, 2], [3] * 40)
        if self.one(False, True):
            made.pay("payoff", {self.one(*SEATS): float(self.rng.normal() * 1e3) for _ in "ab"})
        return made

    def episode(self):
        turns = [self.turn(i) for i in range(int(self.rng.integers(9)))]
        stop = self.one(*StopReason)
        return Episode(self.one("x", "y"), 0, {}, SEATS, self.one(*TASKS), turns, stop)

    def batch(self):
        return [self.episode() for _ in range(int(self.rng.integers(5)))]


seeds = st.integers(0, 2**32 - 1)
batches = seeds.map(lambda seed: Drawn(seed).batch())
episodes = seeds.map(lambda seed: Drawn(seed).episode())
texts = st.text(max_size=12) | st.sampled_from([*NASTY, *CHARACTERS, "solver", "own", "task"])
NAMES = sorted(
    name
    for name, kind in REWARDS.items()
    if not kind.__module__.startswith("coevo.trainers.")  # those learn, and have tests of their own
    and name not in ("weighted_sum", "gated", "formula", "written")
)
SPECS = [
    *NAMES,
    {"name": "shared_payoff", "share": "others", "scale": -0.5},
    {"name": "shared_payoff", "share": "own"},
    {"name": "verifier", "roles": ["solver"], "unanswered": -2, "last_only": True},
    {"name": "margin", "beta": 0.5, "history": "own"},
    {"name": "quality", "alpha": 3, "roles": ["solver", "judge"]},
    {"name": "majority", "over": "episode", "weights": "consistency", "least": 1},
    {"name": "majority", "ties": "first", "last_only": True},
    {"name": "majority", "label": "others", "least": 1},
    {"name": "token_cost", "payer": "team"},
    {"name": "length_penalty", "unit": "characters", "free": 0, "span": 3},
    {"name": "interaction", "ablate": "scoring"},
    {"name": "interaction", "ablate": "evaluation"},
    {"name": "semantic", "reference": "bet"},
    {"name": "regret", "designer": "scorer", "antagonist": "solver", "protagonist": "evaluator"},
    {"name": "tool_calls", "expected": "calc(e=1)"},
    {"name": "progress", "buckets": 8},
]


def made(spec):
    return reward_modules([spec])[0]


def check_table(module, plays, tables):
    assert [len(t) for t in tables] == [len(p.turns) for p in plays]
    low, high = module.range
    slack = WIDE * max(1.0, *(abs(x) for x in (low, high) if math.isfinite(x)), 1.0)
    for play, table in zip(plays, tables, strict=True):
        for paid in table:
            assert set(paid) <= set(play.agents)
            for amount in paid.values():
                assert math.isfinite(amount) and low - slack <= amount <= high + slack


def same(one, other):
    return [list(map(dict, t)) for t in one] == [list(map(dict, t)) for t in other]


@pytest.mark.parametrize("spec", SPECS, ids=str)
@slow
@given(batches)
def test_tables_keep_their_promises(spec, plays):
    module, before = made(spec), copy.deepcopy(plays)
    tables = module.table(plays)
    check_table(module, plays, tables)
    assert same(tables, module.table(plays)) and same(tables, made(spec).table(plays))
    assert [asdict(p) for p in plays] == [asdict(p) for p in before]


def nearly(one, other):
    agents = set(one) | set(other)
    return all(
        math.isclose(one.get(a, 0.0), other.get(a, 0.0), abs_tol=1e-6, rel_tol=1e-6) for a in agents
    )


def reply_by_reply(module, episode):
    """Return what an environment writes that learns of one reply after the other."""
    play = copy.deepcopy(episode)
    every, play.turns = play.turns, []
    for turn in every:
        play.turns.append(turn)
        apply_turn([module], play, turn)
    return [t.rewards[module.component] for t in play.turns]


ONLINE = [spec for spec in SPECS if made(spec).per_turn]
specs = st.sampled_from(ONLINE)


@st.composite
def compositions(draw, depth=2):
    """Sums and gates, in each other, of modules that need only the past."""
    if depth == 0 or draw(st.booleans()):
        return made(draw(specs))
    parts = [draw(compositions(depth - 1)) for _ in range(2)]
    named = [weighted([p], component=f"part{i}") for i, p in enumerate(parts)]
    if draw(st.booleans()):
        weights = draw(st.lists(st.floats(-3, 3), min_size=2, max_size=2))
        return weighted(named, weights)
    return gated(named[0], when=named[1], least=draw(st.sampled_from([-0.5, 0.0, 0.5, 1.0])))


def check_growth(module, play):
    (table,) = module.table([play])
    paid = reply_by_reply(module, play)
    assert len(paid) == len(table)
    assert all(nearly(one, other) for one, other in zip(paid, table, strict=True))


@pytest.mark.parametrize("spec", ONLINE, ids=str)
@slow
@given(episodes)
def test_what_is_paid_reply_by_reply_is_what_a_finished_play_is_paid(spec, play):
    check_growth(made(spec), play)


@slow
@given(compositions(), episodes)
def test_what_compositions_pay_reply_by_reply_is_what_a_finished_play_is_paid(module, play):
    check_growth(module, play)


@slow
@given(compositions(), batches)
def test_compositions_keep_their_promises(module, plays):
    check_table(module, plays, module.table(plays))


@slow
@given(batches, st.randoms(use_true_random=False))
def test_episodes_from_a_file_are_paid_the_same(plays, random):
    again = [Episode.from_json(p.to_json()) for p in plays]
    for spec in random.sample(SPECS, 3):
        assert same(made(spec).table(plays), made(spec).table(again))


# ---- Arguments ----------------------------------------------------------------------------------

junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3) | st.just(10**400),
    st.floats(),
    texts,
    st.lists(texts, max_size=2),
    st.dictionaries(texts, texts, max_size=2),
    st.just(object()),
)


@pytest.mark.parametrize("name", NAMES)
@slow
@given(st.data())
def test_odd_arguments_are_refused_or_work(name, data):
    known = st.sampled_from(
        [f.name for f in fields(REWARDS[name]) if f.name != "name"] + ["nothing"]
    )
    params = data.draw(st.dictionaries(known, junk, max_size=2))
    try:
        module = reward(name, **params)
    except (ConfigError, UnknownNameError) as error:
        assert str(error)
        return
    assert not math.isnan(sum(map(abs, module.range))) and module.range[0] <= module.range[1]
    plays = data.draw(batches)
    if "encoder" not in params:
        check_table(module, plays, module.table(plays))


nested = st.recursive(junk, lambda x: st.lists(x, max_size=2) | st.dictionaries(texts, x))


@slow
@given(nested | st.dictionaries(st.just("name"), nested) | st.lists(st.sampled_from(SPECS)))
def test_odd_lists_of_modules_are_refused_or_work(given):
    try:
        assert isinstance(reward_modules(given), tuple)
    except (ConfigError, UnknownNameError) as error:
        assert str(error)


# ---- In environments ----------------------------------------------------------------------------

ENVS = [(spec.id, illegal) for spec in coevo.envs.list_envs() for illegal in ("forfeit", "random")]
ENVS += [("coevo/debate-v0", "penalty"), ("coevo/peer_review-v0", "penalty")]
REPLIES = ["[check]", "[bet]", "[right]", "[wrong]", "[1]", "[2]", "[4]", "[approve]", "[reject]"]
LONGEST = 60
"""Replies after which a long play is left."""


@pytest.mark.parametrize(("env_id", "illegal"), ENVS)
@settings(deadline=None, max_examples=4)
@given(seeds)
def test_pettingzoo_is_told_all_that_the_episode_holds(env_id, illegal, seed):
    env = pettingzoo.make("aec", env_id, rewards=NAMES, illegal=illegal)
    drawn = Drawn(seed)
    env.reset(seed=seed)
    told = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter(max_iter=LONGEST):
        _, paid, ended, cut, info = env.last()
        told[agent] += paid
        legal = [f"[{move}]" for move in info["legal_actions"] or REPLIES]
        reply = drawn.one(drawn.text(), *[drawn.one(*legal or REPLIES)] * 3)
        env.step(None if ended or cut else reply)
    bare = env.unwrapped
    for agent in bare.agents:  # asked for no more: what it was paid since is not told yet
        told[agent] += bare._cumulative_rewards[agent]
    assert all(np.isclose(told[a], bare.episode.total(a)) for a in told)
    for module in bare.reward_modules if not env.agents else ():
        table = [t.rewards[module.component] for t in bare.episode.turns]
        check_table(module, [bare.episode], [table])


@slow
@given(batches)
def test_paying_twice_would_be_seen(plays):
    """Payments add up: whoever pays a batch again changes it, so nobody may."""
    module = made({"name": "format", "legal": 1.0, "otherwise": 1.0})
    apply_batch([module], plays)
    apply_batch([module], plays)
    assert all(t.rewards["format"] == {t.agent: 2.0} for p in plays for t in p.turns)


def test_a_score_of_an_evaluation_of_nothing_pays_the_evaluator_alone():
    """Found by fuzzing: place -1 is no reply, and Python takes it for the last one."""
    drawn = Drawn(0)
    evaluation, score = drawn.turn(0), drawn.turn(1)
    evaluation.role, evaluation.agent, evaluation.about = "evaluator", "evaluator_0", -1
    score.role, score.agent, score.about, score.answer = "scorer", "scorer_0", 0, "3"
    score.move = "3"
    play = Episode("x", 0, {}, SEATS, "q", [evaluation, score], StopReason.FINISHED)
    assert reply_by_reply(reward("interaction"), play) == [{"evaluator_0": 0.0}, {"scorer_0": 0.0}]
