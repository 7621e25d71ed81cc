"""One seat for Gymnasium, the others played by name."""

import gymnasium
import numpy as np
import pytest

from coevo.envs import make
from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.envs.core.opponents import opponent
from coevo.envs.core.parsing import answer
from coevo.envs.core.single_agent import SingleAgentEnv
from coevo.envs.rewards import Format

KUHN = "coevo/kuhn_poker-v0"
ANY_GAME = "coevo/openspiel-v0"


def run(env, seed=None, choose=0):
    """Play once with one choice of move; give the rewards."""
    _, info = env.reset(seed=seed)
    rewards = []
    for _ in range(100):
        _, reward, terminated, truncated, info = env.step(answer(info["legal_actions"][choose]))
        rewards.append(reward)
        if terminated or truncated:
            return rewards
        assert info["legal_actions"], "it is the learner's turn again"
    raise AssertionError("the play never ended")


@pytest.mark.parametrize(
    ("seat", "name"), [(0, "player_0"), (1, "player_1"), (-1, "player_1"), ("player_1", "player_1")]
)
def test_a_fixed_seat_stays(seat, name):
    env = SingleAgentEnv(KUHN, seat=seat)
    for seed in (3, None, None):
        _, info = env.reset(seed=seed)
        assert info["seat"] == env.seat == name


def test_rotation_changes_the_seat_with_every_reset():
    env = SingleAgentEnv(KUHN, seat="rotate")
    seats = [env.reset()[1]["seat"] for _ in range(6)]
    assert seats == ["player_0", "player_1"] * 3


def test_a_seed_decides_the_seat_of_a_rotation():
    env = SingleAgentEnv(KUHN, seat="rotate")
    drawn = [env.reset(seed=seed)[1]["seat"] for seed in range(0, 40, 2)]
    assert drawn == [env.reset(seed=seed)[1]["seat"] for seed in range(0, 40, 2)]
    assert 4 < drawn.count("player_0") < 16
    first, second = env.reset(seed=0)[1]["seat"], env.reset()[1]["seat"]
    assert first != second


@pytest.mark.parametrize("seat", [2, -3, "player_2", "rotated", None, 0.5])
def test_unknown_seats_are_refused(seat):
    with pytest.raises(ConfigError, match=r"must be 'rotate', 0\.\.1 or one of"):
        SingleAgentEnv(KUHN, seat=seat)


def named(seen, name):
    """Return an opponent that plays the first legal move and is remembered."""
    play = opponent("first_legal")
    return lambda env, seat, rng: seen.append(name) or play(env, seat, rng)


def test_opponents_are_seated_in_order():
    seen = []
    ann, bob = named(seen, "ann"), named(seen, "bob")
    env = SingleAgentEnv(ANY_GAME, seat=1, opponents=[ann, bob], game="leduc_poker(players=3)")
    env.reset(seed=0)
    assert seen == ["ann"], "player_0 moves before the learner"
    assert env._players == {"player_0": ann, "player_2": bob}


def test_one_opponent_plays_all_other_seats():
    ann = named([], "ann")
    env = SingleAgentEnv(ANY_GAME, opponents=ann, game="leduc_poker(players=3)")
    env.reset(seed=0)
    assert env._players == dict.fromkeys(["player_1", "player_2"], ann)


@pytest.mark.parametrize("names", [[], ["random", "random"]])
def test_too_few_or_too_many_opponents_are_refused(names):
    with pytest.raises(ConfigError, match="needs 1, one per other seat"):
        SingleAgentEnv(KUHN, opponents=names)


def test_unknown_opponents_and_environments_list_the_near_ones():
    with pytest.raises(UnknownNameError, match="unknown opponent 'randm'; did you mean 'random'"):
        gymnasium.make(KUHN, opponents="randm")
    with pytest.raises(UnknownNameError, match=f"did you mean '{KUHN}'"):
        SingleAgentEnv("coevo/kuhn-poker-v0")
    with pytest.raises(ConfigError, match="did you mean 'prompt_style'"):
        gymnasium.make(KUHN, prompt_stile="terse")


