import threading
from concurrent.futures import Future

import pytest

from coevo.agents import FirstLegalAgent, FixedTextAgent, RandomAgent
from coevo.agents.agent import Agent, Reply, Unanswered
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Status
from coevo.envs.games.kuhn_poker import KuhnPoker
from coevo.trainers.build import build
from coevo.trainers.collect.metrics import rollout_metrics
from coevo.trainers.collect.rollout import EpisodeSpec, rollout, rollout_of

SEATS = ("player_0", "player_1")
TERSE = {"prompt_style": "terse"}


class Policy(Agent):
    """Says the first legal move with made-up tokens, and counts how it was called."""

    version = 7

    def __init__(self, moves=None):
        self.calls, self.moves = [], list(moves or ())

    def act(self, requests):
        self.calls.append([r.conversation for r in requests])
        return [self._one(r) for r in requests]

    def _one(self, request):
        text = self.moves.pop(0) if self.moves else f"[{request.info['legal_actions'][0]}]"
        return Reply(text, [1, 2], [len(text)], [-1.0], None)


def both(name):
    return dict.fromkeys(SEATS, name)


def test_all_plays_are_asked_at_once_and_end():
    policy = Policy()
    matches = [EpisodeSpec(i, both("p"), stream=i) for i in range(10)]
    episodes = rollout("coevo/kuhn_poker-v0", matches, {"p": policy}, TERSE)
    assert [len(call) for call in policy.calls] == [10, 10]
    assert [e.seed for e in episodes] == list(range(10))
    assert all(e.stop is StopReason.FINISHED for e in episodes)
    assert len({c for call in policy.calls for c in call}) == 20


def test_turns_carry_who_wrote_them_and_their_tokens():
    players = {"p": Policy(), "first": FirstLegalAgent()}
    match = EpisodeSpec(1, {"player_0": "p", "player_1": "first"})
    (episode,) = rollout("coevo/kuhn_poker-v0", [match], players, TERSE)
    mine, other = episode.turns
    assert (mine.player, mine.version) == ("p", 7) and mine.token_ids == [len(mine.text)]
    assert mine.prompt_ids == [1, 2] and mine.logprobs == [-1.0]
    assert (other.player, other.version) == ("first", -1) and other.token_ids is None


def test_equal_matches_give_equal_plays_and_streams_tell_them_apart():
    matches = [EpisodeSpec(3, both("r"), stream=s) for s in (0, 0, *range(1, 20))]
    episodes = rollout("coevo/leduc_poker-v0", matches, {"r": RandomAgent()}, TERSE)
    told = [[t.text for t in e.turns] for e in episodes]
    assert told[0] == told[1] and any(t != told[0] for t in told[2:])
    assert len({e.turns[0].chat[0]["content"] for e in episodes}) == 1


def test_a_simultaneous_round_is_one_call_in_which_nobody_sees_the_other():
    policy = Policy()
    match = EpisodeSpec(0, both("p"))
    (episode,) = rollout("coevo/goofspiel-v0", [match], {"p": policy}, TERSE)
    assert len(policy.calls[0]) == 2
    assert [t.agent for t in episode.turns[:2]] == list(SEATS)
    payoffs = [i for i, t in enumerate(episode.turns) if "payoff" in t.rewards]
    assert payoffs == list(range(1, len(episode.turns), 2))


def test_a_retry_in_a_simultaneous_round_keeps_the_reply_of_the_other():
    first, second = Policy(["nonsense"]), Policy()
    players = {"a": first, "b": second}
    match = EpisodeSpec(0, dict(zip(SEATS, "ab", strict=True)))
    options = {**TERSE, "illegal": "textarena"}
    (episode,) = rollout("coevo/goofspiel-v0", [match], players, options)
    assert [t.agent for t in episode.turns[:3]] == ["player_0", "player_0", "player_1"]
    assert episode.turns[0].status is Status.UNPARSABLE
    assert len(first.calls) == len(second.calls) + 1


def test_a_forfeit_ends_the_play_with_its_round():
    players = {"bad": FixedTextAgent("hm"), "p": Policy()}
    match = EpisodeSpec(0, {"player_0": "bad", "player_1": "p"})
    options = {**TERSE, "illegal": "forfeit"}
    (episode,) = rollout("coevo/goofspiel-v0", [match], players, options)
    assert episode.stop is StopReason.FORFEIT and episode.offenders == ("player_0",)
    assert [t.player for t in episode.turns] == ["bad", "p"], (
        "the other seat moved at the same time"
    )
    assert episode.turns[1].token_ids == [3]


def test_a_player_that_nobody_is_gets_named():
    with pytest.raises(ConfigError, match=r"no agent \['ghost'\]; agents: \['p'\]"):
        rollout("coevo/kuhn_poker-v0", [EpisodeSpec(0, both("ghost"))], {"p": Policy()})


class Silent(Agent):
    """Cannot answer where a play has an odd seed."""

    name = "silent"
    insider = True

    def act(self, requests):
        bad = [r.inside.task.endswith(("1", "3", "5", "7", "9")) for r in requests]
        legal = [r.info["legal_actions"][0] for r in requests]
        return [
            Unanswered(reason="the server is down") if b else Reply(f"[{move}]")
            for b, move in zip(bad, legal, strict=True)
        ]


