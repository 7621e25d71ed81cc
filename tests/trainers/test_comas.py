"""CoMAS from a discussion to advantages: rewards by reply, whitening by agent and by role."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.agents.sampling import SamplingConfig
from coevo.envs import make
from coevo.envs.rewards import Interaction
from coevo.trainers import loop
from coevo.trainers.advantage import advantages
from coevo.trainers.algorithms import algorithm
from coevo.trainers.build import build
from coevo.trainers.components import TokenStd
from coevo.trainers.estimate import Estimate

SAYS = {
    "solver": ("[1]", "[2]"),
    "evaluator": ("[right]", "[wrong]"),
    "scorer": ("[1]", "[2]", "[3]", "hm"),
}


def discussion(seed, **options):
    """Play with fixed replies that count as a policy's; some are longer than others."""
    env = make("coevo/peer_review-v0", rewards=[Interaction()], **options)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    while env.awaiting:
        said = SAYS[env.infos[env.agent_selection]["role"]]
        env.step(said[int(rng.integers(len(said)))])
    for i, turn in enumerate(env.episode.turns):
        turn.player, turn.prompt_ids = turn.agent, [100 + i]
        turn.token_ids = [7] * (1 + int(rng.integers(3)))
        turn.logprobs = [-1.0] * len(turn.token_ids)
    return env.episode


def whitened(values, lengths):
    """Whiten with every token as one observation."""
    token = np.repeat(values, lengths)
    return (np.array(values) - token.mean()) / (token.std(ddof=1) + 1e-6)


@pytest.mark.parametrize("variant", [None, "role"])
@pytest.mark.parametrize("options", [{}, {"num_agents": 3, "evaluations": 2}])
def test_every_reply_is_whitened_with_its_agents_own_replies(variant, options):
    episodes = [discussion(seed, **options) for seed in range(6)]
    batch = build(episodes, list(range(6)))
    made, _, _ = advantages(algorithm("comas", variant).advantage, batch)
    a_BS = made.joined(made.advantage_CL)
    turns = [t for e in episodes for t in e.turns]
    expected = {}
    for agent in episodes[0].agents:
        for role in ("solver", "evaluator", "scorer"):
            own = [t for t in turns if t.agent == agent and (variant is None or t.role == role)]
            paid = [t.rewards["interaction"][agent] for t in own]
            made = whitened(paid, [len(t.token_ids) for t in own])
            expected |= {id(t): a for t, a in zip(own, made, strict=True)}
    for b, own in enumerate(batch.turns_B):
        wanted = [expected[id(t)] for t in own for _ in t.token_ids]
        assert a_BS[b, : len(wanted)].tolist() == pytest.approx(wanted, abs=1e-5)
        assert not a_BS[b, len(wanted) :].any()


def test_roles_that_earn_a_constant_do_not_teach_when_whitened_apart():
    episodes = [discussion(seed) for seed in range(4)]
    for e in episodes:
        for turn in e.turns:
            if turn.role == "scorer":
                turn.rewards["interaction"] = {turn.agent: 0.0}
    batch = build(episodes, list(range(4)))

    def of_scorers(variant):
        made, _, _ = advantages(algorithm("comas", variant).advantage, batch)
        role_BS = [[t.role for t in own for _ in t.token_ids] for own in batch.turns_B]
        rows = zip(made.joined(made.advantage_CL).tolist(), role_BS, strict=True)
        return [a for row, roles in rows for a, r in zip(row, roles, strict=False) if r == "scorer"]

    assert set(of_scorers("role")) == {0.0}
    assert min(map(abs, of_scorers(None))) > 0.1


def test_whitening_by_a_key_is_whitening_each_part_alone():
    rewards = [[1.0, 0.0, 3.0], [2.0, 2.0], [5.0, 1.0, 0.5], [4.0]]
    tokens, policy = [[1, 2, 1], [3, 1], [1, 1, 2], [2]], [0, 0, 1, 1]
    e = Estimate.of(rewards, tokens=tokens, policy=policy)
    mask = e.batch.turn_mask_BT
    both = TokenStd(by="policy")(e).y
    for value in (0, 1):
        rows = [i for i, p in enumerate(policy) if p == value]
        alone = Estimate.of([rewards[i] for i in rows], tokens=[tokens[i] for i in rows])
        one = TokenStd()(alone).y
        assert torch.allclose(both[rows][mask[rows]], one[alone.batch.turn_mask_BT])
    assert not torch.allclose(TokenStd()(e).y, both)


@pytest.mark.parametrize("variant", [None, "shared", "kl"])
def test_it_trains_every_agent_on_its_own_replies(config, folder, variant):
    given = config("grpo", steps=1, checkpoint_every=100)
    record = algorithm("comas", variant, {"collect.episodes": 4, "optim.warmup": 0})
    given = replace(
        given,
        algorithm=record,
        env="coevo/peer_review-v0",
        env_options={"prompt_style": "terse", "rounds": 1},
        sampling=SamplingConfig(max_new_tokens=4),
    )
    run = loop.train(given, folder(given))
    names = {"policy"} if variant == "shared" else {"agent_0", "agent_1"}
    assert set(run.learners) == names
    (metrics,) = run.folder.read_metrics()
    # Replies of a random model are never scores: every attempt costs 1, and that is a lesson.
    assert metrics["reward/interaction"] == pytest.approx(-2.0)
    norms = [v for k, v in metrics.items() if k.endswith("grad_norm")]
    assert len(norms) == len(names)
    assert all(norm > 0 for norm in norms)
