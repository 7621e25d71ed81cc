"""Password game: a number told past a supervisor."""

import numpy as np
import pytest

from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.words.password_game import SEATS, score

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
