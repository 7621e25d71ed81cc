"""The vector view plays the same game as the text environment, with numbers instead of words."""

import copy
import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from coevo.envs import list_envs, make
from coevo.envs.bridges.vector import (
    VectorView,
    illegal_reply,
    legal_mask,
    quiet,
    reply_of,
    vector_env,
)
from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.envs.core.parsing import answer
from coevo.envs.games.openspiel import OpenSpielTask
from coevo.envs.rewards import Format

KUHN, TIC_TAC_TOE = "coevo/kuhn_poker-v0", "coevo/tic_tac_toe-v0"
GOOFSPIEL, ANY_GAME = "coevo/goofspiel-v0", "coevo/openspiel-v0"
IDS = [spec.id for spec in list_envs()]
VIEWS = [id for id in IDS if isinstance(make(id).task, OpenSpielTask)]
MORE = [
    (ANY_GAME, "leduc_poker(players=3)"),
    (ANY_GAME, "matrix_rps"),
    (ANY_GAME, "goofspiel(players=3,num_cards=4)"),
    (ANY_GAME, "catch"),
    (GOOFSPIEL, "goofspiel(num_cards=4,imp_info=true)"),
]


def first_legal(observation, mask, rng):
    return int(mask.argmax())


def any_legal(observation, mask, rng):
    return int(rng.choice(np.flatnonzero(mask)))


def finish(view, rng):
    """Play on with random legal actions; give the rewards."""
    rewards = []
    for _ in range(300):
        _, reward, terminated, truncated, _ = view.step(any_legal(None, view.action_masks(), rng))
        rewards.append(reward)
        if terminated or truncated:
            return rewards
    raise AssertionError("the play never ended")


@pytest.mark.parametrize("env_id", IDS)
def test_every_environment_of_listed_moves_has_a_view_and_others_say_why_not(env_id):
    env = make(env_id, prompt_style="terse")
    env.reset(seed=0)
    if env.infos[env.agent_selection]["legal_actions"] is None:
        with pytest.raises(ConfigError, match="has no vector view: its replies are free text"):
            vector_env(env_id)
        return
    view, rng = vector_env(env_id), np.random.default_rng(0)
    seen, _ = view.reset(seed=0)
    over = False
    for _ in range(8):
        assert view.observation_space.contains(seen)
        if over or view.seat not in view.env.awaiting:
            break
        legal = view.env.infos[view.seat]["legal_actions"]
        if legal is None:
            with pytest.raises(ConfigError, match="replies with any text"):
                view.action_masks()
            return
        mask = view.action_masks()
        names = [view.task.numbered(view.seat)[int(i)] for i in np.flatnonzero(mask)]
        assert names == list(legal)
        seen, _, ended, cut, _ = view.step(any_legal(seen, mask, rng))
        over = ended or cut


@pytest.mark.parametrize(
    ("env_id", "options"),
    [(id, {}) for id in VIEWS] + [(id, {"game": game}) for id, game in MORE],
)
def test_gymnasium_and_stable_baselines_accept_the_view(env_id, options):
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        # Without a spec Gymnasium cannot make further copies to close; everything else counts.
        warnings.filterwarnings("ignore", message=".*not having a spec")
        check_env(vector_env(env_id, **options), skip_render_check=True)
    sb3.check_env(vector_env(env_id, seat=0, **options))


def beside(view, env, seed, rng):
    """Play a view and a text environment with one seed and one choice of moves."""
    observation, info = view.reset(seed=seed)
    env.reset(seed=seed)
    seat, paid, over = info["seat"], 0.0, False
    while not over:
        while env.awaiting and env.agent_selection != seat:
            env.step(answer(env.infos[env.agent_selection]["legal_actions"][0]))
        if not env.awaiting:
            over = view.step(0)[2]
            continue
        player = env.possible_agents.index(seat)
        legal = env.task.state.legal_actions(player)
        assert np.flatnonzero(view.action_masks()).tolist() == legal
        told = env.task.game.get_type().provides_information_state_tensor
        state = env.task.state
        known = (state.information_state_tensor if told else state.observation_tensor)(player)
        assert observation[: len(known)].tolist() == np.float32(known).tolist()
        pick = int(rng.integers(len(legal)))
        env.step(answer(env.infos[seat]["legal_actions"][pick]))
        while env.awaiting and env.agent_selection != seat:
            env.step(answer(env.infos[env.agent_selection]["legal_actions"][0]))
        observation, reward, over, cut, info = view.step(legal[pick])
        assert reward == env.episode.total(seat) - paid
        assert (over, cut) == (env.terminations[seat], env.truncations[seat])
        paid += reward
    return seat


