"""Ratings agree with the statistics they are made of, and keep their laws."""

import dataclasses
import json

import numpy as np
import pytest

from coevo.agents import RandomAgent
from coevo.benchmarks.exact import exact_payoffs
from coevo.benchmarks.statistics.alpha_rank import alpha_rank_limit
from coevo.benchmarks.statistics.bradley_terry import bradley_terry
from coevo.benchmarks.statistics.cross_play import CrossPlay, Game
from coevo.benchmarks.tournament import ratings
from coevo.benchmarks.tournament.summary import summarise, write
from tests.benchmarks.statistics.conftest import from_matrix
from tests.benchmarks.tournament.conftest import KUHN

WINS = [[0, 8, 9], [2, 0, 7], [1, 3, 0]]


def rng():
    return np.random.default_rng(0)


def renamed(games, names):
    return CrossPlay(
        tuple(sorted(names[a] for a in games.agents)),
        tuple(g._replace(first=names[g.first], second=names[g.second]) for g in games.games),
    )


def with_clone(games, name, clone):
    """Add an agent with the same results as another one, and draws between the two."""
    copies = [
        g._replace(**{side: clone})
        for g in games.games
        for side in ("first", "second")
        if getattr(g, side) == name
    ]
    draws = [
        Game(*seats, 0.5, task, (0.0, 0.0))
        for task in range(4)
        for seats in ((name, clone), (clone, name))
    ]
    return CrossPlay((*games.agents, clone), (*games.games, *copies, *draws))


def random_games(agents, seed=0, tasks=30):
    """Return games in which the first named wins most, with a weak cycle among the last three."""
    draw, games = np.random.default_rng(seed), []
    chance = {("a", "b"): 0.8, ("a", "c"): 0.7, ("a", "d"): 0.9}
    chance |= {("b", "c"): 0.7, ("c", "d"): 0.7, ("b", "d"): 0.3}
    for (one, two), p in chance.items():
        for task in range(tasks if {one, two} <= set(agents) else 0):
            for seats, q in (((one, two), p), ((two, one), 1 - p)):
                points = draw.choice([0.0, 0.5, 1.0], p=[0.9 * (1 - q), 0.1, 0.9 * q])
                games.append(Game(*seats, points, task, (2 * points - 1, 1 - 2 * points)))
    return CrossPlay(tuple(agents), tuple(games))


# ---- The same numbers as the statistics ------------------------------------------------------


def test_elo_of_a_worked_example():
    found = ratings.elo(from_matrix(["a", "b", "c"], WINS), rng())
    rated = [found["agents"][n]["rating"] for n in "abc"]
    assert rated == pytest.approx([383.622474, 145.382228, 0], abs=1e-4)
    assert rated == pytest.approx(bradley_terry(WINS).tolist())
    assert found["smoothing"] == 0.01
    assert found["apart"] == []
    for own in found["agents"].values():
        low, high = own["interval"]
        assert low < own["rating"] < high


def test_who_was_never_beaten_is_set_apart():
    found = ratings.elo(from_matrix(["a", "b", "c"], [[0, 8, 9], [0, 0, 7], [0, 3, 0]]), rng())
    assert found["apart"] == [["a"], ["b", "c"]]


def test_plackett_luce_learns_who_is_better():
    found = ratings.plackett_luce(random_games("abcd", tasks=60), rng())["agents"]
    assert max(found, key=lambda n: found[n]["ordinal"]) == "a"
    assert all(own["ordinal"] == own["mu"] - 3 * own["sigma"] for own in found.values())
    one = ratings.plackett_luce(CrossPlay(("a", "b"), (Game("a", "b", 1.0),)), rng())["agents"]
    assert one["a"]["mu"] == pytest.approx(27.635389, abs=1e-6)  # after one win from 25, 25 / 3
    assert one["b"]["sigma"] == pytest.approx(8.065901, abs=1e-6)


