"""Teams: pioneer and observer, sequential team, moderated debate, split context, memory."""

import numpy as np
import pytest

from coevo.envs import make, spec
from coevo.envs.discussion.memory_pipeline import Sentence

EVERY = (
    "assured_answers",
    "clarify",
    "digit_message",
    "graph_builder",
    "memory_pipeline",
    "moderated_debate",
    "pioneer_observer",
    "sequential_team",
    "split_context_qa",
    "tagged_single",
)
ITEM = {"item": 4783}  # larger last digit of 47, 83: the answer is 7


def started(name, options=ITEM, seed=0, **given):
    env = make(f"coevo/{name}-v0", prompt_style="full", **given)
    env.reset(seed=seed, options=options)
    return env


def said(env, *replies):
    for reply in replies:
        env.step(reply)
    return env


def last(env):
    return env.chat(env.agent_selection)[-1]["content"]


def mean(name, skill, episodes):
    totals, env = [], make(f"coevo/{name}-v0", prompt_style="terse")
    for seed in range(episodes):
        rng = np.random.default_rng(10**6 + seed)
        env.reset(seed=seed)
        while env.awaiting:
            texts, chances = env.expert(env.agent_selection, skill)
            assert len(set(texts)) == len(texts)
            assert chances.sum() == pytest.approx(1)
            env.step(str(rng.choice(texts, p=chances)))
        totals.append(np.mean([env.episode.total(a, "payoff") for a in env.possible_agents]))
    return np.mean(totals), np.std(totals) / np.sqrt(episodes)


@pytest.mark.parametrize("name", EVERY)
def test_experts_earn_what_is_registered(name):
    refs = spec(f"coevo/{name}-v0").refs
    for skill, reference in ((0.0, "random"), (1.0, "oracle")):
        found, error = mean(name, skill, 150)
        assert found == pytest.approx(refs[reference], abs=max(3.5 * error, 1e-9)), reference


# ---- Pioneer and observer -----------------------------------------------------------------------


def test_both_are_paid_for_both_answers_and_the_observer_sees_the_first():
    env = said(started("pioneer_observer"), "It ends in 7. [7]")
    assert "Answer of pioneer_0 (final answer: 7):\n| It ends in 7. ⟦7⟧" in last(env)
    said(env, "[3]")
    assert dict(env.rewards) == {"pioneer_0": 1.0, "observer_0": 1.0}
    assert env.episode.outcome["copied"] == 0


def test_answers_are_listed_where_questions_have_choices():
    assert started("pioneer_observer").infos["pioneer_0"]["legal_actions"][:2] == ["0", "1"]
    env = started("pioneer_observer", {"item": 3}, questions="word_problems")
    assert env.infos["pioneer_0"]["legal_actions"] is None
    said(env, f"So [{env.task.question.answer}]", "no idea", "none")
    assert dict(env.rewards) == {"pioneer_0": 1.0, "observer_0": 1.0}
    assert env.episode.outcome["unread"] == 2


# ---- Sequential team ----------------------------------------------------------------------------


def test_a_team_goes_on_until_its_actor_is_right():
    env = said(started("sequential_team"), "[3]", "[4]")
    assert "Judge: the answer was incorrect." in last(env)
    assert "actor_0 (answer: 4):\n| ⟦4⟧\n\nJudge" in last(env)
    said(env, "[7]")
    assert last(env).index("Judge") < last(env).index("reasoner_0 (answer: 7)")
    said(env, "[7]")
    assert env.episode.total("reasoner_0") == env.episode.total("actor_0") == 1
    assert not env.awaiting
    assert env.episode.outcome["rounds"] == 2


def test_a_team_ends_after_its_horizon_and_speaks_in_order():
    env = started("sequential_team", helpers=2, horizon=2)
    order = []
    while env.awaiting:
        order.append(env.agent_selection)
        env.step("[1]")
    assert order == ["reasoner_0", "reasoner_1", "actor_0"] * 2
    assert env.episode.total("actor_0") == 0


@pytest.mark.parametrize("style", ["full", "terse"])
def test_a_blind_actor_goes_by_what_it_is_told(style):
    env = make("coevo/sequential_team-v0", prompt_style=style, blind=True)
    env.reset(seed=0, options=ITEM)
    said(env, "[7]")
    told = " ".join(m["content"] for m in env.chat("actor_0"))
    assert "47" not in told and "83" not in told
    assert "7" in told
    texts, chances = env.expert("actor_0", 1.0)
    assert (texts, chances.tolist()) == (("[7]",), [1.0])


def test_the_actor_alone_may_be_paid():
    env = started("sequential_team", paid="actor")
    assert "actor_0 earns 1 for a correct answer" in env.chat("reasoner_0")[0]["content"]
    said(env, "[7]", "[7]")
    assert [env.episode.total(seat) for seat in ("reasoner_0", "actor_0")] == [0, 1]


# ---- Digit message ------------------------------------------------------------------------------


def test_a_message_is_all_that_a_receiver_knows_of_the_digit():
    env = started("digit_message", {})
    task = env.task
    assert f"Your digit is {task.sent}." in env.chat("sender_0")[0]["content"]
    said(env, f"<think>x</think> Mine is {task.sent}! [{task.own}]")
    assert f"| Mine is {task.sent}! ⟦{task.own}⟧" in last(env)
    assert "x" not in last(env).partition("says:")[2].partition("The sum?")[0]
    said(env, f"[{(task.sent + task.own) % 5}]")
    assert set(env.rewards.values()) == {1.0}
    assert env.episode.outcome["words"] == 4.0