def test_a_step_after_the_end_is_refused():
    env = SingleAgentEnv(KUHN, opponents="first_legal")
    run(env, seed=0)
    with pytest.raises(ConfigError, match="the episode is over: call reset"):
        env.step("[check]")
    assert run(env)


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("choose", [0, -1])
def test_rewards_add_up_to_the_total_of_the_record(seat, choose):
    env = SingleAgentEnv(KUHN, seat=seat)
    totals = set()
    for seed in range(30):
        rewards = run(env, seed, choose)
        assert sum(rewards) == env.env.episode.total(env.seat)
        assert env.env.episode.stop is StopReason.FINISHED
        totals.add(sum(rewards))
    assert min(totals) < 0 < max(totals)


def test_every_step_brings_what_was_paid_since_the_last_one():
    env = SingleAgentEnv(ANY_GAME, opponents="first_legal", rewards=[Format(legal=0.25)])
    *before, last = run(env, seed=0)
    assert len(before) >= 2
    assert set(before) == {0.25}
    assert abs(last) > 0.5, "the payoff comes at the end"


def test_a_penalty_arrives_with_the_step_that_earned_it():
    env = SingleAgentEnv(KUHN, illegal="penalty", opponents="first_legal")
    env.reset(seed=1)
    _, reward, terminated, *_ = env.step("nonsense")
    assert reward % 1 == pytest.approx(0.9)
    assert reward == env.env.episode.total("player_0")
    assert terminated


def test_a_forfeit_ends_the_play():
    env = SingleAgentEnv(KUHN, illegal="forfeit")
    env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step("nonsense")
    assert (reward, terminated, truncated) == (-2, True, False)
    assert observation in env.observation_space
    assert info["parse"]["status"] == "unparsable"


def test_a_play_that_ends_before_the_first_turn_ends_with_the_first_step():
    """The learner never moves, but a training loop still gets its one transition."""
    env = SingleAgentEnv(KUHN, seat=1, opponents=lambda env, seat, rng: "", illegal="spiral")
    env.reset(seed=0)
    _, reward, terminated, truncated, _ = env.step("anything")
    assert (reward, terminated, truncated) == (0.5, True, False)
    assert len(env.env.episode.turns) == 1
    with pytest.raises(ConfigError, match="call reset"):
        env.step("anything")


def test_a_seed_decides_cards_opponents_and_transcripts():
    def transcripts(env, seeds):
        lines = []
        for seed in seeds:
            run(env, seed, choose=-1)
            lines.append(env.env.episode.to_json())
        return lines

    seeds = [*range(10), None, None]
    first = transcripts(SingleAgentEnv(KUHN, seat=1), seeds)
    assert first == transcripts(SingleAgentEnv(KUHN, seat=1), seeds)
    assert len({line.partition('"turns"')[2] for line in first}) > 3


def test_truncation_is_told_apart_from_an_end():
    env = SingleAgentEnv(KUHN, max_cycles=1)
    env.reset(seed=0)
    _, reward, terminated, truncated, _ = env.step("[check]")
    assert (reward, terminated, truncated) == (0, False, True)


def test_a_seed_also_decides_what_opponents_draw():
    env = SingleAgentEnv(KUHN, seat=1)
    states = []
    for seed in (5, 5, 6):
        env.reset(seed=seed)
        states.append(env.np_random.bit_generator.state)
    assert states[0] == states[1] != states[2]


def test_rendering_is_that_of_the_environment(capsys):
    env = gymnasium.make(KUHN, render_mode="ansi")
    env.reset(seed=0)
    assert "betting: none yet" in env.render()
    assert capsys.readouterr().out == ""
    with pytest.raises(ConfigError, match="render_mode='rgb'"):
        SingleAgentEnv(KUHN, render_mode="rgb")


def test_named_agents():
    rng = np.random.default_rng(0)
    env = make(KUHN)
    env.reset(seed=0)
    assert opponent("first_legal")(env, "player_0", rng) == "[check]"
    said = [opponent("random")(env, "player_0", rng) for _ in range(300)]
    assert {said.count(f"[{m}]") > 100 for m in ("check", "bet")} == {True}
    debate = make("coevo/debate-v0")
    debate.reset(seed=0)
    assert opponent("random")(debate, "debater_0", rng) in [f"[{n}]" for n in range(10)]
    assert opponent("expert:0.5")(env, "player_0", rng) in {"[check]", "[bet]"}