@pytest.mark.parametrize(
    ("env_id", "options"),
    [(id, {}) for id in VIEWS] + [(id, {"game": game}) for id, game in MORE],
)
def test_the_view_and_the_text_environment_play_alike(env_id, options):
    view = vector_env(env_id, opponents="first_legal", **options)
    env = make(env_id, **quiet(options))
    rng = np.random.default_rng(0)
    seats = set()
    for seed in range(6):
        seats.add(beside(view, env, seed, rng))
        ours = copy.deepcopy(view.env.episode)
        for turn in ours.turns:
            assert turn.player
            turn.player = ""
        assert ours.to_json() == env.episode.to_json()
    assert seats == set(env.possible_agents)


def test_a_view_keeps_to_the_style_that_is_asked_for():
    assert vector_env(KUHN).env.prompt_style == "terse"
    assert vector_env(KUHN, prompt_style="full").env.prompt_style == "full"


@pytest.mark.parametrize("seat", [0, 1])
def test_a_fixed_seat_stays(seat):
    view = vector_env(KUHN, seat=seat)
    for seed in (3, None, None):
        assert view.reset(seed=seed)[1]["seat"] == f"player_{seat}" == view.seat


def test_without_a_seat_it_rotates_and_a_seed_decides_where_from():
    view = vector_env(KUHN)
    seats = [view.reset(seed=0 if n == 0 else None)[1]["seat"] for n in range(6)]
    assert seats[:2] * 3 == seats
    assert len(set(seats)) == 2
    drawn = [view.reset(seed=seed)[1]["seat"] for seed in range(40)]
    assert drawn == [view.reset(seed=seed)[1]["seat"] for seed in range(40)]
    assert 8 < drawn.count("player_0") < 32


@pytest.mark.parametrize("seat", [2, -3, True, "player_2", None, 0.5])
def test_unknown_seats_are_refused(seat):
    with pytest.raises(ConfigError, match=r"must be 'rotate', 0\.\.1"):
        vector_env(KUHN, seat=seat)


def test_the_last_numbers_tell_the_seat():
    for seat in (0, 1):
        observation, _ = vector_env(TIC_TAC_TOE, seat=seat).reset(seed=0)
        assert observation[-2:].tolist() == [float(seat == 0), float(seat == 1)]


def test_an_illegal_action_forfeits_at_the_lowest_payoff():
    view = vector_env(TIC_TAC_TOE, seat=0, opponents=first_legal)
    view.reset(seed=0)
    view.step(4)
    observation, reward, terminated, truncated, info = view.step(4)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert view.env.episode.stop is StopReason.FORFEIT
    assert view.env.episode.offenders == ("player_0",)
    assert not observation.any()
    assert info["illegal_actions"] == 1
    assert (view.actions, view.illegal_actions) == (2, 1)
    view.reset()
    assert view.step(8)[4]["illegal_actions"] == 0
    assert (view.actions, view.illegal_actions) == (3, 1)


def test_an_illegal_action_may_be_repeated_where_the_environment_says_so():
    view = vector_env(TIC_TAC_TOE, seat=0, opponents=first_legal, illegal="textarena")
    view.reset(seed=0)
    before, *_ = view.step(4)
    again, reward, terminated, _, info = view.step(4)
    assert (reward, terminated, info["illegal_actions"]) == (0.0, False, 1)
    assert (again == before).all()
    _, reward, terminated, _, info = view.step(4)
    assert (reward, terminated, info["illegal_actions"]) == (-1.0, True, 2)


