"""SPA-RL: an outcome spread over turns by what was learned from other outcomes."""

import json
import math
import pickle

import numpy as np
import pytest

import coevo.envs
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import WeightedSum, reward_modules
from coevo.envs.rewards.progress import Progress, progress_error, redistribute


def reward(name, **params):
    return reward_modules([{"name": name, **params}])[0]


def weighted(parts, weights=(), **more):
    return WeightedSum(parts=parts, weights=weights, **more)


ROOMS = ("kitchen", "hall", "cellar", "garden", "attic")
ACTIONS = ("take key", "open door", "read note", "light lamp", "wait", "dig")
ASKED = "You may take key, open door, read note, light lamp, wait or dig. What do you do?"


def turn(room, action, agent="player_0", status=Status.LEGAL, seen=""):
    chat = ({"role": "user", "content": f"You are in the {room}. {seen}{ASKED}"},)
    return Turn(agent, chat, f"I think I will [{action}]", action, status, None)


def play(turns, payoffs, stop=StopReason.FINISHED):
    turns[-1].pay("payoff", payoffs)
    return Episode("x", 0, {}, ("player_0", "player_1"), turns=turns, stop=stop)


def walk(rng, gains, noise=0.0):
    """Play 3 to 7 turns; what an action gains depends on the room, the payoff is the sum."""
    steps = [
        (rng.integers(len(ROOMS)), rng.integers(len(ACTIONS))) for _ in range(rng.integers(3, 8))
    ]
    true = [float(gains[r, a]) for r, a in steps]
    payoff = sum(true) + noise * rng.standard_normal()
    return play([turn(ROOMS[r], ACTIONS[a]) for r, a in steps], {"player_0": payoff}), true


def learned(seed, plays=500, batch=500, noise=0.0, **params):
    """Learn the toy; give the module, and fresh plays with their true increments."""
    rng, module = np.random.default_rng(seed), Progress(**params)
    gains = rng.normal(0, 0.3, (len(ROOMS), len(ACTIONS)))
    seen = [walk(rng, gains, noise)[0] for _ in range(plays)]
    for first in range(0, plays, batch):
        module.fit(seen[first : first + batch])
    return module, [walk(rng, gains) for _ in range(60)]


def spearman(one, other):
    ranks = [np.argsort(np.argsort(np.concatenate(x))) for x in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])


def gaps(estimates, true):
    return [abs(sum(c) - sum(t)) for c, t in zip(estimates, true, strict=True)]


# ---- The formulas -------------------------------------------------------------------------------


def test_worked_numbers():
    """V10: c and g give r, and the estimate misses the outcome 1 by .04."""
    c, g = [0.3, 0.1, 0.4], [1, 0, 1]
    assert redistribute(c, g) == pytest.approx([0.8, 0.1, 0.9])
    assert progress_error([c], [1.0]) == pytest.approx(0.04)
    assert progress_error([], []) == 0.0


# ---- Learning -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_increments_are_recovered_from_their_sums(seed):
    """500 episodes: rank correlation above .9, sums within .05 of the payoff."""
    module, fresh = learned(seed)
    estimates, true = [module.progress(e) for e, _ in fresh], [t for _, t in fresh]
    assert spearman(estimates, true) > 0.9
    assert np.mean(gaps(estimates, true)) < 0.05
    untaught = [Progress().progress(e) for e, _ in fresh]
    assert np.mean(gaps(untaught, true)) > 0.3, "which is not what knowing nothing gives"


def test_small_noisy_batches_teach_like_a_large_one():
    for batch in (50, 500):
        module, fresh = learned(0, batch=batch, noise=0.3, decay=1.0)
        estimates, true = [module.progress(e) for e, _ in fresh], [t for _, t in fresh]
        assert spearman(estimates, true) > 0.95
        assert np.mean(gaps(estimates, true)) < 0.1