def test_alpha_rank_of_a_worked_example():
    rates = {("a", "b"): 0.8, ("a", "c"): 0.9, ("b", "c"): 0.7}
    games = [
        Game(*seats, 0.5, 0, payoffs)
        for (one, two), p in rates.items()
        for seats, payoffs in (((one, two), (p, 1 - p)), ((two, one), (1 - p, p)))
    ]
    found = ratings.alpha_rank(CrossPlay(("a", "b", "c"), tuple(games)), True, rng())
    limit = [found["limit"][n]["share"] for n in "abc"]
    assert limit == pytest.approx([0.980198, 0.014777, 0.005025], abs=1e-6)
    assert found["settled"]
    assert found["last"]["shares"]["a"] == pytest.approx(1)
    alphas = [step["alpha"] for step in found["sweep"]]
    assert alphas[0] == 1e-4
    assert alphas[1] == 8e-4
    assert alphas[-1] == found["last"]["alpha"]
    assert all(sum(step["shares"].values()) == pytest.approx(1) for step in found["sweep"])


def test_alpha_rank_of_two_roles_is_that_of_profiles():
    payoffs = {("c", "c"): (3, 3), ("c", "d"): (0, 5), ("d", "c"): (5, 0), ("d", "d"): (1, 1)}
    games = tuple(Game(*pair, 0.5, 0, paid) for pair, paid in payoffs.items())
    found = ratings.alpha_rank(CrossPlay(("c", "d"), games), False, rng())
    assert found["roles"] == 2
    tables = [[[3, 0], [5, 1]], [[3, 5], [0, 1]]]
    limit = alpha_rank_limit(tables)
    expected = (limit.reshape(2, 2).sum(1) + limit.reshape(2, 2).sum(0)) / 2
    assert [found["limit"][n]["share"] for n in "cd"] == pytest.approx(expected.tolist())
    assert found["limit"]["d"]["share"] > 0.98


def test_resampled_shares_surround_what_is_in_doubt():
    games = CrossPlay(
        ("a", "b"),
        tuple(
            Game(*seats, 0.5, task, (x if seats == ("a", "b") else -x, 0.0))
            for task, x in enumerate([1.0, -1.0] * 5 + [0.5])
            for seats in (("a", "b"), ("b", "a"))
        ),
    )
    low, high = ratings.alpha_rank(games, True, rng())["limit"]["a"]["interval"]
    assert (low, high) == pytest.approx((0.01, 0.99))


def test_the_diagonal_is_read_by_nothing():
    matrix = np.array([[np.nan, 0.8], [0.2, np.nan]])
    filled = ratings.without_diagonal(matrix)
    other = filled + np.diag([5.0, -5.0])
    assert alpha_rank_limit([filled]) == pytest.approx(alpha_rank_limit([other]))


# ---- Laws ------------------------------------------------------------------------------------


def test_other_names_permute_every_rating():
    games = random_games("abcd")
    names = dict(zip("abcd", "zxyw", strict=True))
    back = {new: old for old, new in names.items()}
    other = renamed(games, names)

    def points(found):
        return {
            "elo": {n: r["rating"] for n, r in ratings.elo(found, rng())["agents"].items()},
            "rank": {
                n: s["share"] for n, s in ratings.alpha_rank(found, True, rng())["limit"].items()
            },
            **{
                f"{key} {part}": {n: own[part] for n, own in table.items()}
                for key, table in ratings.nash(found, rng()).items()
                for part in ("weight", "skill")
            },
        }

    mine, theirs = points(games), points(other)
    for key, values in theirs.items():
        assert {back[n]: v for n, v in values.items()} == pytest.approx(mine[key], abs=1e-5), key


@pytest.mark.parametrize("name", "abcd")
def test_a_clone_leaves_the_skill_of_everybody(name):
    games = random_games("abcd")
    before = ratings.nash(games, rng())
    cloned = with_clone(games, name, "e")
    after = ratings.nash(cloned, rng())
    for key, table in before.items():
        own = {n: table[n]["skill"] for n in "abcd"}
        assert {n: after[key][n]["skill"] for n in "abcd"} == pytest.approx(own, abs=1e-4)
        assert after[key]["e"]["skill"] == pytest.approx(own[name], abs=1e-4)
    mean = [i.point for i in ratings.means(games, rng(), "win_rate")]
    moved = [i.point for i in ratings.means(cloned, rng(), "win_rate")]
    assert np.abs(np.subtract(moved[:4], mean)).max() > 0.01  # mean results do move