def test_a_penalty_and_a_random_move():
    view = vector_env(TIC_TAC_TOE, seat=0, opponents=first_legal, illegal="penalty")
    view.reset(seed=0)
    view.step(4)
    _, reward, terminated, *_ = view.step(4)
    assert reward == pytest.approx(-0.1)
    assert not terminated
    assert len(view.env.task.state.history()) == 4


def test_an_illegal_action_of_an_opponent_is_the_opponents():
    view = vector_env(TIC_TAC_TOE, seat=1, opponents=lambda *_: 99)
    view.reset(seed=0)
    _, reward, terminated, _, info = view.step(8)
    assert (reward, terminated, info["illegal_actions"]) == (0.0, True, 0)
    assert view.env.episode.offenders == ("player_0",)
    assert view.illegal_actions == 0


def test_no_legal_move_is_called_like_an_illegal_reply():
    env = make(TIC_TAC_TOE, illegal="forfeit")
    env.reset(seed=0)
    assert reply_of(env.task, "player_0", 8) == "[9]"
    env.step("[9]")
    assert reply_of(env.task, "player_1", 8) is None
    assert legal_mask(env.task, "player_1").tolist() == [True] * 8 + [False]
    env.step(illegal_reply(8))
    assert env.episode.stop is StopReason.FORFEIT


@pytest.mark.parametrize("action", [-1, 9])
def test_an_action_outside_the_space_is_an_error(action):
    view = vector_env(TIC_TAC_TOE)
    view.reset(seed=0)
    with pytest.raises(ConfigError, match="must be from 0 to 8"):
        view.step(action)


def test_all_actions_are_open_where_nothing_is_to_decide():
    view = vector_env(TIC_TAC_TOE, seat=0, opponents=first_legal)
    view.reset(seed=0)
    view.step(4)
    assert view.action_masks().tolist() == [False, True, True, True, False, *[True] * 4]
    view.step(4)
    assert view.action_masks().all()
    with pytest.raises(ConfigError, match="the episode is over"):
        view.step(0)


def test_a_play_that_ends_before_the_first_turn_ends_with_the_first_step():
    told = []
    view = vector_env(
        TIC_TAC_TOE, seat=1, opponents=lambda *_: 99, illegal="spiral", on_end=told.append
    )
    observation, _ = view.reset(seed=0)
    assert not observation.any()
    assert view.action_masks().all()
    _, reward, terminated, _, info = view.step(0)
    assert (reward, terminated, info["illegal_actions"]) == (0.5, True, 0)
    assert (view.actions, view.turns) == (0, 1)
    assert len(told) == 1


def test_every_finished_play_is_told_once_with_its_players():
    told = []
    view = vector_env(KUHN, opponents=any_legal, on_end=told.append)
    rng = np.random.default_rng(0)
    view.reset(seed=0)
    returns = []
    for _ in range(20):
        returns.append(sum(finish(view, rng)))
        assert told[-1].total(view.seat) == returns[-1]
        view.reset()
    ended_at_reset = view.env.episode.stop is StopReason.FINISHED
    assert len(told) == 20 + ended_at_reset
    assert {turn.player for episode in told for turn in episode.turns} == {"learner", "opponent"}
    assert view.turns == sum(len(e.turns) for e in told[:20]) + len(view.env.episode.turns)


def test_a_policy_sees_its_own_numbers_and_mask():
    seen = []

    def opponent(observation, mask, rng):
        seen.append((observation, mask.copy()))
        return first_legal(observation, mask, rng)

    view = vector_env(TIC_TAC_TOE, seat=0, opponents=opponent)
    view.reset(seed=0)
    view.step(4)
    [(observation, mask)] = seen
    assert observation[-2:].tolist() == [0, 1]
    assert mask.tolist() == [True] * 4 + [False] + [True] * 4