@pytest.mark.parametrize(("form", "words"), [("sentence", 12), ("code", 2), ("noise", 1)])
def test_messages_may_be_listed_and_noise_ends_the_task(form, words):
    env = said(started("digit_message", {}, listed=True), f"[{form}]")
    assert bool(env.awaiting) == (form != "noise")
    if env.awaiting:
        assert str(env.task.sent) in last(env).partition("says:")[2].partition("The sum?")[0]
        said(env, f"[{env.task.right}]")
    assert env.episode.outcome["words"] == words
    assert env.episode.outcome["accuracy"] == float(form != "noise")


# ---- Moderated debate ---------------------------------------------------------------------------


def test_the_judge_goes_on_or_decides():
    env = said(started("moderated_debate"), "[8]", "No: [7]", "Not clear yet. [continue]")
    assert env.agent_selection == "affirmative_0"
    assert "negative_0 (answer: 7):\n| No: ⟦7⟧" in last(env)
    said(env, "You are right. [7]", "[7]", "[7]")
    assert set(env.rewards.values()) == {1.0}
    assert env.episode.outcome["rounds"] == 2


def test_a_judge_that_never_decides_earns_nothing():
    env = started("moderated_debate", rounds=2)
    said(env, "[7]", "[7]", "Hm.", "Hm.", "[7]", "[7]", "[continue]", "[continue]")
    assert not env.awaiting
    assert set(env.rewards.values()) == {0.0}
    assert env.episode.outcome["unread"] == 4  # in the last round it must answer
    assert env.episode.outcome["decided"] == 0


# ---- Split context ------------------------------------------------------------------------------


def test_readers_must_agree_on_what_is_right():
    env = started("split_context_qa", {})
    right, wrong = env.task.right, next(a for a in env.task.animals if a != env.task.right)
    said(env, "Hello.", f"[{wrong}]", f"[{right}]", f"[{right}]")
    assert not env.awaiting
    assert set(env.rewards.values()) == {1.0}
    env.reset(seed=0)
    said(env, f"[{wrong}]", f"It must be it. [{wrong}]")
    assert set(env.rewards.values()) == {0.0}
    assert env.episode.outcome["agreed"] == 1
    env.reset(seed=0)
    said(env, *(f"[{a}]" for a in (right, wrong) * 3))
    assert not env.awaiting
    assert env.episode.outcome["accuracy"] == 0


@pytest.mark.parametrize("style", ["full", "terse"])
def test_a_reader_sees_only_its_own_facts(style):
    env = make("coevo/split_context_qa-v0", prompt_style=style)
    env.reset(seed=0)
    first = " ".join(m["content"] for m in env.chat("reader_0"))
    assert " lives in Lume." in first
    assert not any(f"The {animal} lives" in first for animal in env.task.animals)
    said(env, "I tell nothing.")
    second = " ".join(m["content"] for m in env.chat("reader_1"))
    assert all(f"The {animal} lives" in second for animal in env.task.animals)
    assert "Ann lives" not in second


# ---- Memory pipeline ----------------------------------------------------------------------------


def pipeline():
    env = started("memory_pipeline", {}, attributes=2, budget=2)
    env.task.names = ("pet", "town")
    env.task.dialogue = [
        Sentence("My pet is fox.", "pet", "fox"),
        Sentence("It rained all day."),
        Sentence("My town is Kelo.", "town", "Kelo"),
        Sentence("Now my pet is owl.", "pet", "owl"),
    ]
    env.task.asked_of = "pet"
    return env


def test_every_seat_is_graded_for_its_own_work():
    env = said(pipeline(), "[3, 4]", "pet = owl\ntown = Kelo", "evidence: 4. [owl]")
    assert env.task.local == {"extractor_0": 1.0, "profiler_0": 1.0, "answerer_0": 1.0}
    assert env.episode.total("extractor_0", "payoff") == 1
    # what was overwritten is no evidence: recall 1/2, IoU 1/3; one line of two is true
    env = said(pipeline(), "[1, 3, 4]", "pet: fox\ntown: Kelo", "evidence: 3 and 1. [fox]")
    assert env.task.picked == [1, 3]  # the budget
    assert env.task.local == pytest.approx(
        {"extractor_0": 0.8 / 2 + 0.2 / 3, "profiler_0": 0.25, "answerer_0": 0.0}
    )
    assert env.episode.total("answerer_0", "payoff") == 0
    assert env.episode.total("extractor_0", "local") == pytest.approx(0.4 + 0.2 / 3)


def test_what_was_dropped_is_seen_no_more():
    env = said(pipeline(), "[3]")
    assert last(env) == "The user said:\n3. My town is Kelo.\nYour profile?"
    said(env, "He lives there, whatever.\ntown = Kelo")
    assert "| He lives there, whatever.\n| town = Kelo\nQuestion: What is" in last(env)
    assert "owl" not in last(env)


def test_replies_without_content_count_as_unread():
    none = ("I pick none", "no lines", "who knows")
    env = said(pipeline(), *(text for text in none for _ in range(2)))
    assert env.episode.outcome["unread"] == 6
    assert env.task.local == {"extractor_0": 0.0, "profiler_0": 0.0, "answerer_0": 0.0}
