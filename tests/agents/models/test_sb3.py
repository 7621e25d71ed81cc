"""Policies of stable-baselines3 as agents: what they play is what the library's policy plays."""

import json
import pickle

import numpy as np
import pytest
import torch

from coevo.agents.agent import Request
from coevo.agents.models.network import Network, layers_of
from coevo.agents.models.sb3 import NEVER, Card, SB3Agent, load_sb3, network_of, save_sb3
from coevo.agents.scripted import RandomAgent
from coevo.agents.strategies.game_tree import check_knowable, known_state
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.exact import exploitability
from coevo.envs import list_envs, make
from coevo.envs.bridges.vector import vector_env
from coevo.envs.core.errors import ConfigError, DataError, UnknownNameError
from coevo.envs.games.openspiel import OpenSpielTask
from coevo.envs.games.tensors import encoding
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")

KUHN, LEDUC = "coevo/kuhn_poker-v0", "coevo/leduc_poker-v0"
TIC_TAC_TOE, GOOFSPIEL = "coevo/tic_tac_toe-v0", "coevo/goofspiel-v0"
ANY_GAME = "coevo/openspiel-v0"
CLASSES = {"ppo": sb3.PPO, "dqn": sb3.DQN, "maskable_ppo": contrib.MaskablePPO}
LARGE = tuple(
    f"coevo/{name}-v0"
    for name in (
        *("bargaining", "battleship", "dark_hex", "phantom_tic_tac_toe"),  # refused: see below
        *("hanabi", "mini_hanabi", "simple_hanabi"),  # the same
        "liars_dice",  # seconds: a smaller one stands for it
    )
)
"""Games whose hidden states are too many to find one by what a seat was told."""
KNOWN = [
    spec.id
    for spec in list_envs()
    if isinstance(make(spec.id).task, OpenSpielTask) and spec.id not in LARGE
]
GAMES = [(env_id, {}) for env_id in KNOWN] + [
    ("coevo/liars_dice-v0", {"game": "liars_dice(dice_sides=3)"}),
    (GOOFSPIEL, {"game": "goofspiel(num_cards=4,imp_info=true)"}),
    (ANY_GAME, {"game": "goofspiel(players=3,num_cards=4)"}),
    (ANY_GAME, {"game": "kuhn_poker(players=3)"}),
    (ANY_GAME, {"game": "matrix_rps"}),
]


def sharp_model(algo, env_id, scale=20.0, **options):
    """Make an untrained model whose odds are far from even."""
    few = {"buffer_size": 10} if algo == "dqn" else {"n_steps": 8, "batch_size": 8}
    view = vector_env(env_id, **options)
    model = CLASSES[algo]("MlpPolicy", view, seed=1, device="cpu", **few)
    last = model.policy.q_net.q_net[-1] if algo == "dqn" else model.policy.action_net
    with torch.no_grad():
        last.weight.mul_(1.0 if algo == "dqn" else 100 * scale)
    return model


def card_of(algo, env_id, **options):
    game = make(env_id, **options).task.game
    how = str(encoding(game))
    return Card(algo=algo, env=env_id, env_options=options, game=str(game), encoding=how)


def sharp_agent(algo, env_id, **options):
    network = network_of(sharp_model(algo, env_id, **options))
    return SB3Agent(network, card_of(algo, env_id, **options))


def request_of(env, seat):
    rng = np.random.default_rng(0)
    return Request(seat, env.chat(seat), env.infos[seat], rng)


def positions(env_id, count=12, **options):
    """Return (view, request) at turns of random play."""
    view, rng = vector_env(env_id, **options), np.random.default_rng(0)
    over = True
    while count:
        if over:
            view.reset(seed=count)
        yield view, request_of(view.env, view.seat)
        count -= 1
        over = view.step(int(rng.choice(np.flatnonzero(view.action_masks()))))[2]


def theirs(model, algo, seen, mask):
    """Return stable-baselines3's own odds of one observation."""
    rows = torch.as_tensor(seen[None])
    with torch.no_grad():
        if algo == "dqn":
            return np.eye(len(mask))[int(model.policy.q_net(rows).argmax())]
        masks = {"action_masks": mask[None]} if algo == "maskable_ppo" else {}
        return model.policy.get_distribution(rows, **masks).distribution.probs[0].numpy()


@pytest.mark.parametrize("algo", CLASSES)
@pytest.mark.parametrize("env_id", [LEDUC, TIC_TAC_TOE])
def test_odds_are_those_of_the_library(algo, env_id):
    model = sharp_model(algo, env_id)
    network = network_of(model)
    assert network.masked == (algo == "maskable_ppo")
    spread = []
    for view, _ in positions(env_id):
        seen, mask = view.task.array(view.seat), view.action_masks()
        ours = network.odds(seen[None], (mask if network.masked else np.ones_like(mask))[None])[0]
        np.testing.assert_allclose(ours, theirs(model, algo, seen, mask), atol=1e-5)
        spread.append(ours.max())
    assert max(spread) > 0.5


