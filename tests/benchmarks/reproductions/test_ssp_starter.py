"""The invariants of search self-play: episodes as they are keep them, each fault is seen."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.agents.agent import Agent, Reply
from coevo.benchmarks.reproductions.claims import ssp_starter
from coevo.trainers.advantage import advantages
from coevo.trainers.algorithms import algorithm
from coevo.trainers.build import build
from coevo.trainers.collect.collector import Collected
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.components import GroupMean

SPEC = algorithm("ssp").advantage
SEATS = ("proposer_0", *(f"solver_{i}" for i in range(3)))


class Spoken(Agent):
    """Speaks by the script with bytes for tokens, like a policy of a given skill."""

    version = 0
    insider = True

    def __init__(self, skill):
        self.skill = skill

    def act(self, requests):
        return [self._one(r) for r in requests]

    def _one(self, request):
        said = request.inside.expert(self.skill)
        text = said.texts[int(request.rng.choice(len(said.texts), p=said.probabilities))]
        ids = list(text.encode())
        return Reply(text, list(request.chat[-1]["content"].encode()), ids, [-1.0] * len(ids))


@pytest.fixture(scope="module")
def gathered():
    players = {"solver": Spoken(0.6), "proposer": Spoken(0.8)}
    seated = {s: s.partition("_")[0] for s in SEATS}
    matches = [EpisodeSpec(seed, seated) for seed in range(16)]
    options = {"prompt_style": "terse", "world": ssp_starter.TRAIN, "solvers": 3}
    episodes = rollout(ssp_starter.ENV, matches, players, options)
    return Collected(episodes, list(range(16)), 16, 0, {})


@pytest.fixture
def found(gathered):
    given = copy.deepcopy(gathered)
    return given, build(given.episodes, given.groups)


def test_they_hold(found):
    seen = ssp_starter.invariants(*found, SPEC)
    assert seen["episodes"] == 16 and 4 <= seen["valid"] < 16
    assert (seen["tokens"], seen["links"], seen["payments"]) == (0, 0, 0)
    assert (seen["credits"], seen["reasons"], seen["leaks"]) == (0, 0, 0)


def test_solvers_are_compared_with_their_own_play_and_proposers_with_nobody(found):
    given, batch = found
    a_BS = batch.joined(advantages(SPEC, batch)[0].advantage_CL)
    for at, episode in enumerate(given.episodes):
        own = [b for b, (e, s) in enumerate(batch.origin_B) if e == at and s.startswith("solver")]
        if not own:
            continue
        paid = np.array([episode.total(batch.origin_B[b][1]) for b in own])
        wanted = (paid - paid.mean()) / (paid.std(ddof=1) + 1e-6) if paid.std() else 0 * paid
        assert a_BS[own, 0].tolist() == pytest.approx(wanted.tolist(), abs=1e-5)
    rejected = [
        b
        for b, (at, seat) in enumerate(batch.origin_B)
        if seat == "proposer_0" and not given.episodes[at].outcome["gate/valid"]
    ]
    assert rejected and bool((a_BS[rejected] == 0).all()), "no step is made for a rejection"


def test_the_order_of_plays_moves_no_reward(found):
    given, batch = found
    plain = batch.joined(advantages(SPEC, batch)[0].advantage_CL)
    turned = build(given.episodes[::-1], given.groups[::-1])
    other = turned.joined(advantages(SPEC, turned)[0].advantage_CL)
    by_seat = {(at, s): plain[b].sum() for b, (at, s) in enumerate(batch.origin_B)}
    for b, (at, seat) in enumerate(turned.origin_B):
        assert torch.isclose(other[b].sum(), by_seat[15 - at, seat])


def accepted(given):
    return next((e, t) for e in given.episodes for t in e.turns if t.notes.get("gate") == "valid")


def test_a_token_that_was_not_sampled_is_seen(found):
    given, batch = found
    given.episodes[0].turns[0].token_ids.append(7)
    assert ssp_starter.invariants(given, batch, SPEC)["tokens"] > 0


def test_a_wrong_link_is_seen(found):
    given, batch = found
    episode, _ = accepted(given)
    next(t for t in episode.turns if t.role == "solver").about = 0
    assert ssp_starter.invariants(given, batch, SPEC)["links"] > 0


def test_a_payment_for_another_question_is_seen(found):
    given, batch = found
    episode, _ = accepted(given)
    episode.turns[-1].pay("payoff", {"proposer_0": 0.2})
    seen = ssp_starter.invariants(given, batch, SPEC)
    assert seen["payments"] > 0 and seen["credits"] > 0


def test_a_baseline_for_the_proposer_is_seen(found):

    pooled = replace(SPEC, baseline=GroupMean(by="role"))
    assert ssp_starter.invariants(*found, pooled)["credits"] > 0


def test_a_reason_that_nobody_knows_and_a_missing_one_are_seen(found):
    given, batch = found
    _, turn = accepted(given)
    turn.notes["gate"] = "because"
    assert ssp_starter.invariants(given, batch, SPEC)["reasons"] > 0
    del turn.notes["gate"]
    assert ssp_starter.invariants(given, batch, SPEC)["reasons"] > 0


def test_a_leak_is_seen(found):
    given, batch = found
    episode, turn = accepted(given)
    here = ssp_starter.world_of(episode)
    path = here.parse(turn.answer)
    bridge = here.trace(path)[1]
    turn.answer = f"{path.relations[-1]} of {bridge}"
    assert ssp_starter.invariants(given, batch, SPEC)["leaks"] == 0, "nothing between is named"
    turn.answer = f"{turn.answer}, that is {bridge}"
    assert ssp_starter.invariants(given, batch, SPEC)["leaks"] > 0


def test_a_question_that_leads_nowhere_is_a_fault_and_no_error(found):
    given, batch = found
    episode, turn = accepted(given)
    here = ssp_starter.world_of(episode)
    questions = (f"boss of friend of {name}" for name in here.entities)
    paths = ((q, here.parse(q)) for q in questions)
    turn.answer = next(q for q, path in paths if path is not None and not here.answers(path))
    assert ssp_starter.invariants(given, batch, SPEC)["leaks"] > 0
