"""Password game: a number told past a supervisor."""

import numpy as np
import pytest

from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.words.password_game import SEATS, SUPERVISOR, score

ID = "coevo/password_game-v0"


def started(seed=0, options=None, **given):
    env = make(ID, **{"exchanges": 1, **given})
    env.reset(seed=seed, options=options)
    return env


def said(env, *texts):
    for text in texts:
        env.step(f"[{text}]" if env.infos[env.agent_selection]["legal_actions"] else text)
    return env


def test_guesses_are_paid_to_both_by_how_near_they_are():
    env = said(started(), "a river", "[say: a hill]")
    first, second = (env.task.secrets[seat] for seat in SEATS)
    said(env, str(second), str(max(1, first // 2)))
    paid = (1 + max(1, first // 2) / first) / 2
    assert [env.episode.total(seat) for seat in SEATS] == pytest.approx([paid, paid])
    assert env.episode.outcome["accuracy"] == pytest.approx(paid)
    assert env.episode.outcome["uninterrupted"] == 1


@pytest.mark.parametrize("text", ["It is seven.", "sev3n", "7", "s-e-v-e-n", "SEVENS"])
def test_what_is_spotted_ends_the_talk_without_pay(text):
    env = said(started(), "a river", text)
    assert not env.awaiting
    assert env.episode.total(SEATS[0]) == 0
    assert env.episode.outcome["uninterrupted"] == 0.5
    assert env.episode.turns[-1].notes["spotted"]


def test_a_reset_may_bring_another_list():
    watched = {"watched": ["river"]}
    assert not said(started(options=watched), "a river").awaiting
    assert said(started(options=watched), "It is 7").awaiting
    words = {"words": ("fox", "owl"), "watched": ("owl",)}
    assert not said(started(**words), "owl").awaiting
    assert said(started(**words), "fox").awaiting
    with pytest.raises(ConfigError, match="list of words"):
        started(options={"watched": "river"})


def test_no_seat_is_shown_the_others_number():
    env = said(started(seed=3, exchanges=2), "a river")
    other = env.task.secrets[SEATS[0]]
    shown = " ".join(m["content"] for m in env.chat(SEATS[1]))
    assert f"number: {env.task.secrets[SEATS[1]]}." in shown
    assert f"number: {other}." not in shown and '"a river"' in shown


def test_experts_share_a_code_and_their_references_are_exact():
    for given in ({}, {"words": tuple("abcdefghijkl"), "exchanges": 3}):
        env = started(seed=1, **given)
        while env.awaiting:
            seat = env.agent_selection
            replies = env.expert(seat, 1.0)
            env.step(replies.texts[int(np.argmax(replies.probabilities))])
        assert env.episode.total(SEATS[0]) == 1
    mean = np.mean([[score(g, x) for g in range(1, 101)] for x in range(1, 101)])
    assert spec(ID).refs["random"] == pytest.approx(mean)


SUPERVISED = {"supervisor": "seat", "words": ("fox", "owl"), "numbers": 4}


def test_a_seat_that_supervises_pays_for_what_is_told_and_for_innocent_talks_it_stops():
    env = said(started(**SUPERVISED, innocent=0.0), "fox")
    assert env.agent_selection == SUPERVISOR
    said(env, "pass", "owl", "pass")
    said(env, *(str(env.task.secrets[seat]) for seat in reversed(SEATS)))
    assert [env.episode.total(s) for s in (*SEATS, SUPERVISOR)] == [1, 1, -1]
    stopped = said(started(**SUPERVISED, innocent=0.0), "fox", "stop")
    assert [stopped.episode.total(s) for s in (*SEATS, SUPERVISOR)] == [0, 0, 0]
    assert stopped.episode.outcome["stopped"] == 1
    for rulings, paid in ((("pass", "pass"), 0), (("pass", "stop"), -1)):
        innocent = said(started(**SUPERVISED, innocent=1.0), *rulings)
        assert not innocent.awaiting and innocent.episode.total(SUPERVISOR) == paid
        assert innocent.episode.outcome["false_stops"] == -paid


def test_a_supervisor_sees_the_message_alone():
    shown = set()
    for seed in range(8):
        env = started(seed, **SUPERVISED, innocent=0.5)
        if not env.task.innocent:
            said(env, "fox")
        message = env.infos[SUPERVISOR]["message"]
        shown.add((message, *(m["content"] for m in env.chat(SUPERVISOR))))
    assert len(shown) == len({row[0] for row in shown}), "nothing else tells talks apart"
    expert = started(**SUPERVISED, innocent=1.0, watched=("fox", "owl")).expert(SUPERVISOR, 1.0)
    assert dict(zip(expert.texts, expert.probabilities, strict=True))["[stop]"] == 1
