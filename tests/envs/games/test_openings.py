"""Exploring starts: plays that begin after random legal moves."""

import copy
import re
from collections import Counter

import numpy as np
import pytest

from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status, answer

OPENED = {
    "coevo/tic_tac_toe-v0": 4,
    "coevo/kuhn_poker-v0": 1,
    "coevo/goofspiel-v0": 2,  # both bid at once: a move of the opening is one bid of each
    "coevo/connect_four-v0": 20,
}
"""Environment -> openings."""
GAMES = pytest.mark.parametrize(("game", "longest"), OPENED.items())


def made_moves(state):
    """Return how often somebody has decided on the way to a state; chance does not count."""
    at, moves = state.get_game().new_initial_state(), 0
    history = state.full_history()
    while history:
        if at.is_simultaneous_node():
            players = at.num_players()
            at.apply_actions([h.action for h in history[:players]])
            history = history[players:]
            moves += 1
        else:
            moves += not at.is_chance_node()
            at.apply_action(history.pop(0).action)
    return moves


def starts(env, count, seed=0):
    """Return copies of the state at the beginning of so many plays of one generator."""
    env.reset(seed=seed)
    for _ in range(count):
        yield env.task.state.clone()
        env.reset()


@GAMES
def test_every_length_up_to_the_longest_comes_equally_often(game, longest, walks):
    count = 40 * (longest + 1)
    lengths = Counter(made_moves(s) for s in starts(walks.make(game, openings=longest), count))
    assert set(lengths) == set(range(longest + 1))
    assert all(12 <= n <= 68 for n in lengths.values()), lengths  # 4.5 standard deviations


@GAMES
def test_a_play_never_begins_where_it_ends(game, longest, walks):
    env = walks.make(game, openings=longest)
    env.reset(seed=1)
    for _ in range(150):
        assert not env.task.state.is_terminal()
        assert env.awaiting
        assert env.agents == env.possible_agents
        assert not any(env.terminations.values())
        assert env.infos[env.agent_selection]["legal_actions"]
        env.reset()


@GAMES
def test_one_seed_gives_one_opening_and_another_seed_another(game, longest, walks):
    one, two = (walks.make(game, openings=longest) for _ in range(2))
    seen = set()
    for seed in range(30):
        for env in (one, two):
            env.reset(seed=seed)
        assert one.task.state.history() == two.task.state.history()
        seen.add(tuple(one.task.state.history()))
    assert len(seen) > 3


@GAMES
def test_a_fork_and_its_original_open_alike_the_next_time(game, longest, walks):
    env = walks.make(game, openings=longest)
    env.reset(seed=3)
    fork = copy.deepcopy(env)
    env.reset()
    fork.reset()
    assert env.task.state.history() == fork.task.state.history()


@GAMES
def test_an_opening_is_nobodys_turn(game, longest, walks):
    env = walks.make(game, openings=longest)
    for seed in range(40):
        env.reset(seed=seed)
        before = made_moves(env.task.state)
        assert env.episode.turns == []
        assert not any(env.rewards.values())
        joint = env.task.state.is_simultaneous_node()
        episode = walks.random_play(env, seed)
        seats = len(env.possible_agents) if joint else 1
        assert len(episode.turns) == seats * (made_moves(env.task.state) - before)
        assert all(turn.status is Status.LEGAL for turn in episode.turns)


@GAMES
@pytest.mark.parametrize("style", ["full", "terse"])
def test_payoffs_are_still_those_of_the_rules(game, longest, style, walks):
    env = walks.make(game, openings=longest, prompt_style=style)
    for seed in range(40):
        episode = walks.random_play(env, seed)
        again = env.task.game.new_initial_state()
        history = env.task.state.full_history()
        while not again.is_terminal():
            count = again.num_players() if again.is_simultaneous_node() else 1
            actions = [h.action for h in history[:count]]
            again.apply_actions(actions) if count > 1 else again.apply_action(actions[0])
            history = history[count:]
        assert not history
        assert [episode.total(a) for a in env.possible_agents] == again.returns()
        assert [episode.outcome[f"return/{a}"] for a in env.possible_agents] == again.returns()


def test_what_was_paid_during_an_opening_is_paid_to_nobody(walks):
    """Chips that change hands before the play begins are in OpenSpiel's returns, not in ours."""
    game = "repeated_game(stage_game=matrix_pd(),num_repetitions=6)"
    env = walks.make("coevo/openspiel-v0", game=game, openings=3)
    opened = 0
    for seed in range(20):
        env.reset(seed=seed)
        before = env.task.state.returns()
        opened += any(before)
        episode = walks.random_play(env, seed)
        gained = [a - b for a, b in zip(env.task.state.returns(), before, strict=True)]
        assert [episode.total(a) for a in env.possible_agents] == pytest.approx(gained)
    assert opened > 5


def test_openings_take_every_legal_move(walks):
    env = walks.make("coevo/tic_tac_toe-v0", openings=1)
    first = Counter(s.history()[0] for s in starts(env, 900) if s.history())
    assert set(first) == set(range(9))
    assert all(25 <= n <= 85 for n in first.values()), first


def test_without_openings_nothing_is_made(walks):
    plain, none = walks.make("coevo/tic_tac_toe-v0"), walks.make("coevo/tic_tac_toe-v0", openings=0)
    for env in (plain, none):
        assert all(not s.history() for s in starts(env, 20))
        assert "openings" not in env.episode.options
    env = walks.make("coevo/tic_tac_toe-v0", openings=3)
    env.reset(seed=0)
    assert env.episode.options["openings"] == 3


def test_a_play_is_replayed_from_its_record(walks):
    env = walks.make("coevo/connect_four-v0", openings=12)
    episode = walks.random_play(env, 5)
    again = walks.make(episode.env, **episode.options)
    again.reset(seed=episode.seed)
    for turn in episode.turns:
        again.step(answer(turn.move))
    assert again.episode.to_json().split('"turns"')[1].count(",") > 10
    assert again.task.state.history() == env.task.state.history()


@pytest.mark.parametrize("game", ["coevo/tic_tac_toe-v0", "coevo/kuhn_poker-v0"])
@pytest.mark.parametrize("given", [9, -1, True, "2", 1.0, None, np.int64(1)])
def test_what_is_no_length_of_openings_is_refused(game, given, walks):
    with pytest.raises(ConfigError, match=re.escape(f"openings={given!r}")):
        walks.make(game, openings=given)


def test_openings_that_random_play_never_survives_are_refused(walks):
    with pytest.raises(ConfigError, match=r"openings=500: random play of pig.* give fewer moves"):
        walks.make("coevo/openspiel-v0", openings=500)
    env = walks.make("coevo/openspiel-v0", openings=8)
    assert {made_moves(s) for s in starts(env, 100)} == set(range(9))
