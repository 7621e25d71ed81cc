"""A discriminator of policies: what it reads, what it learns, and what is said when it cannot."""

import numpy as np
import pytest
import torch

from coevo.envs.core.episode import Episode, StopReason, Turn, write_episodes
from coevo.envs.core.errors import ConfigError, DataError, UnknownNameError
from coevo.envs.core.parsing import Status
from coevo.trainers.judges.policy_discriminator import Discriminator, PolicyDiscriminator

SEAT = "player_0"


def play(text, version=-1):
    turn = Turn(SEAT, (), text, text, Status.LEGAL, None, player="policy", version=version)
    return Episode("e", 0, {}, (SEAT,), "t", [turn], StopReason.FINISHED)


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    file = tmp_path / "episodes.jsonl"
    for version, letters in ((0, "ab"), (40, "cd")):
        drawn = ["".join(rng.choice(list(letters), 8)) for _ in range(20)]
        write_episodes(file, [play(text, version) for text in drawn])
    return str(file)


def test_the_end_of_a_text_is_read_and_padding_is_not():
    model = Discriminator(8, longest=4).requires_grad_(False)
    alone, beside = model.encode(["abcd"]), model.encode(["abcd", "a", "xxabcd"])
    assert torch.allclose(alone[0], beside[0]) and torch.allclose(beside[0], beside[2])
    assert model.encode([""]).isfinite().all()


def test_replies_like_those_of_the_policy_are_paid_more(path):
    for like, better in (("policy@0", 0), ("policy@40", 1)):
        module = PolicyDiscriminator(path=path, like=like, steps=40)
        paid = [table[0][SEAT] for table in module.table([play("abba"), play("cddc")])]
        assert paid[better] > paid[1 - better] + 1
        assert paid == module.scores(["abba", "cddc"])
    assert module.table([]) == [] and module.scores([]) == []


def test_what_it_needs_is_said(path, tmp_path):
    with pytest.raises(ConfigError, match="like=NAME@VERSION"):
        PolicyDiscriminator().table([play("a")])
    with pytest.raises(UnknownNameError, match="did you mean 'policy@4"):
        PolicyDiscriminator(path=path, like="policy@4").table([play("a")])
    write_episodes(tmp_path / "one", [play("a", 0)])
    with pytest.raises(DataError, match="two policies are needed"):
        PolicyDiscriminator(path=str(tmp_path / "one"), like="policy@0").table([play("a")])
