"""Gradients towards a behaviour: members are small networks, and climb what pays near a wish."""

import math

import numpy as np
import pytest
import torch

from coevo.benchmarks.reproductions.descriptor_gradients import (
    Climbing,
    DescriptorCritic,
    Perceptron,
    TimeSteps,
)


def test_members_are_networks_of_one_hidden_layer():
    policy, rng = Perceptron(3, 4, 2), np.random.default_rng(0)
    genome_MD = policy.begun(5, rng)
    assert genome_MD.shape == (5, policy.numbers) == (5, 3 * 4 + 4 + 4 * 2 + 2)
    state_MBS = torch.from_numpy(rng.normal(size=(5, 7, 3))).float()
    found_MBA = policy(genome_MD, state_MBS)
    for genome_D, state_BS, found_BA in zip(genome_MD, state_MBS, found_MBA, strict=True):
        first, bias, second, shift = genome_D.split([12, 4, 8, 2])
        hidden_BU = torch.tanh(state_BS @ first.view(3, 4) + bias)
        torch.testing.assert_close(found_BA, torch.tanh(hidden_BU @ second.view(4, 2) + shift))
    assert torch.equal(policy.begun(2, np.random.default_rng(0))[:, 12:16], torch.zeros(2, 4))


def test_a_critic_values_rewards_near_a_wish_and_members_climb_it():
    """One step an episode: the action is the behaviour, and all of it pays 1."""
    rng, draw = np.random.default_rng(0), torch.Generator().manual_seed(0)
    action_B1 = torch.rand(2000, 1, generator=draw) * 2 - 1
    zeros_B1 = torch.zeros(2000, 1)
    ends_B = torch.ones(2000, dtype=torch.bool)
    steps = TimeSteps(zeros_B1, action_B1, torch.ones(2000), zeros_B1, ends_B, action_B1)
    critic = DescriptorCritic(1, 1, 1, 32, 0, Climbing(scale=0.5, lr=3e-3, steps=60))
    critic.fit(steps, 600)
    for wish, action in ((0.0, 0.0), (0.5, 0.5), (0.5, 0.0), (-0.5, 0.5)):
        given_B3 = torch.tensor([[0.0, action, wish]])
        paid = math.exp(-abs(action - wish) / 0.5)
        assert critic.critics[0](given_B3).item() == pytest.approx(paid, abs=0.2)
    policy = Perceptron(1, 4, 1)
    genome_MD = policy.begun(2, rng)
    climbed_MD = critic.climb(policy, genome_MD, torch.tensor([[0.6], [-0.6]]), steps)
    before_M, after_M = (policy(g, torch.zeros(2, 1, 1)).flatten() for g in (genome_MD, climbed_MD))
    assert before_M.tolist() == [0.0, 0.0]
    assert after_M[0] > 0.2 and after_M[1] < -0.2