@pytest.mark.parametrize("env_id", ["coevo/mini_hanabi-v0"])
def test_a_game_whose_states_cannot_be_found_is_refused(env_id):
    agent = sharp_agent("maskable_ppo", env_id)
    with pytest.raises(ConfigError, match="cannot be turned back into numbers"):
        agent._read(next(request for _, request in positions(env_id)))


@pytest.mark.parametrize(("env_id", "options"), GAMES)
def test_a_request_gives_the_numbers_of_training(env_id, options):
    agent = sharp_agent("maskable_ppo", env_id, **options)
    for view, request in positions(env_id, **options):
        row, legal = agent._read(request)
        assert row.tolist() == view.task.array(view.seat).tolist()
        assert np.flatnonzero(view.action_masks()).tolist() == list(legal)
        assert list(legal.values()) == request.info["legal_actions"]


@pytest.mark.parametrize("algo", CLASSES)
def test_a_saved_policy_plays_the_same(algo, tmp_path):
    model = sharp_model(algo, LEDUC)
    save_sb3(tmp_path / "new" / "folder", model, card_of(algo, LEDUC))
    agent = load_sb3(tmp_path / "new" / "folder", name="mine")
    assert (agent.name, agent.card.algo, agent.card.env) == ("mine", algo, LEDUC)
    assert agent.card == card_of(algo, LEDUC)
    asked = [request for _, request in positions(LEDUC)]
    before = SB3Agent(network_of(model), agent.card)
    for ours, same in zip(before.probabilities(asked), agent.probabilities(asked), strict=True):
        assert ours.tolist() == same.tolist()
    facts = json.loads((tmp_path / "new" / "folder" / "sb3.json").read_text())
    assert facts["versions"]["stable-baselines3"] == sb3.__version__


def test_reading_a_policy_unpickles_nothing(tmp_path, monkeypatch):
    save_sb3(tmp_path, sharp_model("ppo", KUHN), card_of("ppo", KUHN))

    def refuse(*args, **kwargs):
        raise AssertionError("unpickled")

    for module, name in ((pickle, "load"), (pickle, "loads"), (torch, "load")):
        monkeypatch.setattr(module, name, refuse)
    monkeypatch.setattr(pickle, "Unpickler", refuse)
    (tmp_path / "model.zip").unlink()
    assert load_sb3(tmp_path).network.inputs == 13


def test_the_archive_is_the_librarys_own(tmp_path):
    model = sharp_model("maskable_ppo", KUHN)
    save_sb3(tmp_path, model, card_of("maskable_ppo", KUHN))
    again = contrib.MaskablePPO.load(tmp_path / "model.zip", device="cpu")
    weights = zip(again.policy.parameters(), model.policy.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in weights)


def drop(folder):
    (folder / "policy.safetensors").unlink()


def cut(folder):
    path = folder / "policy.safetensors"
    path.write_bytes(path.read_bytes()[:100])


def edit(**changes):
    def change(folder):
        facts = json.loads((folder / "sb3.json").read_text()) | changes
        (folder / "sb3.json").write_text(json.dumps(facts))

    return change


def garble(folder):
    (folder / "sb3.json").write_text("{")