def test_players_are_drawn_for_every_play_by_a_generator_of_their_own():
    class Two:
        def __init__(self):
            self.drawn = []

        def draw(self, rng):
            self.drawn.append(int(rng.integers(2)))
            return [first_legal, any_legal][self.drawn[-1]]

    first, second = Two(), Two()
    rng = np.random.default_rng(0)
    for two in (first, second):
        view = vector_env(TIC_TAC_TOE, opponents=two)
        view.reset(seed=5)
        for _ in range(30):
            finish(view, rng)
            view.reset()
    assert first.drawn == second.drawn
    assert len(first.drawn) == 31
    assert 6 < sum(first.drawn) < 25


def test_opponents_do_not_draw_the_numbers_of_the_deal():
    view = vector_env(KUHN)
    for seed in range(5):
        view.reset(seed=seed)
        streams = [g.bit_generator.state["state"]["inc"] for g in (view._rng, view.env.np_random)]
        assert streams[0] != streams[1]


def test_one_opponent_per_seat_in_order():
    names = []

    def named(name):
        return lambda seen, mask, rng: names.append(name) or first_legal(seen, mask, rng)

    options = {"game": "leduc_poker(players=3)"}
    view = vector_env(ANY_GAME, seat=1, opponents=[named("ann"), named("bob")], **options)
    view.reset(seed=0)
    assert names == ["ann"]
    view.step(1)
    assert names[:2] == ["ann", "bob"]
    with pytest.raises(ConfigError, match="2 are needed, one per other seat"):
        vector_env(ANY_GAME, opponents=["random"], **options)


@pytest.mark.parametrize("wrong", [3, [None]])
def test_what_is_no_player_is_refused(wrong):
    with pytest.raises(ConfigError, match="no name, no policy"):
        vector_env(KUHN, opponents=wrong)


def test_unknown_names_list_the_near_ones():
    with pytest.raises(UnknownNameError, match="did you mean 'random'"):
        vector_env(KUHN, opponents="randm")
    with pytest.raises(UnknownNameError, match=f"did you mean '{KUHN}'"):
        vector_env("coevo/kuhn-poker-v0")
    with pytest.raises(ConfigError, match="did you mean 'max_cycles'"):
        vector_env(KUHN, max_cycle=3)


def test_bids_are_made_at_once():
    """What a seat sees does not change by the bid of the other in the same round."""
    rows = set()
    for bid in range(6):
        view = vector_env(GOOFSPIEL, seat=1, opponents=lambda seen, mask, rng, bid=bid: bid)
        observation, _ = view.reset(seed=2)
        rows.add(observation.tobytes())
        view.step(3)
        assert view.env.task.state.history()[1:3] == [bid, 3], "after the first prize"
    assert len(rows) == 1


def test_a_limit_of_rounds_truncates_and_keeps_the_numbers():
    view = vector_env(TIC_TAC_TOE, seat=0, opponents=first_legal, max_cycles=2)
    view.reset(seed=0)
    observation, reward, terminated, truncated, _ = view.step(4)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert observation[:-2].sum() == 9, "one plane is set in every cell"


def test_shaping_is_paid_with_the_step_that_earned_it():
    paid = [Format(legal=0.25)]
    view = vector_env(TIC_TAC_TOE, seat=0, opponents=first_legal, rewards=paid)
    view.reset(seed=0)
    assert view.step(4)[1] == 0.25


def test_a_copy_is_a_fork():
    view = vector_env(KUHN, opponents=any_legal, seat=0)
    view.reset(seed=3)
    fork = copy.deepcopy(view)
    rewards = finish(fork, np.random.default_rng(0))
    assert not view.env.episode.turns
    assert fork.env.episode.turns
    assert finish(view, np.random.default_rng(0)) == rewards
    assert view.env.episode.to_json() == fork.env.episode.to_json()


def test_rendering_is_that_of_the_environment():
    view = vector_env(TIC_TAC_TOE, render_mode="ansi")
    view.reset(seed=0)
    assert "7 | 8 | 9" in view.render()
    view.close()
    view.close()


def test_free_text_has_no_view():
    with pytest.raises(ConfigError, match="coevo/debate-v0 has no vector view"):
        VectorView(make("coevo/debate-v0"))
