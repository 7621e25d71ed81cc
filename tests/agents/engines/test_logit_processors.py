"""Guided choice: what it lets pass, and that engine and learner's pass agree on it."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coevo.agents.engines.engine import Ask, Prompt
from coevo.agents.engines.logit_processors import CLOSED, GuidedChoice, Place, Step, trie
from coevo.agents.engines.scoring import Span, score
from coevo.agents.engines.torch_engine import TorchEngine
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.episode import PolicyRef
from coevo.envs.core.errors import ConfigError

END, OPEN, CLOSE = 3, 60, 61
POLICY = PolicyRef("policy", 0)
CHOICES = ((10, 11, 30, END), (10, 12, END), (14, END))
THINKING = GuidedChoice(4, (OPEN, CLOSE), end_ids=(END,))


@pytest.fixture
def engine(llama):
    made = TorchEngine()
    made.publish(POLICY, llama)
    return made


def said(guide, *reply, choices=CHOICES):
    return guide.step(Place((), reply, len(reply), choices))


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=6))
def test_a_walk_through_the_trie_ends_with_a_choice_and_every_choice_is_a_walk(lists):
    choices = tuple((*ids, 9) for ids in lists)
    found, ways = trie(choices), [()]
    while ways:
        way = ways.pop()
        for token in found[way]:
            if token == 9:
                assert (*way, 9) in choices
            else:
                ways.append((*way, token))
    assert all(c[i] in found[c[:i]] for c in choices for i in range(len(c)))


def test_without_choices_a_reply_is_free(llama):
    logits_NV = torch.randn(2, 5)
    places = [Place((), (), 0), Place((), (1,), 1)]
    assert GuidedChoice()(logits_NV, places) is logits_NV
    assert said(THINKING, 5, choices=()) == Step()


def test_a_thought_is_opened_kept_from_ending_the_reply_and_closed_in_time():
    assert said(THINKING) == Step(only=(OPEN, 10, 14))
    assert said(THINKING, 10) == Step(only=(11, 12))
    assert said(THINKING, OPEN, 5, CLOSE) == Step(only=(10, 14))
    for thought in ((), (5,), (5, 6, 7)):
        assert said(THINKING, OPEN, *thought) == Step(never=(END,))
    assert said(THINKING, OPEN, 5, 6, 7, 8) == Step(only=(CLOSE,))
    assert said(THINKING, OPEN, 5, 6, 7, 8, CLOSE, 14) == Step(only=(END,))


def test_a_thought_that_the_template_has_opened_goes_on():
    guide = replace(THINKING, opened=True)
    assert said(guide) == said(guide, 5, 6, 7) == Step(never=(END,))
    assert said(guide, 5, 6, 7, 8) == Step(only=(CLOSE,))
    assert said(guide, CLOSE, 10) == Step(only=(11, 12))


@pytest.mark.parametrize(("guide", "longest"), [(GuidedChoice(), 4), (THINKING, 10)])
def test_a_limit_that_cuts_moves_is_refused_with_the_lowest_that_does_not(guide, longest):
    guide.check_room(CHOICES, longest)
    with pytest.raises(ConfigError, match=f"use at least {longest}"):
        guide.check_room(CHOICES, longest - 1)


def spans_of(prompts, samples):
    return [
        Span((*p.ids, *s.ids), (len(p.ids),), (len(p.ids) + len(s.ids),))
        for p, s in zip(prompts, samples, strict=True)
    ]


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
@pytest.mark.parametrize(
    "guide", [GuidedChoice(), THINKING, replace(THINKING, opened=True)], ids=["plain", "", "open"]
)
def test_what_is_sampled_is_what_is_scored(llama, engine, guide, temperature):
    config = SamplingConfig(temperature=temperature, max_new_tokens=10)
    starts = [(5, 6, 7), (8, 9), tuple(range(4, 40))]
    prompts = [Prompt(p, c) for p in starts for c in (CHOICES, ()) for _ in range(20)]
    ask = Ask(POLICY, prompts, config, range(len(prompts)), (END,), (guide,))
    (samples,) = engine.generate([ask])
    for prompt, s in zip(prompts, samples, strict=True):
        after = s.ids[s.ids.index(CLOSE) + 1 :] if CLOSE in s.ids else s.ids
        assert tuple(after) in CHOICES or not prompt.choices
    spans = spans_of(prompts, samples)
    places = [x for span, p in zip(spans, prompts, strict=True) for x in span.places([p.choices])]
    with torch.no_grad():
        scored = replace(score(llama, spans, temperature), processors=(guide,), places=places)
        logp_N = scored.logp_N()
    drawn_N = torch.tensor([x for s in samples for x in s.logprobs])
    assert float((logp_N - drawn_N).abs().max()) < 1e-5
    replies = [tuple(s.ids) for s in samples]
    found = engine.logprobs(POLICY, prompts, replies, config, (guide,))
    assert float((torch.cat(found) - drawn_N).abs().max()) < 1e-5


def test_the_choices_of_a_place_have_probability_one_together(engine):
    prompts = [Prompt((5, 6, 7), CHOICES)] * 3
    for temperature in (0.0, 0.5, 1.0):
        config = SamplingConfig(temperature=temperature)
        found = engine.logprobs(POLICY, prompts, CHOICES, config, (GuidedChoice(),))
        assert float(sum(logp.sum().exp() for logp in found)) == pytest.approx(1, abs=1e-6)


def test_a_forced_token_teaches_nothing_and_others_only_among_their_rivals(llama):
    span = Span((5, 6, 10, 12, END), (2,), (5,))
    bias = torch.zeros(llama.config.vocab_size, requires_grad=True)
    plain = score(llama, [span])
    moved = replace(
        plain,
        logits=lambda part: plain.logits(part).detach() + bias,
        processors=(GuidedChoice(),),
        places=span.places([CHOICES]),
    )
    logp_N = moved.logp_N()
    assert logp_N[2].item() == 0
    (slope,) = torch.autograd.grad(logp_N.sum(), bias)
    assert set(slope.nonzero().squeeze(-1).tolist()) == {10, 14, 11, 12}
    assert slope.sum().item() == pytest.approx(0, abs=1e-6)


def test_what_is_closed_stays_finite_over_every_temperature():
    for temperature in (1e-6, 1e-4, 1.0, 1000.0):
        scaled = torch.tensor(CLOSED) / temperature
        assert bool(scaled.isfinite()) and float(scaled) < -1e20
