"""A protocol that asks and receives is a task like any other, and can be copied at any time."""

import copy
import pickle

import numpy as np
import pytest

from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.protocol import All, One, Pay, ProtocolTask
from coevo.envs.core.task import NoArguments, mostly


class Market(ProtocolTask):
    """Both bid, luck breaks ties, the winner says something and is paid."""

    seats = ("a", "b")
    payoff_range = (-9.0, 9.0)
    components = ("talk",)

    def protocol(self, rng, options):
        self.prices, self.said = [], []
        self.secret = int(rng.integers(100))
        for day in range(options.get("days", 3)):
            bids = yield All(
                self.seats,
                phase="bid",
                say=lambda seat: f"Day {day}, {seat}, paid {self.prices}. Bid? [0], [1]",  # noqa: B023
                terse="Bid [0] or [1]",
                moves=("0", "1"),
                expert=lambda _, skill: mostly(("0", "1"), {"1": 1.0}, skill),
            )
            tie = bids["a"] == bids["b"]
            winner = self.seats[int(rng.integers(2))] if tie else max(bids, key=bids.get)
            self.prices.append(int(bids[winner]))
            self.note("winner", winner)
            yield Pay({winner: 1.0 - self.prices[-1] / 2})
            yield Pay(dict.fromkeys(self.seats, 0.5))
            self.said.append((yield One(winner, say="Your words?", read=str.strip)))
            yield Pay({winner: -0.25}, component="talk")

    def rules(self, seat):
        return f"You are {seat}."

    def draw(self):
        return f"prices {self.prices}, said {self.said}, secret {self.secret}"


def market(**settings):
    env = TextEnv(Market(NoArguments()), **settings)
    env.reset(seed=3, options={"days": 4})
    return env


def play_on(env, rng, most=99):
    while env.awaiting and most:
        legal = env.infos[env.agent_selection]["legal_actions"]
        env.step(f"word {rng.integers(9)}" if legal is None else f"[{rng.choice(legal)}]")
        most -= 1
    return env.episode.to_json()


def test_a_protocol_is_played_from_top_to_bottom():
    env = market()
    assert env.awaiting == ("a", "b")
    assert env.chat("b") == (
        {"role": "system", "content": f"You are b.\n{ANSWER_FORMAT}"},
        {"role": "user", "content": "Day 0, b, paid []. Bid? [0], [1]"},
    )
    env.step("[1]")
    assert env.awaiting == ("b",), "moves at the same time wait for each other"
    env.step("[0]")
    assert env.episode.turns[-1].rewards == {"payoff": {"a": 1.0, "b": 0.5}}
    assert env.episode.turns[-1].notes == {"winner": "a"}
    assert env.awaiting == ("a",)
    assert env.infos["a"]["legal_actions"] is None
    env.step("  thanks ")
    assert env.episode.turns[-1].move == "thanks"
    assert env.episode.turns[-1].rewards == {"payoff": {}, "talk": {"a": -0.25}}
    assert env.task.earned == {"a": 0.75, "b": 0.5}
    play_on(env, np.random.default_rng(0))
    assert env.episode.stop is StopReason.FINISHED
    assert env.task.to_move() == ()


def test_a_question_without_terse_words_is_complete_in_itself():
    env = market(prompt_style="terse")
    env.step("[1]")
    env.step("[0]")
    assert env.chat("a")[-1]["content"] == "You are a.\nYour words?"


@pytest.mark.parametrize("fork", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("illegal", ["forfeit", "random"])
def test_a_copy_goes_on_as_the_original_would_at_every_reply(fork, illegal):
    """With `random` the engine draws from the same generator between the protocol's own draws."""
    for replies in range(12):
        env = market(illegal=illegal)
        if illegal == "random" and replies:
            env.step("no move")
        play_on(env, np.random.default_rng(1), most=replies)
        other = fork(env)
        twin = fork(other)
        assert other.task.draw() == env.task.draw()
        before = other.episode.to_json()
        assert before == env.episode.to_json()
        ended = play_on(env, np.random.default_rng(2))
        assert other.episode.to_json() == before
        assert play_on(other, np.random.default_rng(2)) == ended
        assert play_on(twin, np.random.default_rng(2)) == ended
        assert env.task.draw() == other.task.draw() == twin.task.draw()


def test_a_copy_writes_notes_on_its_own_turns():
    env = market()
    play_on(env, np.random.default_rng(1), most=5)
    other = copy.deepcopy(env)
    assert [t is u for t, u in zip(env.task.turns, env.episode.turns, strict=True)] == [True] * 5
    assert [t is u for t, u in zip(other.task.turns, other.episode.turns, strict=True)] == [
        True
    ] * 5
    assert not any(t is u for t, u in zip(env.episode.turns, other.episode.turns, strict=True))
    play_on(other, np.random.default_rng(1), most=1)
    assert len(env.task.turns) == 5


def test_a_copy_does_not_depend_on_another_reset():
    env = market()
    play_on(env, np.random.default_rng(1), most=4)
    other = copy.deepcopy(env)
    other.reset(seed=9)
    assert other.task.prices == []
    assert len(env.task.prices) >= 1
    assert copy.deepcopy(TextEnv(Market(NoArguments()))).task.asked.seats == ()


def test_an_expert_belongs_to_its_question():
    env = market()
    assert env.expert("a", 1.0).texts == ("[0]", "[1]")
    assert env.expert("a", 1.0).probabilities.tolist() == [0.0, 1.0]
    env.step("[1]")
    env.step("[0]")
    assert env.expert("a", 1.0) is None


def broken(*yielded):
    class Broken(Market):
        def protocol(self, rng, options):
            yield from yielded

    TextEnv(Broken(NoArguments())).reset(seed=0)


@pytest.mark.parametrize(
    ("yielded", "error"),
    [
        ("a", r"Broken.protocol yields 'a': expected One\(seat, ...\), All\(seats, ...\) or Pay"),
        (Pay({"a": 1.0}, "tip"), "pays 'tip', which is not one of its components: talk"),
        (All(()), r"Broken.protocol asks no seat: All\(seats, ...\) needs one or more"),
        (One("c"), "unknown seat 'c'"),
        (Pay({"a": 1.0}), "Broken.protocol pays before its first question"),
        (Pay({"seller": 1.0}), "unknown seat 'seller'"),
    ],
)
def test_what_a_protocol_may_not_yield_is_named(yielded, error):
    with pytest.raises(ConfigError, match=error):
        broken(yielded)


def test_a_protocol_without_yield_is_named():
    class Mute(Market):
        def protocol(self, rng, options):
            return None

    with pytest.raises(ConfigError, match=r"Mute.protocol returns no generator: .* `yield`"):
        TextEnv(Mute(NoArguments())).reset(seed=0)