def test_batches_without_fading_equal_one():
    whole, fresh = learned(1, plays=100, batch=100, decay=1.0)
    parts, _ = learned(1, plays=100, batch=20, decay=1.0)
    assert parts.version == 5
    for e, _ in fresh[:5]:
        assert parts.progress(e) == pytest.approx(whole.progress(e), abs=1e-6)


def test_the_last_turn_earns_its_increment():
    """The released trainer multiplies by T - 1 - t, which leaves the last turn nothing."""
    rng = np.random.default_rng(0)
    plays = []
    for _ in range(100):
        dug = bool(rng.integers(2))
        turns = [
            turn("hall", "wait"),
            turn("hall", "wait"),
            turn("garden", "dig" if dug else "wait"),
        ]
        plays.append(play(turns, {"player_0": float(dug)}))
    module = Progress()
    module.fit(plays)
    by_end = {e.turns[-1].move: module.progress(e) for e in plays}
    assert by_end["dig"][-1] - by_end["wait"][-1] == pytest.approx(1, abs=0.05)
    assert by_end["dig"][:2] == by_end["wait"][:2], (
        "what came before is the same, and not overwritten"
    )


def test_old_plays_fade():
    def bet(payoff):
        return [play([turn("hall", "dig")], {"player_0": payoff}) for _ in range(10)]

    module = Progress(decay=0.5)
    module.fit(bet(1.0))
    module.fit(bet(0.0))
    assert module.progress(bet(0.0)[0])[0] == pytest.approx(1 / 3, abs=0.01)


def test_seats_learn_from_their_own_payoffs():
    plays = [
        play([turn("hall", a), turn("hall", b, "player_1")], {"player_0": pay, "player_1": -pay})
        for a, b, pay in [("dig", "wait", 1.0), ("wait", "dig", -1.0)] * 20
    ]
    module = Progress()
    assert module.fit(plays)["trajectories"] == 80
    assert module.progress(plays[0]) == pytest.approx([1, -1], abs=0.05)
    assert module.progress(plays[1]) == pytest.approx([-1, 1], abs=0.05)


def test_fit_reports_the_error_on_plays_it_did_not_know():
    module = Progress()
    batch = [play([turn("hall", "dig")], {"player_0": 2.0})]
    assert module.fit(batch) == {"error": 4.0, "trajectories": 1.0}
    assert module.fit(batch)["error"] < 0.01
    assert module.version == 2


def test_plays_without_an_outcome_teach_nothing():
    module = Progress()
    for stop in (StopReason.ERROR, StopReason.UNFINISHED):
        assert module.fit([play([turn("hall", "dig")], {"player_0": 2.0}, stop)]) == {}
    assert module.fit([]) == {}
    assert (module.version, module.state_dict()) == (0, {})
    with pytest.raises(DataError, match="payoff is not finite"):
        module.fit([play([turn("hall", "dig")], {"player_0": math.nan})])
    assert module.version == 0


def test_only_the_payoff_is_spread():
    given = play([turn("hall", "dig")], {"player_0": 1.0})
    given.turns[0].pay("progress", {"player_0": 9.0})
    module = Progress()
    assert module.fit([given])["error"] == 1.0


# ---- Paying -------------------------------------------------------------------------------------


def test_before_it_learned_it_pays_for_being_executed():
    turns = [
        turn("hall", "dig"),
        turn("hall", "dig", status=Status.ILLEGAL),
        turn("hall", "dig", "player_1", seen="Nothing happens. "),
        turn("hall", "dig", seen="Nothing happens. "),
        turn("hall", "dig", status=Status.UNPARSABLE),
        turn("hall", "dig"),
    ]
    module, given = Progress(), play(turns, {"player_0": 1.0})
    assert module.executed(given) == [1, 0, 1, 1, 0, 1], (
        "an illegal one, and none is the next seat's"
    )
    given.turns[1].status = Status.LEGAL
    assert module.executed(given) == [1, 0, 1, 1, 0, 1], "the next message says nothing happened"
    assert Progress(failed="").executed(given) == [1, 1, 1, 1, 0, 1]
    paid = [table[t.agent] for table, t in zip(module.table([given])[0], turns, strict=True)]
    assert paid == [0.5, 0, 0.5, 0.5, 0, 0.5]
    assert Progress(grounding=2.0).table([given])[0][0] == {"player_0": 2.0}


