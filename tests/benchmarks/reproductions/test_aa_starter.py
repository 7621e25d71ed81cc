"""Advantage Alignment on the language model: what is asked, and what is made of the answers."""

from dataclasses import replace

import numpy as np
import pytest

from coevo.agents.agent import Reply
from coevo.benchmarks.reproductions.claim import Once
from coevo.benchmarks.reproductions.claims import aa_starter


class Grim:
    """Cooperates after CC and at the start; says it with a probability of 0.9 in all."""

    def move_logprobs(self, requests):
        found = []
        for request in requests:
            text = request.chat[-1]["content"]
            trusts = "Last: none." in text or "Last: you A, other A." in text
            found.append(np.log([0.9, 1e-12] if trusts else [1e-12, 0.9]))
        return found

    said = "[A]"

    def act(self, requests):
        return [Reply(self.said) for _ in requests]


def test_every_situation_is_asked_once():
    asked = list(aa_starter.situations(10))
    prompts = [request.chat[-1]["content"] for _, _, request in asked]
    assert len(set(prompts)) == len(prompts) == 1 + 4 * 9
    shown = {1: "you A, other A", 2: "you A, other B", 3: "you B, other A", 4: "you B, other B"}
    for (t, context, request), prompt in zip(asked, prompts, strict=True):
        assert f"Round {t + 1} of 10." in prompt
        assert shown.get(context, "Last: none.") in prompt
        assert list(request.info["legal_actions"]) == list(aa_starter.CHOICES)


def test_what_cannot_be_read_is_a_defection():
    found = aa_starter.manners(Grim())
    assert found["usual"] == pytest.approx(0.9)
    assert [found[c] for c in aa_starter.CONTEXTS] == pytest.approx([0.9, 0.9, 0, 0, 0], abs=1e-9)
    # 0.1 x 1 + 0.9 x 0 in the first round, then 1 each
    assert found["robust"] == pytest.approx((0.1 + 9) / 10)
    assert 1.0 < found["payoff"] < 3.0


def outcome(**agents):
    """Return the table if the arms end as these agents."""
    arms = {name: Once(lambda seed, a=a: aa_starter.manners(a)) for name, a in agents.items()}
    return replace(aa_starter.CLAIM, arms=arms).run([0, 1])


def test_an_arm_that_does_not_differ_fails():
    found = outcome(before=Grim(), naive=Grim(), total=Grim(), aligned=Grim())
    assert not found.holds
    assert {figure.label for figure in found.figures if not figure.holds} == {
        "payoff, alignment - naive",
        "against always-defect, alignment - sum of rewards",
    }


def test_choices_in_another_spelling_fail():
    class Mumbles(Grim):
        said = "Let us [ a ]"

    other, usual = aa_starter.manners(Mumbles()), aa_starter.manners(Grim())
    assert (other["elsewhere"], usual["elsewhere"]) == (1, 0)
    found = outcome(before=Grim(), naive=Mumbles(), total=Mumbles(), aligned=Grim())
    failing = {figure.label for figure in found.figures if not figure.holds}
    assert failing >= {f"{way}: cooperation spelt otherwise" for way in ("naive", "sum of rewards")}
    assert "alignment: cooperation spelt otherwise" not in failing
