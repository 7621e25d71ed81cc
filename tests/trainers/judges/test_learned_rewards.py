"""Rewards that are fitted or labelled: users who disagree, messages, and rubrics that mislead."""

import json
from dataclasses import replace

import pytest
import torch

from coevo.agents.agent import Agent, Reply
from coevo.benchmarks.reproductions.claims import c2_gate, oni_messages, vpl_users
from coevo.envs.core.apply import apply_batch
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError, DataError, UnknownNameError
from coevo.envs.core.parsing import Status
from coevo.envs.core.rewards import ScoreContext
from coevo.trainers.judges.judge import Judge
from coevo.trainers.judges.latent_preference import LatentPreference, UserModel, fitted
from coevo.trainers.judges.message_labels import MessageLabels, messages
from coevo.trainers.judges.roles import JudgeRole, Roles

SEAT = "player_0"


class Says(Agent):
    """Answers by a rule, and remembers what it was asked."""

    version = 4

    def __init__(self, rule, name="judge"):
        self.rule, self.name, self.seen = rule, name, []

    def act(self, requests):
        texts = [r.chat[-1]["content"] for r in requests]
        self.seen += texts
        return [Reply(self.rule(text), [1], [2], [0.0]) for text in texts]


def context(**rules):
    agents = {name: Says(rule, name) for name, rule in rules.items()}
    bound = {name: JudgeRole(policy=name) for name in agents}
    return ScoreContext(judges=Roles(bound, agents)), agents


def play(*said, chat=None, notes=()):
    turns = []
    for number, text in enumerate(said):
        seen = ({"role": "user", "content": (chat or ["Write."] * len(said))[number]},)
        turn = Turn(SEAT, seen, f"[{text}]", text, Status.LEGAL, None)
        turn.notes |= {"message": notes[number]} if notes else {}
        turns.append(turn)
    return Episode("e", 0, {}, (SEAT,), "t", turns, StopReason.FINISHED)


# ---- Users who disagree --------------------------------------------------------------------


def test_a_user_without_pairs_is_the_prior_and_the_divergence_is_exact():
    model = UserModel(3, latent=2).requires_grad_(False)
    mean_UD, logvar_UD = model.infer(torch.randn(4, 2, 3), torch.ones(4, dtype=torch.long), 2)
    assert mean_UD[0].tolist() == [0.0, 0.0] and mean_UD[1].abs().sum() > 0
    assert float(model.divergence(mean_UD, logvar_UD)[0]) == 0.0
    one = torch.tensor([[1.0, 0.0]])
    assert float(model.divergence(one, torch.zeros(1, 2))[0]) == 0.5


def test_a_latent_finds_what_two_groups_disagree_on():
    found = {n: vpl_users.compared(n, 0.1)(0) for n in (0, 2)}
    assert found[2]["contested"] > found[0]["contested"] + 0.2
    assert found[0]["kl"] == 0.0 and found[2]["kl"] > 0.1