@pytest.mark.parametrize(
    "damage",
    [
        drop,
        cut,
        garble,
        edit(schema=9),
        edit(network={}),
        edit(network=3),
        edit(game="leduc_poker"),
    ],
)
def test_a_damaged_folder_is_one_clear_line(damage, tmp_path):
    save_sb3(tmp_path, sharp_model("ppo", KUHN), card_of("ppo", KUHN))
    damage(tmp_path)
    with pytest.raises(DataError, match=r"holds no readable policy") as caught:
        load_sb3(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_missing_folder_is_one_clear_line(tmp_path):
    with pytest.raises(DataError, match="holds no readable policy"):
        load_sb3(tmp_path / "nowhere")


@pytest.mark.parametrize("algo", CLASSES)
def test_evaluation_counts_illegal_actions_of_policies_without_a_mask(algo):
    agent = sharp_agent(algo, TIC_TAC_TOE)
    score = evaluate(agent, TIC_TAC_TOE, "random", games=20)
    assert (score.forfeit_rate == 0) == (algo == "maskable_ppo")


def test_equal_deals_are_played_alike():
    specs = [EpisodeSpec(seed, {"player_0": "sb3", "player_1": "random"}) for seed in range(10)]
    plays = [
        rollout(LEDUC, specs, {"sb3": sharp_agent("ppo", LEDUC), "random": RandomAgent()})
        for _ in range(2)
    ]
    assert [e.to_json() for e in plays[0]] == [e.to_json() for e in plays[1]]


@pytest.mark.parametrize("algo", CLASSES)
def test_exact_evaluation_asks_every_information_state(algo):
    found = exploitability(sharp_agent(algo, LEDUC), LEDUC)
    assert found.information_states == 288
    assert found.exploitability > 0.5
    if algo == "maskable_ppo":
        assert found.legal_mass_min == pytest.approx(1)
    elif algo == "ppo":
        assert found.legal_mass_min < 0.5
    else:
        assert found.legal_mass_min == pytest.approx(NEVER)


def test_an_untrained_policy_is_about_as_exploitable_as_random_play():
    agent = sharp_agent("maskable_ppo", KUHN)
    even = Network([(w * 0, b * 0) for w, b in agent.network.layers], "tanh", "softmax", True)
    found = exploitability(SB3Agent(even, agent.card), KUHN)
    assert found.exploitability == pytest.approx(11 / 24)


def test_exploitability_of_one_who_always_bets_by_hand():
    # Against one who always bets and calls, fold the jack, call or bet the other two cards:
    # -1, 0 on average and 2 chips, so 1/3 per play in either seat.
    agent = sharp_agent("maskable_ppo", KUHN)
    layers = [(np.zeros((2, 13)), np.array([-50.0, 50.0]))]
    bettor = SB3Agent(Network(layers, "none", "softmax", True), agent.card)
    found = exploitability(bettor, KUHN)
    assert found.on_policy_values == pytest.approx((0, 0), abs=1e-9)
    assert found.best_response_values == pytest.approx((1 / 3, 1 / 3))


def test_guided_choice_keeps_every_policy_to_legal_moves(tmp_path):
    model = sharp_model("dqn", TIC_TAC_TOE)
    save_sb3(tmp_path, model, card_of("dqn", TIC_TAC_TOE))
    agent, guided = load_sb3(tmp_path), load_sb3(tmp_path, guided=True)
    for _, request in positions(TIC_TAC_TOE, 30):
        [free] = agent.act([request])
        [held] = guided.act([request])
        assert held.text[1:-1] in request.info["legal_actions"]
        odds = agent.move_logprobs([request])[0]
        legal = free.text[1:-1] in request.info["legal_actions"]
        assert np.exp(odds).sum() == pytest.approx(1.0 if legal else NEVER)
        assert agent.probabilities([request])[0].sum() == pytest.approx(1)


def test_no_requests_no_replies():
    assert sharp_agent("ppo", KUHN).act([]) == []


def test_another_game_is_refused():
    agent = sharp_agent("ppo", KUHN)
    for env_id in (LEDUC, TIC_TAC_TOE):
        [(_, request)] = positions(env_id, 1)
        with pytest.raises(ConfigError, match="has learnt kuhn_poker"):
            agent.act([request])
    with pytest.raises(ConfigError, match="names no game"):
        agent.act([Request("a", (), {"legal_actions": ["b"]}, np.random.default_rng(0))])
    with pytest.raises(ConfigError, match="takes 13 numbers"):
        SB3Agent(agent.network, card_of("ppo", LEDUC))


def test_what_is_hidden_in_a_large_game_cannot_be_turned_back():
    for game in ("kuhn_poker", "tic_tac_toe", "goofspiel(num_cards=6)", "chess"):
        check_knowable(game)
    with pytest.raises(ConfigError, match=r"cannot be turned back .* no information states"):
        check_knowable("gin_rummy")
    with pytest.raises(ConfigError, match="names no game"):
        known_state({})


def test_only_plain_policies_can_be_taken_over():
    class Other:
        policy = object()

    with pytest.raises(ConfigError, match="not a policy of PPO"):
        network_of(Other())
    continuous = sb3.SAC("MlpPolicy", "Pendulum-v1", buffer_size=10, device="cpu")
    with pytest.raises(ConfigError, match="not a policy of PPO"):
        network_of(continuous)


def test_networks_refuse_what_does_not_fit():
    two, three = np.zeros((2, 3)), np.zeros((4, 2))
    with pytest.raises(DataError, match="do not fit together"):
        Network([(three, np.zeros(4)), (two, np.zeros(2))], "tanh", "softmax")
    with pytest.raises(DataError, match="do not fit together"):
        Network([(two, np.zeros(3))], "tanh", "softmax")
    with pytest.raises(DataError, match="do not fit together"):
        Network([], "tanh", "softmax")
    with pytest.raises(UnknownNameError, match="did you mean 'tanh'"):
        Network([(two, np.zeros(2))], "tan", "softmax")
    with pytest.raises(UnknownNameError, match="did you mean 'greedy'"):
        Network([(two, np.zeros(2))], "tanh", "greed")
    with pytest.raises(DataError, match=r"lack 1\.weight"):
        layers_of({"0.weight": two, "0.bias": two, "2.weight": two, "2.bias": two})


def test_a_network_draws_by_its_odds():
    layers = [(np.zeros((3, 1)), np.log([1.0, 2.0, 5.0]))]
    seen, rng = np.zeros(1), np.random.default_rng(0)
    mask = np.array([True, True, False])
    for masked, expected in ((True, [1 / 3, 2 / 3, 0]), (False, [1 / 8, 2 / 8, 5 / 8])):
        network = Network(layers, "none", "softmax", masked)
        drawn = np.bincount([network(seen, mask, rng) for _ in range(4000)], minlength=3)
        assert drawn / 4000 == pytest.approx(expected, abs=0.03)
    greedy = Network(layers, "none", "greedy", epsilon=0.3)
    drawn = np.bincount([greedy(seen, mask, rng) for _ in range(4000)], minlength=3)
    assert drawn / 4000 == pytest.approx([0.1, 0.1, 0.8], abs=0.03)
