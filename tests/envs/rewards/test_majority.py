"""Votes over final answers: the labels of TTRL and of RLCCF, ties, and who is polled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import WeightedSum, reward_modules
from coevo.envs.rewards.majority import leaders, support


def reward(name, **params):
    return reward_modules([{"name": name, **params}])[0]


def weighted(parts, weights=(), **more):
    return WeightedSum(parts=parts, weights=weights, **more)


SEATS = ("solver_0", "solver_1", "solver_2")


def turn(answer, agent="solver_0", player="", role="solver"):
    made = Turn(agent, (), "text", answer, Status.LEGAL, None, role=role, player=player)
    made.answer = answer
    return made


def play(*turns, task="q", env="x", stop=StopReason.FINISHED):
    return Episode(env, 0, {}, SEATS, task, list(turns), stop)


def paid(module, *plays):
    return [
        [row.get(t.agent) for row, t in zip(table, p.turns, strict=True)]
        for table, p in zip(module.table(plays), plays, strict=True)
    ]


def test_all_answers_to_one_task_in_the_batch_make_one_poll():
    plays = [play(turn("7")), play(turn("8")), play(turn("7")), play(turn("8"), task="other")]
    assert paid(reward("majority", least=1), *plays) == [[1.0], [0.0], [1.0], [1.0]]


def test_a_poll_may_be_one_play():
    plays = [play(turn("8"), turn("8", "solver_1")), *[play(turn("7"), turn("7", "solver_1"))] * 2]
    assert paid(reward("majority", over="episode"), *plays) == [[1.0, 1.0]] * 3
    assert paid(reward("majority"), *plays) == [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]


def test_tasks_of_two_environments_and_plays_without_a_task_are_not_mixed():
    module = reward("majority", least=1)
    plays = [play(turn("7"), env="x"), play(turn("8"), env="y")]
    assert paid(module, *plays) == [[1.0], [1.0]]
    assert paid(module, play(turn("7"), task=""), play(turn("8"), task="")) == [[1.0], [1.0]]


def test_consistent_voters_weigh_more():
    """RLCCF: SC_n is the share of model n's commonest answer, here 1, 1/2 and 1/2."""
    answers = {"a": ["8"] * 4, "b": ["7", "7", "1", "2"], "c": ["7", "7", "7", "3"]}
    assert support(answers) == {"8": 4, "7": 5, "1": 1, "2": 1, "3": 1}
    weighted = support(answers, "consistency")
    assert weighted == {"8": 4.0, "7": 1.0 + 2.25, "1": 0.5, "2": 0.5, "3": 0.75}
    plays = [play(turn(x, player=n)) for n, given in answers.items() for x in given]
    votes, consistent = (
        [row[0] for row in paid(reward("majority", weights=w), *plays)]
        for w in ("votes", "consistency")
    )
    assert votes == [0.0] * 4 + [1.0, 1.0, 0.0, 0.0] + [1.0, 1.0, 1.0, 0.0]
    assert consistent == [1.0] * 4 + [0.0] * 8


def test_seats_vote_where_players_have_no_names_and_in_one_play():
    answers = {"solver_0": ["8", "8"], "solver_1": ["7", "1"], "solver_2": ["7", "7", "2"]}
    turns = [turn(x, agent) for agent, given in answers.items() for x in given]
    weighted = [1.0, 1.0] + [0.0] * 5
    assert paid(reward("majority", weights="consistency"), play(*turns)) == [weighted]
    for one in turns:
        one.player = "everybody"
    assert paid(reward("majority", weights="consistency"), play(*turns)) != [weighted]
    by_play = reward("majority", over="episode", weights="consistency")
    assert paid(by_play, play(*turns)) == [weighted]


def test_answers_that_tie_share_the_reward():
    turns = turn("7"), turn("8"), turn("7"), turn("8"), turn("9")
    assert paid(reward("majority"), play(*turns)) == [[0.5, 0.5, 0.5, 0.5, 0.0]]
    assert paid(reward("majority", ties="first"), play(*turns)) == [[1.0, 0.0, 1.0, 0.0, 0.0]]


