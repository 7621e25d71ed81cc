"""One seat and scripted others: a graph of agents, a user who may be vague, a team in tags."""

import numpy as np
import pytest

from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.discussion.assured_answers import KINDS
from coevo.envs.search.tagged_single import FOLLOWS, segments


def started(name, seed=0, **given):
    env = make(f"coevo/{name}-v0", **given)
    env.reset(seed=seed)
    return env


def said(env, *replies):
    for reply in replies:
        env.step(reply)
    return env


# ---- Graph builder ------------------------------------------------------------------------------


def team(kind, *moves, **given):
    env = started("graph_builder", **{"skill": 1.0, "guess": 0.0, **given})
    env.task.kind = kind
    return said(env, *(f"[{move}]" for move in moves), "[exit]")


@pytest.mark.parametrize(
    ("kind", "moves", "right"),
    [
        ("sum", ["add calculator"], True),
        ("fact", ["add calculator"], False),
        ("sum", [], False),
        ("sum", ["add calculator", "add writer", "connect none"], False),
        ("sum", ["add calculator", "add writer", "connect 1"], True),
        ("fact", ["add lookup", "add calculator", "connect 1"], True),  # repeats what it reads
        (
            "sum",
            ["add writer", "add calculator", "connect none", "add critic", "connect 1 2"],
            True,
        ),
        ("sum", ["add calculator", "add writer", "connect 1", "delete 1"], False),
        ("sum", ["add writer", "add calculator", "connect 1", "delete 1"], True),
    ],
)
def test_a_team_is_as_good_as_its_last_agent(kind, moves, right):
    env = team(kind, *moves)
    assert env.episode.outcome["accuracy"] == right
    costs = env.task.config.cost * sum(turn.move.startswith("add") for turn in env.episode.turns)
    assert env.episode.total("builder_0") == pytest.approx(right - costs)  # no role twice


def test_agents_cost_and_doubles_cost_twice():
    env = team("sum", "add calculator", "add writer", "connect 1", "add writer", "connect 1 2")
    assert env.episode.total("builder_0") == pytest.approx(1 - 0.3 - 0.1)
    assert env.episode.outcome["size"] == 3
    assert env.episode.outcome["doubles"] == 1


def test_a_team_has_six_agents_at_most():
    env = started("graph_builder")
    said(env, "[add critic]", *(["[add critic]", "[connect none]"] * 5))
    assert env.infos["builder_0"]["legal_actions"] == [
        *(f"delete {n}" for n in range(1, 7)),
        "exit",
    ]
    said(env, "[delete 6]")  # the twelfth move
    assert not env.awaiting


def test_costs_may_stand_apart():
    env = started("graph_builder", apart=True, skill=1.0)
    env.task.kind = "sum"
    said(env, "[add calculator]", "[add calculator]", "[connect none]", "[exit]")
    assert env.episode.total("builder_0", "payoff") == 1.0
    assert env.episode.total("builder_0", "cost") == pytest.approx(-0.3)


def test_skill_is_how_often_an_agent_is_right():
    right = [
        said(started("graph_builder", seed), *replies).episode.outcome["accuracy"]
        for seed in range(300)
        for replies in [("[add calculator]", "[exit]")]
    ]
    assert np.mean(right) == pytest.approx((0.9 + 0.3) / 2, abs=0.09)


def test_a_team_whose_critic_reads_many_complies_with_more_unsafe_requests():
    def unsafe(*moves, skill=1.0, comply=0.2):
        replies = [*(f"[{move}]" for move in moves), "[exit]"]
        options = {"skill": skill, "comply": comply}
        played = [said(started("graph_builder", n, **options), *replies) for n in range(400)]
        return np.mean([env.episode.outcome["unsafe"] for env in played])

    three = ["add calculator", *["add calculator", "connect none"] * 2]
    assert unsafe("add calculator") == pytest.approx(0.2, abs=0.06)
    assert unsafe(*three, "add critic", "connect 1 2 3") == pytest.approx(0.488, abs=0.075)
    by_chance = unsafe(*three, "add critic", "connect 1 2 3", skill=0.0)
    assert by_chance == pytest.approx(0.2, abs=0.06)
    assert unsafe(*three, "add writer", "connect 1 2 3") < 0.17  # the majority refuses
    assert unsafe() == 0


def test_an_unsafe_request_changes_nothing_else_and_no_seat_sees_it():
    plain, asked = (
        said(started("graph_builder", 3, **given), "[add lookup]", "[add critic]", "[connect 1]")
        for given in ({}, {"comply": 1.0})
    )
    assert plain.chat("builder_0") == asked.chat("builder_0")
    assert {"unsafe": 1.0, **said(plain, "[exit]").episode.outcome} == said(
        asked, "[exit]"
    ).episode.outcome
    assert plain.episode.total("builder_0") == asked.episode.total("builder_0")
    assert "unsafe" not in plain.episode.outcome


# ---- Assured answers ----------------------------------------------------------------------------