def test_a_play_in_which_somebody_cannot_answer_is_an_error_and_no_zero():
    matches = [EpisodeSpec(s, {"player_0": "silent", "player_1": "random"}) for s in range(8)]
    episodes = rollout(
        "coevo/kuhn_poker-v0", matches, {"silent": Silent(), "random": RandomAgent()}
    )
    stopped = [e for e in episodes if e.stop is StopReason.ERROR]
    assert 0 < len(stopped) < len(episodes)
    for episode in stopped:
        assert episode.note == "player_0: the server is down"
        assert not any(t.agent == "player_0" for t in episode.turns)
    whole = [e for e in episodes if e.stop is not StopReason.ERROR]
    metrics = rollout_metrics(SEATS, episodes)
    assert metrics["stop/error"] == len(stopped) / 8
    without = rollout_metrics(SEATS, whole)
    assert metrics["return/player_0"] == without["return/player_0"]
    assert rollout_metrics(SEATS, stopped) == {"stop/error": 1.0}


def test_policies_that_share_an_engine_ask_it_at_once_and_say_what_they_would_say_alone(
    monkeypatch,
):
    rows = Rows()
    one, two = (TabularPolicy(Table(), rows, name=n, seed=len(n)) for n in ("a", "bb"))
    specs = [EpisodeSpec(s, dict(zip(SEATS, ("a", "bb"), strict=True))) for s in range(4)]

    def moves():
        one.reseed(1)
        two.reseed(2)
        game = {"rounds": 3, **TERSE}
        episodes = rollout("coevo/iterated_game-v0", specs, {"a": one, "bb": two}, game)
        return [[t.text for t in e.turns] for e in episodes]

    alone = moves()
    two.engine = one.engine
    two.publish(two.version)
    calls, ask = [], one.engine.generate

    def noted(asks):
        calls.append([(a.policy.name, len(a.prompts)) for a in asks])
        return ask(asks)

    monkeypatch.setattr(one.engine, "generate", noted)
    assert moves() == alone
    assert calls == [[("a", 4), ("bb", 4)]] * 3


def test_nobody_learns_from_a_play_that_was_abandoned():
    class Late(Policy):
        def _one(self, request):
            if request.seat == "player_1":
                return Unanswered(reason="gone")
            return super()._one(request)

    late = Late()
    (episode,) = rollout(
        "coevo/kuhn_poker-v0", [EpisodeSpec(0, dict.fromkeys(SEATS, "late"))], {"late": late}
    )
    assert [t.agent for t in episode.turns] == ["player_0"]
    assert episode.turns[0].token_ids
    assert build([episode], [0]) is None


class Distant(Agent):
    """Answers when the test says so, and writes down what it is asked."""

    def __init__(self, on_asked=lambda distant: None):
        self.asked, self.on_asked = [], on_asked

    def submit(self, requests):
        futures = [Future() for _ in requests]
        self.asked += zip(requests, futures, strict=True)
        self.on_asked(self)
        return futures


def first_move(request):
    return Reply(f"[{request.info['legal_actions'][0]}]")


def test_an_episode_goes_on_while_another_waits_for_its_reply():
    def on_asked(distant):
        for request, future in distant.asked[1:]:
            if not future.done():
                future.set_result(first_move(request))

    class Near(Policy):
        def act(self, requests):
            request, future = distant.asked[0]
            if not future.done():
                future.set_result(first_move(request))
            return super().act(requests)

    distant, near = Distant(on_asked), Near()
    specs = [EpisodeSpec(s, {"player_0": "distant", "player_1": "near"}) for s in range(3)]
    episodes = rollout("coevo/kuhn_poker-v0", specs, {"distant": distant, "near": near}, TERSE)
    assert all(e.stop is StopReason.FINISHED for e in episodes)
    assert near.calls[0] == ["1/player_1", "2/player_1"]


def test_agents_elsewhere_are_asked_before_those_here_are():
    distant = Distant()

    class Near(Policy):
        def act(self, requests):
            for request, future in distant.asked:
                if not future.done():
                    future.set_result(first_move(request))
            return super().act(requests)

    players = {"player_0": "near", "player_1": "distant"}
    (episode,) = rollout(
        "coevo/goofspiel-v0", [EpisodeSpec(0, players)], {"distant": distant, "near": Near()}, TERSE
    )
    assert episode.stop is StopReason.FINISHED


def test_an_error_elsewhere_cancels_what_is_not_under_way_and_waits_for_the_rest():
    def on_asked(distant):
        (_, failed), (_, running), _ = distant.asked
        running.set_running_or_notify_cancel()
        failed.set_exception(ConfigError("no more"))
        threading.Timer(0.05, running.set_result, [Reply("kept")]).start()

    distant = Distant(on_asked)
    specs = [EpisodeSpec(s, both("distant")) for s in range(3)]
    with pytest.raises(ConfigError, match="no more"):
        rollout("coevo/kuhn_poker-v0", specs, {"distant": distant}, TERSE)
    assert [f.cancelled() for _, f in distant.asked] == [False, False, True]
    assert distant.asked[1][1].result().text == "kept"


class SlowKuhn(KuhnPoker):
    """Goes on when four episodes are stepped at the same time."""

    slow = True
    steps = threading.Barrier(4, timeout=10)

    def play(self, moves):
        self.steps.wait()
        return super().play(moves)


def test_slow_environments_are_stepped_side_by_side_and_play_the_same():
    players = {"r": RandomAgent(), "first": FirstLegalAgent()}
    specs = [EpisodeSpec(s, {"player_0": "r", "player_1": "first"}) for s in (0, 0, 0, 0)]
    slow = rollout_of({"": turn_based(SlowKuhn)[1](**TERSE)}, specs, players)
    quick = rollout("coevo/kuhn_poker-v0", specs, players, TERSE)
    assert [e.to_json() for e in slow] == [e.to_json() for e in quick]


def test_an_error_in_a_slow_step_is_raised():
    class Broken(KuhnPoker):
        slow = True

        def play(self, moves):
            raise ConfigError("the browser is gone")

    with pytest.raises(ConfigError, match="the browser is gone"):
        rollout_of({"": turn_based(Broken)[1]()}, [EpisodeSpec(0, both("r"))], {"r": RandomAgent()})