def test_pay_is_the_estimate_and_the_grounding():
    module, fresh = learned(0, plays=50, batch=50)
    given = fresh[0][0]
    expected = [c + 0.5 for c in module.progress(given)]
    assert [t["player_0"] for t in module.table([given])[0]] == pytest.approx(expected)
    assert [module.score_turn(given, t) for t in given.turns] == module.table([given])[0]
    assert any(abs(c) > 0.05 for c in module.progress(given))


def test_plays_of_an_environment_are_learned_from_and_paid():
    module = reward("progress")
    assert not module.per_turn
    env = coevo.envs.make("coevo/kuhn_poker-v0", rewards=[module])
    episodes = []
    for seed in range(12):
        env.reset(seed=seed)
        while env.awaiting:
            env.step(f"[{env.infos[env.agent_selection]['legal_actions'][0]}]")
        episodes.append(env.episode)
    assert module.fit(episodes)["trajectories"] == 24
    for episode, table in zip(episodes, module.table(episodes), strict=True):
        assert [list(paid) for paid in table] == [[t.agent] for t in episode.turns]
        assert all(math.isfinite(r) for paid in table for r in paid.values())


@pytest.mark.parametrize("text", ["", "\ud800", "x " * 5000])
def test_any_text_has_features(text):
    strange = Turn("player_0", (), text, None, Status.UNPARSABLE, None)
    module = Progress()
    module.fit([play([strange], {"player_0": 1.0})])
    assert module.progress(Episode("x", 0, {}, ("player_0",), turns=[strange])) == [
        pytest.approx(1, abs=0.01)
    ]


# ---- Keeping ------------------------------------------------------------------------------------


def test_a_checkpoint_goes_on_where_it_stopped():
    module, fresh = learned(0, plays=60, batch=30, buckets=64)
    state = json.loads(json.dumps(module.state_dict(), allow_nan=False))
    other = Progress(buckets=64)
    other.load_state_dict(state)
    assert other.version == 2
    batch = [e for e, _ in fresh]
    for each in (module, other):
        each.fit(batch)
    assert other.state_dict() == module.state_dict(), "bit for bit"
    assert (
        other.table(batch) == module.table(batch) == pickle.loads(pickle.dumps(module)).table(batch)
    )


def test_a_new_module_has_nothing_to_take_back():
    module = Progress()
    module.load_state_dict({})
    assert module.version == 0


def test_a_state_that_does_not_fit_is_refused():
    module, _ = learned(0, plays=10, batch=10, buckets=64)
    state = module.state_dict()
    with pytest.raises(DataError, match="not one of buckets=32"):
        Progress(buckets=32).load_state_dict(state)
    for broken in (
        {"version": 1},
        state | {"square": "?"},
        state | {"version": "x"},
        state | {"product": "AAAAAAAA8H8="},
    ):
        with pytest.raises(DataError, match="not a state of 'progress'"):
            Progress(buckets=64).load_state_dict(broken)


def test_as_a_part_it_learns_and_is_saved():
    module = weighted([reward("format"), Progress(buckets=16)], [1, 2])
    metrics = module.fit([play([turn("hall", "dig")], {"player_0": 2.0})])
    assert metrics == {"progress/error": 4.0, "progress/trajectories": 1.0}
    other = weighted([reward("format"), Progress(buckets=16)], [1, 2])
    other.load_state_dict(json.loads(json.dumps(module.state_dict())))
    assert other.version == 1


@pytest.mark.parametrize(
    "params", [{"buckets": 0}, {"ridge": 0.0}, {"ridge": math.nan}, {"decay": 1.1}, {"decay": -0.1}]
)
def test_it_refuses_what_makes_no_sense(params):
    with pytest.raises(ConfigError, match=next(iter(params))):
        reward("progress", **params)