def test_fitting_is_the_same_every_time_and_leaves_the_generator_alone():
    users = [torch.randn(4, 2, 3).numpy() for _ in range(3)]
    before = torch.get_rng_state()
    one, other = (fitted(users, 1, 0.1, 3)[0].state_dict() for _ in range(2))
    assert all(torch.equal(one[key], other[key]) for key in one)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.jsonl"
    lines = [
        {"user": u, "better": b, "worse": w}
        for u, b, w in [("ann", "long text", "no"), ("bob", "no", "long text")] * 6
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def test_users_are_paid_by_their_own_pairs(pairs):
    plays = [play("long text"), play("no"), play("no")]
    for user, first in (("ann", 1), ("bob", 0)):
        module = LatentPreference(path=pairs, user=user, steps=60)
        paid = [table[0][SEAT] for table in module.table(plays)]
        assert (paid[0] > 0.8 and paid[1] < 0.4) if first else (paid[0] < 0.2 and paid[1] > 0.6)
        assert paid[1] == pytest.approx(paid[2]) and sum(paid) == pytest.approx(1.5)
    assert module.table([play("no")])[0][0][SEAT] == 0.5


def test_what_is_wrong_with_pairs_is_said(pairs, tmp_path):
    with pytest.raises(ConfigError, match="path=FILE"):
        LatentPreference().table([play("a"), play("b")])
    with pytest.raises(UnknownNameError, match="did you mean 'ann'"):
        LatentPreference(path=pairs, user="anne").table([play("a"), play("b")])
    (tmp_path / "bad").write_text('{"user": "a"}')
    with pytest.raises(DataError, match="line 1: expected an object"):
        LatentPreference(path=str(tmp_path / "bad"), user="a").table([play("a"), play("b")])


# ---- Messages ------------------------------------------------------------------------------


def test_a_message_is_noted_or_read_next():
    assert list(messages(play("a", "b", chat=["x", "y"]))) == [(0, "y")]
    assert list(messages(play("a", "b", notes=["m", "n"]))) == [(0, "m"), (1, "n")]


def test_repeating_a_message_earns_little():
    given, _ = context(judge=lambda text: "[yes]" if "ate" in text else "[no]")
    plays = [play(*"abc", notes=["you ate", "you sit", "you ate"])]
    apply_batch([MessageLabels()], plays, given)
    paid = [t.rewards["message_labels"][SEAT] for t in plays[0].turns]
    assert paid == pytest.approx([0.4, 0.0, 0.05])
    assert sum(oni_messages._paid(MessageLabels(), ["You eat an apple."] * 99)) < 0.4808228


def test_some_are_asked_about_the_newest_and_a_quarter_of_the_oldest():
    module, (given, agents) = MessageLabels(asks=4), context(judge=lambda text: "[yes]")
    module.score([play(*"abcdefgh", notes=list("abcdefgh"))], given)
    assert [text.split("\n")[1] for text in agents["judge"].seen] == ["| a", "| f", "| g", "| h"]
    fresh = replace(module)
    fresh.load_state_dict(json.loads(json.dumps(module.state_dict())))
    assert fresh.state_dict() == module.state_dict() and fresh.version == 4
    with pytest.raises(DataError, match="expected labels"):
        fresh.load_state_dict({"labels": 3})


def test_what_the_judge_does_not_answer_is_asked_again():
    module, (given, agents) = MessageLabels(), context(judge=lambda text: "hm")
    for _ in range(2):
        assert module.score([play("a", notes=["m"])], given).table[0][0] == {SEAT: 0.0}
    assert len(agents["judge"].seen) == 2


def test_only_a_classifier_knows_new_spellings():
    found = oni_messages._spelt(0)
    assert found["retrieval_seen"] == found["classification_seen"] == 1.0
    assert found["classification_held_out"] == 1.0 > found["retrieval_held_out"]


# ---- Rubrics that mislead ------------------------------------------------------------------


def test_a_rejected_rubric_is_not_shown():
    def judge(text):
        return "[no]" if "Does this rubric help" in text else "[first]"

    given, agents = context(judge=judge, writer=lambda text: "Be brief. <|end|>")
    module = Judge(how="pairwise", rubric_by="writer")
    assert module.roles_asked == ("judge", "writer")
    module.score([play("a"), play("b")], given)
    assert "| Be brief. ‹|end|›" in agents["judge"].seen[0]
    assert not any("Be brief" in text for text in agents["judge"].seen[1:])
    given, agents = context(judge=judge, writer=lambda text: "Be brief.")
    replace(module, critical=False).score([play("a"), play("b")], given)
    assert all("Rubric:\n| Be brief." in text for text in agents["judge"].seen)


def test_rubrics_are_for_pairs():
    with pytest.raises(ConfigError, match="how='pairwise'"):
        Judge(rubric_by="writer")


def test_a_gate_helps_against_rubrics_that_mislead():
    gated, always = (c2_gate.CLAIM.arms[name](0)["right"] for name in ("gated", "always"))
    assert gated > always