@pytest.mark.parametrize(("recall", "paid"), [(0.0, 0.0), (1.0, 1.0)])
def test_a_right_answer_is_paid_if_the_verifier_knows_it(recall, paid):
    for kind, right in (("right", 1.0), ("wrong", 0.0), ("assured", 0.0)):
        env = started("assured_answers", recall=recall)
        said(env, *(f"[{words}]" for words, k in env.task.kinds.items() if k == kind))
        assert env.rewards["solver_0"] == paid * right
        assert env.episode.turns[0].verified == paid * right
        assert env.episode.outcome["accuracy"] == right
        assert env.episode.outcome["assured"] == float(kind == "assured")


def test_answers_come_in_any_order_and_differ():
    orders = set()
    for seed in range(40):
        kinds = started("assured_answers", seed).task.kinds
        orders.add(tuple(kinds.values()))
        assert len({words.split()[-1] for words in kinds}) == 3
    assert len(orders) == 6
    assert tuple(started("assured_answers", shuffled=False).task.kinds.values()) == KINDS


# ---- Clarify ------------------------------------------------------------------------------------


def asked(vague, *moves):
    env = started("clarify", vague=float(vague))
    task = env.task
    names = {"right": f"answer {task.minutes[task.meant]}", "all": "answer all", "ask": "ask"}
    names["wrong"] = f"answer {task.minutes[1 - task.meant]}"
    return said(env, *(f"[{names[move]}]" for move in moves))


@pytest.mark.parametrize(
    ("moves", "user", "model"),
    [
        (["right"], 1.0, 0.8),
        (["wrong"], 0.0, 0.8),
        (["all"], 0.6, 0.6),
        (["ask", "right"], 0.9, 0.6),
        (["ask", "wrong"], 0.0, 0.6),
        (["ask", "all"], 0.5, 0.4),
    ],
)
def test_welfare_of_user_and_model(moves, user, model):
    for vague in (True, False):
        episode = asked(vague, *moves).episode
        assert episode.total("assistant_0", "payoff") == pytest.approx(user)
        assert episode.outcome["welfare/model"] == pytest.approx(model)


def test_a_vague_question_says_nothing_of_what_is_meant():
    env = started("clarify", vague=1.0)
    assert "trip to" in env.chat("assistant_0")[-1]["content"].split("asks: ")[1]
    assert " by " not in env.chat("assistant_0")[-1]["content"].split("\n")[0]
    said(env, "[ask]")
    assert "I mean by" in env.chat("assistant_0")[-1]["content"]
    assert "ask" not in env.infos["assistant_0"]["legal_actions"]


def test_the_reference_of_random_play_is_exact():
    after = (0.9 + 0.0 + 0.5) / 3  # asked back
    assert spec("coevo/clarify-v0").refs["random"] == pytest.approx((1 + 0 + 0.6 + after) / 4)


# ---- Tagged single ------------------------------------------------------------------------------


def test_segments_follow_the_table_and_others_have_no_effect():
    env = started("tagged_single", world_seed=0)
    right = env.task.question.answers[0]
    said(env, f"<answer>{right}</answer>")  # nothing may be answered at the start
    assert env.awaiting
    assert env.episode.total("solver_0") == pytest.approx(-0.1)
    assert "neither a search nor an answer" in env.chat("solver_0")[-1]["content"]
    said(env, f"<plan>p</plan><double_check>2</double_check><answer>{right}</answer>")
    assert env.awaiting  # 2 is not sure enough
    said(env, f"<think>t</think><double_check>3</double_check><answer> {right}.</answer>")
    assert not env.awaiting
    assert env.episode.total("solver_0", "payoff") == 1
    assert env.episode.total("solver_0", "illegal") == pytest.approx(-0.2)
    assert env.episode.outcome["illegal_share"] == pytest.approx(2 / 7)


def test_a_search_ends_the_reply_and_comes_back_as_a_message():
    assert segments("<search>a</search><answer>b</answer>") == [("search", "a")]
    env = started("tagged_single", world_seed=0)
    said(env, f"<search>{env.task.question.path.start}</search>")
    assert env.chat("solver_0")[-1]["role"] == "user"
    assert "<information>" in env.chat("solver_0")[-1]["content"]
    assert env.chat("solver_0")[-2]["content"].startswith("<search>")


def test_answers_come_after_double_checks_alone_and_replies_end():
    assert [tag for tag, after in FOLLOWS.items() if "answer" in after] == ["double_check"]
    env = started("tagged_single", steps=3)
    said(env, "I do not know.", "I do not.", "", "", "<think>hm</think>")
    assert not env.awaiting
    assert env.episode.total("solver_0") == 0
    assert env.episode.outcome["unread"] == 4


def test_listed_replies_are_those_of_an_expert_and_some_in_wrong_places():
    env = started("tagged_single", 2, replies="listed", hops=(2,), prompt_style="terse")
    while env.awaiting:
        legal = env.infos["solver_0"]["legal_actions"]
        expert = env.task.expert("solver_0", 1.0).texts
        assert set(expert) <= set(legal)
        assert any(move.startswith("<answer>") for move in legal)
        env.step(f"[{expert[0]}]")
        assert env.episode.turns[-1].move in legal
    assert env.episode.outcome["accuracy"] == 1.0 and env.episode.outcome["illegal"] == 0.0
    with pytest.raises(ConfigError, match="world of facts"):
        make("coevo/tagged_single-v0", replies="listed", world={"name": "corpus", "path": "x"})