def test_every_opponent_weighs_the_same_in_a_mean():
    games = random_games("abcd", tasks=10)
    extra = [
        g for g in random_games("ab", seed=1, tasks=200).games if {g.first, g.second} == {"a", "b"}
    ]
    more = CrossPlay(games.agents, (*games.games, *(g._replace(task=g.task + 99) for g in extra)))
    table = more.tally().win_rate
    found = ratings.means(more, rng(), "win_rate")[0]
    assert found.point == pytest.approx(table[0, 1:].mean())
    assert found.low < found.point < found.high


# ---- The whole file --------------------------------------------------------------------------


def test_the_file_holds_what_its_docstring_says(hold):
    held = hold(("random", "oracle", "first_legal"), games=400)
    write(held.folder, summarise(held))
    found = json.loads((held.folder / "tournament.json").read_text())
    from coevo.benchmarks import tournament

    assert all(key in (tournament.__doc__ or "") for key in found)
    assert found["kind"] == "tournament"
    assert found["agents"] == ["oracle", "random", "first_legal"]
    assert found["matrix"]["agents"] == found["agents"]
    for key in ("points", "mean_return"):
        rows = found["matrix"][key]
        assert [[x is None for x in row] for row in rows] == np.eye(3, dtype=bool).tolist()
    points = np.array(
        [[0.5 if x is None else x[1] for x in row] for row in found["matrix"]["points"]]
    )
    assert points + points.T == pytest.approx(np.ones((3, 3)))
    for verdict in found["results"]:
        i, j = (found["agents"].index(verdict[k]) for k in "ab")
        assert found["matrix"]["points"][i][j] == verdict["points"]
        own, other = (found["matrix"]["mean_return"][x][y][1] for x, y in ((i, j), (j, i)))
        assert verdict["margin"][1] == pytest.approx((own - other) / 2)
    assert found["table"]["oracle"]["won"] + found["table"]["oracle"]["lost"] == 1
    assert found["seats"]["mean_return"]["player_0"] == pytest.approx(
        -found["seats"]["mean_return"]["player_1"]
    )
    low, point, high = found["seats"]["first_seat_points"]
    assert low < point < high


def test_the_seat_advantage_is_that_of_the_game(hold):
    """Equals in tic-tac-toe: who moves first wins 58.5 % and draws 12.7 % of random plays."""
    agents = {"a": RandomAgent(), "b": RandomAgent()}
    found = summarise(hold(agents, env="coevo/tic_tac_toe-v0", games=600))
    low, _, high = found["seats"]["first_seat_points"]
    assert low - 0.02 < 0.585 + 0.127 / 2 < high + 0.02
    assert found["seats"]["mean_return"]["player_0"] == pytest.approx(0.297, abs=0.12)


def test_mean_returns_of_the_matrix_are_near_the_exact_ones(hold):
    held = hold(("random", "oracle"), games=2000)
    low, _, high = summarise(held)["matrix"]["mean_return"][0][1]
    exact = np.mean(exact_payoffs(held.agents["oracle"], held.agents["random"], KUHN))
    assert low - 0.02 < exact < high + 0.02


def test_a_single_task_has_undefined_bounds_instead_of_narrow_ones(hold):
    found = summarise(hold(("random", "oracle"), games=2))
    assert found["results"][0]["margin"][0] is None
    assert found["matrix"]["mean_return"][0][1][0] is None


def test_every_number_of_the_file_is_plain_json(hold):
    text = json.dumps(summarise(hold(("random", "oracle"), games=2)), allow_nan=False)
    assert "NaN" not in text
    assert dataclasses.is_dataclass(hold(("random", "oracle"), games=2).plan)
