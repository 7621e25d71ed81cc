"""Prompts tell a seat all that it knows, nothing that it must not know, and briefly."""

import re

import numpy as np
import pytest
from tokenizers import Tokenizer

from coevo.agents.models.folders import STARTER_MODEL
from coevo.envs.games.states import movers, view

HIDDEN = "goofspiel(num_cards=4,imp_info=True,points_order=descending)"
ENUMERABLE = {
    "kuhn": ("coevo/kuhn_poker-v0", None),
    "leduc": ("coevo/leduc_poker-v0", None),
    "tiny_hanabi": ("coevo/tiny_hanabi-v0", None),
    "goofspiel, open bids": ("coevo/goofspiel-v0", "goofspiel(num_cards=3)"),
    "goofspiel, hidden bids": ("coevo/goofspiel-v0", HIDDEN),
}


def one_to_one(pairs):
    """Return whether equal left sides have equal right sides and different ones different."""
    pairs = set(pairs)
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def texts(walks, env, text_of):
    for state in walks.decision_states(env.task.game.new_initial_state()):
        for player in movers(state):
            yield (player, view(state, player)), text_of(state, player)


@pytest.mark.parametrize("case", ENUMERABLE)
def test_terse_text_is_the_information_state_in_other_words(case, walks):
    name, game = ENUMERABLE[case]
    env = walks.make(name, prompt_style="terse", game=game)
    assert one_to_one(texts(walks, env, env.task.terse_text))


@pytest.mark.parametrize("case", ENUMERABLE)
def test_full_chat_is_the_information_state_in_other_words(case, walks):
    name, game = ENUMERABLE[case]
    env = walks.make(name, game=game)
    chat = lambda s, p: tuple(m["content"] for m in env.task.chat_at(s, p, env.prompt_style))  # noqa: E731
    pairs = list(texts(walks, env, chat))
    if case == "goofspiel, open bids":
        # OpenSpiel's information state keeps the hands and forgets which card was bid when; a
        # chat remembers. So the chat may tell more, never less.
        assert len({b for _, b in pairs}) == len(set(pairs))
    else:
        assert one_to_one(pairs)


def test_tic_tac_toe_text_is_the_board(walks):
    env = walks.make("coevo/tic_tac_toe-v0", prompt_style="terse")
    boards, level = {}, [env.task.game.new_initial_state()]
    while level:
        children = {}
        for state in level:
            text = env.task.terse_text(state, state.current_player())
            assert boards.setdefault(str(state), text) == text
            for action in state.legal_actions():
                child = state.child(action)
                if not child.is_terminal():
                    children[str(child)] = child
        level = list(children.values())
    assert len(boards) == len(set(boards.values())) == 4520


def test_tic_tac_toe_tersely_gives_every_line_as_a_word(walks):
    env = walks.make("coevo/tic_tac_toe-v0", prompt_style="terse")
    env.reset(seed=0)
    for move in "519":
        env.step(f"[{move}]")
    lines = "O23 4X6 78X / O47 2X8 36X / OXX 3X7"
    moves = "Moves: 2, 3, 4, 6, 7, 8. Answer [move]"
    assert env.chat("player_1")[0]["content"] == f"Tic-tac-toe. You are O. {lines}. {moves}"


@pytest.mark.parametrize("name", ["connect_four", "tic_tac_toe"])
def test_text_does_not_depend_on_the_order_of_moves(name, walks):
    env = walks.make(f"coevo/{name}-v0", prompt_style="terse")
    orders = [[0, 1, 2, 4], [2, 4, 0, 1], [2, 1, 0, 4]]
    seen = set()
    for actions in orders:
        state = env.task.game.new_initial_state()
        for action in actions:
            state.apply_action(action)
        seen.add(env.task.terse_text(state, 0))
    assert len(seen) == 1


def test_connect_four_text_is_the_board(walks):
    env = walks.make("coevo/connect_four-v0", prompt_style="terse")
    pairs = set()
    for seed in range(30):
        walks.random_play(
            env, seed, lambda e, a: pairs.add((str(e.task.state), e.chat(a)[-1]["content"]))
        )
    assert len(pairs) > 400
    assert one_to_one(pairs)


def longest_connect_four(env, seed):
    """Fill the board, and avoid moves that end the play where that is possible."""
    state, rng = env.task.game.new_initial_state(), np.random.default_rng(seed)
    while not state.is_terminal():
        yield env.task.terse_text(state, state.current_player())
        legal = state.legal_actions()
        calm = [a for a in legal if not state.child(a).is_terminal()] or legal
        state.apply_action(int(rng.choice(calm)))


def test_terse_prompts_are_short(skin, walks):
    tokenizer = Tokenizer.from_file(str(STARTER_MODEL / "tokenizer.json"))
    env = walks.make(skin, prompt_style="terse")
    prompts = []
    for seed in range(25):
        walks.random_play(env, seed, lambda e, a: prompts.append(e.chat(a)[-1]["content"]))
    if skin == "coevo/connect_four-v0":
        for seed in range(25):
            prompts += longest_connect_four(env, seed)
    assert max(len(tokenizer.encode(p).ids) for p in prompts) <= 64
    assert all("\n" not in p and p.endswith("Answer [move]") for p in prompts)