def test_rounding_breaks_no_tie():
    thirds = {"a": ["1", "2", "3"], "b": ["4", "5", "6"], "c": ["1", "4", "7"]}
    assert leaders(support(thirds, "consistency")) == ["1", "4"]
    assert leaders({"x": 0.1 + 0.2, "y": 0.3, "z": 0.2}) == ["x", "y"]


def test_a_lone_answer_agrees_with_nobody():
    assert paid(reward("majority"), play(turn("7")), play(turn(None))) == [[None], [None]]
    assert paid(reward("majority"), play(turn("7"), turn(None), turn("7"))) == [[1.0, None, 1.0]]


def test_equal_numbers_are_one_answer():
    turns = turn("0.50"), turn("1/2"), turn("2"), turn(" 2.5")
    assert paid(reward("majority"), play(*turns)) == [[1.0, 1.0, 0.0, 0.0]]
    assert paid(reward("majority"), play(turn("The  Sun."), turn("the sun"))) == [[1.0, 1.0]]


def test_roles_vote_among_their_own_unless_they_are_named():
    turns = turn("7"), turn("8"), turn("8"), turn("7", role="critic"), turn("7", role="critic")
    assert paid(reward("majority"), play(*turns)) == [[0.0, 1.0, 1.0, 1.0, 1.0]]
    named = reward("majority", roles=["solver", "critic"])
    assert paid(named, play(*turns)) == [[1.0, 0.0, 0.0, 1.0, 1.0]]
    one = reward("majority", roles=["solver"])
    assert paid(one, play(*turns)) == [[0.0, 1.0, 1.0, None, None]]


def test_last_answers_alone_may_vote():
    turns = (
        turn("7"),
        turn("7", "solver_1"),
        turn("8"),
        turn("8", "solver_1"),
        turn("7", "solver_2"),
    )
    module = reward("majority", last_only=True)
    assert paid(module, play(*turns)) == [[None, None, 1.0, 1.0, 0.0]]


def test_a_play_that_ended_in_an_error_does_not_vote():
    broken = play(turn("8"), turn("8"), turn("8"), stop=StopReason.ERROR)
    assert paid(reward("majority"), broken, play(turn("7"), turn("7"))) == [[None] * 3, [1.0, 1.0]]


def test_it_is_offline_and_composes():
    module = weighted([reward("majority"), reward("format", legal=0.5)], [2.0, 1.0])
    assert not module.per_turn and module.range == (0.0, 2.5)
    assert paid(module, play(turn("7"), turn("7"))) == [[2.5, 2.5]]


names = st.sampled_from(["7", "8", "9", None, "7.0"])


@given(
    st.lists(st.lists(st.tuples(names, st.sampled_from(SEATS)), max_size=5), max_size=5),
    st.sampled_from(["votes", "consistency"]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_the_order_of_a_batch_does_not_matter(answers, weights, last_only, random):
    plays = [play(*(turn(x, agent) for x, agent in given)) for given in answers]
    module = reward("majority", weights=weights, last_only=last_only)
    before = {id(p): row for p, row in zip(plays, paid(module, *plays), strict=True)}
    random.shuffle(plays)
    assert paid(module, *plays) == [before[id(p)] for p in plays]
    for rows in before.values():
        assert all(r is None or 0.0 <= r <= 1.0 for r in rows)


@pytest.mark.parametrize(
    "params",
    [{"over": "batch"}, {"weights": "size"}, {"ties": "last"}, {"least": 0}, {"roles": {"a": 1}}],
)
def test_it_refuses_what_makes_no_sense(params):
    with pytest.raises(ConfigError, match=next(iter(params))):
        reward("majority", **params)


def test_the_votes_on_other_wordings_may_be_the_label():
    """Co-Reward: 7 7 8 is said to one wording, 8 8 7 to the other; each is the other's label."""

    def asked(words, answer, seat):
        made = turn(answer, seat)
        made.seen = ({"role": "user", "content": words},)
        return made

    pairs = [("7", "8"), ("7", "8"), ("8", "7")]
    plays = [play(asked("a?", a, SEATS[0]), asked("b?", b, SEATS[1])) for a, b in pairs]
    assert paid(reward("majority", label="others"), *plays) == [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    assert paid(reward("majority", label="same"), *plays) == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    assert paid(reward("majority"), *plays) == [[0.5, 0.5]] * 3
