"""The generic skin plays every OpenSpiel game that can be loaded without parameters."""

import numpy as np
import pyspiel
import pytest

from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer, parse_move
from coevo.envs.games.openspiel import OpenSpielTask

REFUSED = {
    "bridge_uncontested_bidding": "hidden generator",
    "crossword": "no numbered actions",
    "mfg_crowd_modelling": "mean-field",
    "mfg_crowd_modelling_2d": "mean-field",
    "mfg_dynamic_routing": "mean-field",
    "mfg_garnet": "mean-field",
    "negotiation": "hidden generator",
    "stones_and_gems": "hidden generator",
    "tarok": "hidden generator",
}
LOADABLE = sorted(t.short_name for t in pyspiel.registered_games() if t.default_loadable)
# Games of the python library appear here only if some other test has imported them.
PLAYED = [n for n in LOADABLE if n not in REFUSED and not n.startswith("python_")]
LONGEST_FULL, LONGEST_TERSE = 32_000, 4_000


def check_turn(env, agent, number):
    legal, chat = env.infos[agent]["legal_actions"], env.chat(agent)
    assert legal
    assert all(parse_move(answer(move), legal).move == move for move in legal)
    assert not any(set("[]\n") & set(move) for move in legal)
    limit = LONGEST_FULL if env.prompt_style == "full" else LONGEST_TERSE
    assert len(chat[-1]["content"]) <= limit
    if number in (0, 1, 2, 3, 9):
        player = env.possible_agents.index(agent)
        assert env.task.chat_at(env.task.state, player, env.prompt_style) == chat


@pytest.mark.parametrize("game", PLAYED)
@pytest.mark.parametrize(("style", "moves"), [("full", 60), ("terse", 10)])
def test_random_play(game, style, moves, walks):
    env = walks.make("coevo/openspiel-v0", game=game, prompt_style=style)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for number in range(moves):
        if not env.awaiting:
            break
        agent = env.agent_selection
        check_turn(env, agent, number)
        legal = env.infos[agent]["legal_actions"]
        env.step(answer(legal[int(rng.integers(len(legal)))]))
    assert number > 0 or not env.awaiting
    totals = [env.episode.total(a) for a in env.possible_agents]
    assert totals == pytest.approx(env.task.state.returns())


@pytest.mark.parametrize("game", REFUSED)
def test_a_game_that_cannot_be_played_is_refused_with_the_reason(game, walks):
    with pytest.raises(ConfigError, match=REFUSED[game]):
        walks.make("coevo/openspiel-v0", game=game)


def test_unknown_games_and_parameters_are_named(walks):
    with pytest.raises(UnknownNameError, match="kuhn_poker"):
        walks.make("coevo/openspiel-v0", game="kuhn")
    with pytest.raises(UnknownNameError, match="unknown OpenSpiel game ''"):
        walks.make("coevo/openspiel-v0", game="")
    with pytest.raises(ConfigError, match="game=5"):
        walks.make("coevo/openspiel-v0", game=5)
    with pytest.raises(ConfigError, match="bananas"):
        walks.make("coevo/openspiel-v0", game="kuhn_poker(bananas=3)")


@pytest.mark.parametrize("game", ["go(board_size=-1)", "kuhn_poker(players=99999)"])
def test_what_openspiel_refuses_is_said_once_and_by_us(game, walks, capfd):
    with pytest.raises(ConfigError, match="OpenSpiel refuses"):
        walks.make("coevo/openspiel-v0", game=game)
    assert capfd.readouterr() == ("", "")


def test_open_games_show_the_board_and_what_the_others_did(walks):
    env = walks.make("coevo/openspiel-v0", game="pig")
    env.reset(seed=0)
    env.step("[roll]")
    said = env.chat(env.agent_selection)[-1]["content"]
    assert "Roll" in said.splitlines()[0]
    assert "Scores: 0 0" in said
    nim = walks.make("coevo/openspiel-v0", game="nim(pile_sizes=3;4;5,is_misere=false)")
    nim.reset(seed=0)
    nim.step("[pile 1 take 3]")
    lines = nim.chat("player_1")[-1]["content"].splitlines()
    assert lines[:2] == ["So far: player_0 plays pile 1 take 3.", "(1): 0 4 5"]


def test_closed_games_do_not_show_the_history(walks):
    env = walks.make("coevo/openspiel-v0", game="kuhn_poker")
    env.reset(seed=0)
    env.step("[Pass]")
    assert env.chat("player_1")[-1]["content"].startswith(f"{env.task.state.history()[1]}p\n")
    assert "history" not in env.infos["player_1"]


@pytest.mark.parametrize("stage", ["matrix_rps()", "goofspiel(num_cards=3)"])
def test_a_simultaneous_game_taken_in_turns_hides_the_first_move(stage, walks):
    looks = set()
    for move in range(3):
        env = walks.make("coevo/openspiel-v0", game=f"turn_based_simultaneous_game(game={stage})")
        env.reset(seed=0)
        env.step(answer(env.infos["player_0"]["legal_actions"][move]))
        looks.add(repr((env.chat("player_1"), env.infos["player_1"])))
    assert len(looks) == 1


@pytest.mark.parametrize(
    ("game", "at_once"),
    [
        ("python_tic_tac_toe", False),
        ("python_kuhn_poker", False),
        ("python_iterated_prisoners_dilemma", True),
    ],
)
def test_games_that_openspiel_has_in_python_can_be_played(game, at_once):
    env, rng = turn_based(OpenSpielTask)[0](game=game), np.random.default_rng(0)
    env.reset(seed=0)
    assert env.task.simultaneous == at_once
    while env.awaiting:
        env.step(answer(str(rng.choice(env.task.legal(env.agent_selection)))))
    assert env.episode.stop == "finished"
    returns = [env.episode.outcome[f"return/{a}"] for a in env.possible_agents]
    assert returns == pytest.approx(list(env.task.state.returns()))


class SameName(OpenSpielTask):
    """A skin that cannot tell moves apart."""

    def move_name(self, state, player, action):
        return "go"


def test_equal_names_of_one_state_are_numbered():
    env = turn_based(SameName)[0](game="nim")
    env.reset(seed=0)
    legal = env.infos["player_0"]["legal_actions"]
    assert legal[:3] == ["go", "go (2)", "go (3)"]
    actions = env.task.state.legal_actions()
    env.step("[go (3)]")
    assert env.task.state.history() == [actions[2]]
    env.step("[go]")
    assert env.chat("player_0")[-2]["content"] == "[go (3)]"
    assert env.task.chat_at(env.task.state, 0, env.prompt_style) == env.chat("player_0")


def test_long_lists_of_moves_are_cut_in_the_prompt_only(walks):
    env = walks.make("coevo/openspiel-v0", game="go", prompt_style="terse")
    env.reset(seed=0)
    assert len(env.infos["player_0"]["legal_actions"]) == 362
    assert "and 322 more" in env.chat("player_0")[0]["content"]


def test_chance_comes_from_the_environment_alone(walks):
    """The first roll of backgammon varies with the seed and does not touch the global state."""
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    rolls = set()
    for seed in range(12):
        env = walks.make("coevo/openspiel-v0", game="backgammon")
        env.reset(seed=seed)
        rolls.add(env.task.state.history()[0])
    assert len(rolls) > 3
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