def test_chat_at_a_state_is_the_chat_of_a_play(skin, walks):
    for style in ("full", "terse"):
        env = walks.make(skin, prompt_style=style)

        def compare(env, agent):
            player = env.possible_agents.index(agent)
            assert env.task.chat_at(env.task.state, player, env.prompt_style) == env.chat(agent)

        walks.random_play(env, 2, compare)


@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "tiny_hanabi"])
def test_the_card_of_another_seat_shows_nowhere(name, style, walks):
    """Deals that differ in the other's card alone look the same, chat and infos, at all turns."""
    env = walks.make(f"coevo/{name}-v0", prompt_style=style)
    looks, deals = {}, set()
    for state in walks.decision_states(env.task.game.new_initial_state()):
        player, other = state.current_player(), 1 - state.current_player()
        history = state.history()
        deals.add((player, history[player], history[other]))
        public = (player, history[player], *history[2:])
        env.reset(seed=0)
        env.task.state = state
        env.task._names = {}
        env._logs = {a: [] for a in env.possible_agents}
        env._starts = dict.fromkeys(env.possible_agents, 0)
        env._open_round()
        agent = env.possible_agents[player]
        waiting = env.possible_agents[other]
        look = repr((env.chat(agent), env.infos[agent]))
        assert looks.setdefault(public, look) == look
        assert env.infos[waiting]["legal_actions"] == []
        assert "information_state" not in env.infos[waiting]
    # Each own card was met with more than one card of the other seat.
    assert all(len({d[2] for d in deals if d[:2] == d2[:2]}) > 1 for d2 in deals)


@pytest.mark.parametrize("style", ["full", "terse"])
def test_a_simultaneous_bid_is_seen_by_nobody_before_the_round_ends(style, walks):
    looks = set()
    for bid in "123456":
        env = walks.make("coevo/goofspiel-v0", prompt_style=style)
        env.reset(seed=4)
        env.step(f"[{bid}]")
        assert env.awaiting == ("player_1",)
        looks.add(repr((env.chat("player_1"), env.infos["player_1"])))
    assert len(looks) == 1


def test_hidden_bids_stay_hidden(walks):
    """With imp_info, two bids of the other seat with the same winner look the same."""
    for style in ("full", "terse"):
        looks = set()
        for bid in "12":
            env = walks.make("coevo/goofspiel-v0", prompt_style=style, game=HIDDEN)
            env.reset(seed=0)
            env.step("[3]")
            env.step(f"[{bid}]")
            looks.add(repr((env.chat("player_0"), env.infos["player_0"])))
        assert len(looks) == 1


def test_the_full_style_tells_what_happened_since_the_last_turn(walks):
    def news(name, *moves):
        env = walks.make(f"coevo/{name}-v0")
        env.reset(seed=1)
        for move in moves:
            env.step(f"[{move}]")
        return env.chat(env.agent_selection)[-1]["content"].splitlines()[0]

    assert news("kuhn_poker", "check") == "So far: player_0 checks."
    assert news("kuhn_poker", "check", "bet") == "Since your last move: player_1 bets."
    assert news("tic_tac_toe") == "The board is empty."
    assert news("connect_four", "4", "3") == "Since your last move: player_1 plays 3."
    assert news("tiny_hanabi", "left").startswith("player_0 said left.")
    opened = news("leduc_poker", "check", "raise", "call")
    assert re.fullmatch(r"Since your last move: the board card is the \w+\.", opened)
    board = news("leduc_poker", "raise", "call")
    assert re.fullmatch(
        r"Since your last move: player_1 calls, the board card is the (jack|queen|king)\.", board
    )
    bids = news("goofspiel", "2", "5")
    assert re.fullmatch(
        r"Last round: for the prize \d you bid 2, player_1 bid 5, and player_1 took it\.", bids
    )


def test_drawings(walks):
    env = walks.make("coevo/tic_tac_toe-v0", render_mode="ansi")
    env.reset(seed=0)
    for move in "159":
        env.step(f"[{move}]")
    assert env.render() == " X | 2 | 3\n---+---+---\n 4 | O | 6\n---+---+---\n 7 | 8 | X"
    env = walks.make("coevo/connect_four-v0", prompt_style="terse")
    env.reset(seed=0)
    for move in "4434":
        env.step(f"[{move}]")
    assert env.chat("player_0")[-1]["content"].startswith(
        "Connect four. You are X. 1 2 3 X 4 X O O 5 6 7. Moves: 1 2 3 4 5 6 7."
    )
    assert env.task.draw().splitlines()[-3:] == [". . . O . . .", ". . . O . . .", ". . X X . . ."]


def test_goofspiel_names_what_became_of_each_prize(walks):
    order = "num_cards=5,points_order=descending"
    for hidden, past in [
        ("false", "Past: 5 tie, 4 you, 3 other. Prize: 2. Other holds: 2 3."),
        ("true", "Past: 5 tied with 5, 4 won with 4, 3 lost with 3. Prize: 2."),
    ]:
        game = f"goofspiel({order},imp_info={hidden})"
        env = walks.make("coevo/goofspiel-v0", prompt_style="terse", game=game)
        env.reset(seed=0)
        for bid in ("5", "5", "4", "1", "3", "4"):
            env.step(f"[{bid}]")
        moves = "Moves: 1, 2. Answer [move]"
        assert env.chat("player_0")[0]["content"] == f"Goofspiel. You are player 0. {past} {moves}"
