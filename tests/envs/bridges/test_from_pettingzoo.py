"""PettingZoo environments as ours: our own numbers view coming back, and the classic games."""

import copy
import pickle
import sys

import numpy as np
import pettingzoo
import pytest

import coevo.envs
from coevo.envs.bridges.arrays import array_env
from coevo.envs.core.errors import ConfigError, MissingExtraError, UnknownNameError
from coevo.envs.core.parsing import answer

BRIDGE, KUHN = "coevo/pettingzoo-v0", "coevo/kuhn_poker-v0"
CLASSIC = {
    "chess-v6": {},
    "connect_four-v3": {},
    "go-v5": {"board_size": 5},
    "hanabi-v5": {},
    "leduc_holdem-v4": {},
    "rps-v2": {},
    "texas_holdem-v4": {},
    "texas_holdem_no_limit-v6": {},
    "tictactoe-v3": {},
}


@pytest.fixture(autouse=True, scope="module")
def registered():
    entries = {
        "test/kuhn-v0": ("coevo.envs.bridges.arrays:array_env", {"env_id": KUHN}),
        "test/text-v0": ("coevo.envs.games.kuhn_poker:env", {}),
    }
    for name, (entry, kwargs) in entries.items():
        pettingzoo.register("aec", name, entry, kwargs=kwargs)
    yield
    for name in entries:
        del pettingzoo.aec_registry[name]


def kuhn(**options):
    return coevo.envs.make(BRIDGE, name="test/kuhn-v0", payoffs=(-2.0, 2.0), **options)


def play(env, seed, most=2000):
    env.reset(seed=seed)
    return play_on(env, np.random.default_rng(seed), most)


def play_on(env, rng, most=2000):
    for _ in range(most):
        if not env.awaiting:
            break
        legal = env.infos[env.agent_selection]["legal_actions"]
        env.step(answer(legal[int(rng.integers(len(legal)))]))
    return env.episode


def test_actions_and_rewards_are_those_of_the_environment():
    ends = set()
    for seed in range(30):
        env, other = kuhn(), array_env(KUHN)
        episode = play(env, seed)
        other.reset(seed=int(np.random.default_rng(seed).integers(2**31)))
        for turn in episode.turns:
            mask = other.observe(other.agent_selection)["action_mask"]
            assert turn.legal == tuple(map(str, np.flatnonzero(mask)))
            other.step(int(turn.move))
        totals = {a: other.text.episode.total(a) for a in other.possible_agents}
        assert {a: episode.total(a) for a in episode.agents} == totals
        ends.add(totals["player_0"])
    assert ends == {-2.0, -1.0, 1.0, 2.0}


def test_a_seat_sees_its_own_card_alone():
    env = kuhn(prompt_style="terse")
    seen = {}
    for seed in range(40):
        env.reset(seed=seed)
        cards = env.task.world.text.task.state.history()[:2]
        seen.setdefault(cards[0], set()).add(env.chat("player_0")[-1]["content"])
    assert {len(texts) for texts in seen.values()} == {1}
    assert len(set.union(*seen.values())) == 3


@pytest.mark.filterwarnings("default")  # about text, and what its tests import
@pytest.mark.parametrize("illegal", ["forfeit", "random", "textarena"])
def test_pettingzoo_accepts_it_again(illegal, capsys):
    from pettingzoo.test import api_test

    env = pettingzoo.make("aec", BRIDGE, name="test/kuhn-v0", illegal=illegal, payoffs=(-2.0, 2.0))
    api_test(env, num_cycles=50)
    assert "Passed API test" in capsys.readouterr().out


def test_a_seed_decides_the_play_and_forks_go_on_by_themselves():
    assert play(kuhn(), 3).to_json() == play(kuhn(), 3).to_json()
    env = kuhn()
    env.reset(seed=3)
    env.step("[0]")
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    ended = play_on(env, np.random.default_rng(1)).to_json()
    assert all(play_on(c, np.random.default_rng(1)).to_json() == ended for c in copies)


def test_episodes_that_are_played_at_once_do_not_meet():
    template = kuhn()
    ended = play(template.fresh(), 3).to_json()
    others = [template.fresh() for _ in range(2)]
    for env in others:
        env.reset(seed=3)
    rngs = [np.random.default_rng(3) for _ in others]
    while others[0].awaiting:
        for env, rng in zip(others, rngs, strict=True):
            (seat,) = env.awaiting
            legal = env.infos[seat]["legal_actions"]
            env.step(answer(legal[int(rng.integers(len(legal)))]))
    assert all(env.episode.to_json() == ended for env in others)


def test_what_cannot_be_played_is_refused_in_one_line(monkeypatch):
    with pytest.raises(UnknownNameError, match="did you mean 'classic/chess-v6'"):
        coevo.envs.make(BRIDGE, name="classic/chess-v5")
    with pytest.raises(ConfigError, match="not Discrete"):
        coevo.envs.make(BRIDGE, name="test/text-v0")
    with pytest.raises(ConfigError, match="no argument 'nobody_knows'"):
        coevo.envs.make(BRIDGE, name="test/kuhn-v0", arguments={"nobody_knows": 1})
    monkeypatch.setitem(sys.modules, "pettingzoo.classic.go.go", None)
    with pytest.raises(MissingExtraError) as caught:
        coevo.envs.make(BRIDGE, name="classic/go-v5")
    assert "\n" not in str(caught.value)
    assert "pip install 'pettingzoo[classic]'" in str(caught.value)


@pytest.mark.filterwarnings("default")  # theirs
@pytest.mark.parametrize("name", CLASSIC)
@pytest.mark.parametrize("style", ["full", "terse"])
def test_every_classic_game_is_played_to_its_end(name, style):
    pytest.importorskip("pygame", reason="pip install 'pettingzoo[classic]'")
    if "holdem" in name:
        pytest.importorskip("rlcard", reason="pip install 'pettingzoo[classic]'")
    options = {"name": f"classic/{name}", "arguments": CLASSIC[name], "prompt_style": style}
    env = coevo.envs.make(BRIDGE, **options)
    low, high = env.payoff_range
    for seed in range(5):
        episode = play(env, seed)
        assert episode.stop == "finished"
        totals = [episode.total(a) for a in episode.agents]
        assert low <= min(totals) <= max(totals) <= high
        assert name.startswith("hanabi") or sum(totals) == 0
    assert play(coevo.envs.make(BRIDGE, **options), 4).to_json() == episode.to_json()


@pytest.mark.filterwarnings("default")  # theirs
def test_classic_games_have_words():
    pytest.importorskip("chess", reason="pip install 'pettingzoo[classic]'")
    pytest.importorskip("pygame", reason="pip install 'pettingzoo[classic]'")
    env = coevo.envs.make(BRIDGE, name="classic/chess-v6")
    env.reset(seed=0)
    for move in ("e2e4", "e7e5", "d1h5", "b8c6", "f1c4", "g8f6", "h5f7"):
        env.step(answer(move))
    assert env.episode.total("player_0") == 1  # the scholar's mate
    env = coevo.envs.make(BRIDGE, name="classic/rps-v2", arguments={"max_cycles": 1})
    env.reset(seed=0)
    env.step("[paper]")
    assert "paper" not in env.chat("player_1")[-1]["content"].partition("Legal")[0]
    env.step("[scissors]")
    assert env.episode.total("player_1") == 1
