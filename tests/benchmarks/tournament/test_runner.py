"""Playing: fair, repeatable, and continued after any kill with the same bytes."""

import json
from collections import Counter

import numpy as np
import pytest

from coevo.agents import Agent, FixedTextAgent, RandomAgent
from coevo.agents.agent import Unanswered
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_model
from coevo.benchmarks.exact import exact_payoffs
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.tournament import runner as module
from coevo.benchmarks.tournament.plan import Plan
from coevo.benchmarks.tournament.runner import Tournament
from coevo.benchmarks.tournament.summary import summarise, write
from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.collect.rollout import rollout
from tests.benchmarks.tournament.conftest import (
    KUHN,
    OPENSPIEL,
    ROCK_PAPER_SCISSORS,
    RPS,
    Broken,
    Drifting,
    lines,
)

NAMES = ("random", "oracle", "first_legal")


def files(held):
    write(held.folder, summarise(held))
    return tuple((held.folder / n).read_bytes() for n in ("records.jsonl", "tournament.json"))


# ---- What is played --------------------------------------------------------------------------


def test_every_pair_plays_every_task_from_both_seats(hold):
    held = hold(NAMES, games=41)
    seen = Counter(
        (tuple(p["pair"]), p["task"], p["seats"]["player_0"]) for p in lines(held.folder)
    )
    assert set(seen.values()) == {1}
    assert len(seen) == 3 * 21 * 2  # rounded up to whole tasks
    assert {(pair, name) for pair, _, name in seen} == {
        (pair, name) for pair in held.schedule.pairs for name in pair
    }


def test_a_line_says_who_sat_where_and_what_came_of_it(hold):
    held = hold({"refuses": FixedTextAgent("no"), "random": RandomAgent()}, games=2)
    first, second = lines(held.folder)
    assert first["pair"] == ["random", "refuses"]
    assert first["seed"] == second["seed"]
    assert second["seats"] == {"player_0": "refuses", "player_1": "random"}
    assert second["stop"] == "forfeit"
    assert second["forfeit"] == ["player_0"]
    assert second["result"] == {"random": 1.0, "refuses": 0.0}
    assert second["payoffs"]["player_0"] == -2.0
    assert (second["replies"]["player_0"], second["illegal"]["player_0"]) == (2, 2)
    assert (second["unread"]["player_0"], second["near_misses"]["player_0"]) == (2, 0)


def test_mean_returns_agree_with_exact_values(hold):
    held = hold(NAMES, games=1000)
    for (one, two), met in held.pairings.items():
        values = exact_payoffs(held.agents[one], held.agents[two], KUHN)
        lead = met.margin()
        error = lead.std(ddof=1) / np.sqrt(met.tasks)
        assert abs(lead.mean() - np.mean(values)) < 4 * error + 1e-9


def test_draws_are_half_a_point_each(hold):
    held = hold(
        {"rock": ROCK_PAPER_SCISSORS["rock"], "stone": ROCK_PAPER_SCISSORS["rock"]},
        env=OPENSPIEL,
        env_options=RPS,
        games=4,
    )
    assert [p.result for p in held.episodes] == [{"rock": 0.5, "stone": 0.5}] * 4


def test_without_a_contest_agents_also_play_themselves(hold):
    held = hold(("random", "first_legal"), env="coevo/tiny_hanabi-v0", games=10)
    assert not held.contest
    assert Counter(p.pair for p in held.episodes) == {
        ("first_legal", "first_legal"): 5,
        ("first_legal", "random"): 10,
        ("random", "random"): 5,
    }
    assert all(p.result is None for p in held.episodes)


def test_more_than_two_seats_are_filled_with_copies(hold):
    options = {"game": "kuhn_poker(players=3)"}
    held = hold(("random", "first_legal"), env=OPENSPIEL, env_options=options, games=12)
    plays = lines(held.folder)
    assert len(plays) == 12
    assert Counter(tuple(sorted(p["seats"].values())) for p in plays) == {
        ("first_legal", "first_legal", "random"): 6,
        ("first_legal", "random", "random"): 6,
    }
    assert all(abs(sum(p["payoffs"].values())) < 1e-9 for p in plays)
    for play_ in held.episodes:
        alone = next(n for n in play_.pair if list(play_.seats.values()).count(n) == 1)
        own = play_.mean_payoff(alone)
        best = max(x for s, x in play_.payoffs.items() if play_.seats[s] != alone)
        assert play_.result[alone] == (own > best) + (own == best) / 2


# ---- Continuing ------------------------------------------------------------------------------


def test_the_same_tournament_twice_gives_the_same_bytes(hold):
    assert files(hold(NAMES, games=60)) == files(hold(NAMES, games=60))
    assert files(hold(NAMES, games=60)) != files(hold(NAMES, games=60, seed=1))


@pytest.mark.parametrize("settings", [{}, {"adaptive": True}], ids=["even", "adaptive"])
def test_a_cut_anywhere_is_mended_with_the_same_bytes(hold, monkeypatch, settings):
    monkeypatch.setattr("coevo.benchmarks.tournament.schedule.BLOCK_PLAYS", 8)
    monkeypatch.setattr("coevo.benchmarks.tournament.schedule.ADAPTIVE_PLAYS", 8)
    agents = {"random": RandomAgent(), "drifting": Drifting(), "first_legal": RandomAgent()}
    whole = hold(agents, games=40, **settings)
    wanted = files(whole)
    path = whole.folder / "records.jsonl"
    for size in np.random.default_rng(0).integers(len(wanted[0]), size=12):
        path.write_bytes(wanted[0][:size])
        again = hold(agents, games=40, folder=whole.folder, **settings)
        assert path.read_bytes() == wanted[0]
        assert again.episodes == whole.episodes  # of which the summary is made
    assert files(again) == wanted


def test_a_language_model_continues_with_the_same_bytes(hold, tiny_model_dir, monkeypatch):
    monkeypatch.setattr("coevo.benchmarks.tournament.schedule.BLOCK_PLAYS", 4)
    model, tokenizer = load_model(str(tiny_model_dir), device="cpu")
    options = {"prompt_style": "terse", "illegal": "random"}

    def agents():  # generators in another state than those of the first tournament
        learner = LanguageModelAgent(model, tokenizer, seed=len(made))
        made.append(learner)
        return {"model": learner, "random": RandomAgent()}

    made = []
    whole = hold(agents(), games=12, env_options=options)
    wanted = files(whole)
    assert len({line["turns"] for line in lines(whole.folder)}) > 1
    (whole.folder / "records.jsonl").write_bytes(wanted[0][: len(wanted[0]) // 2])
    assert files(hold(agents(), games=12, env_options=options, folder=whole.folder)) == wanted


def test_without_reseeding_a_cut_would_show(hold, monkeypatch):
    """The test above can fail: this is what it guards against."""
    monkeypatch.setattr("coevo.benchmarks.tournament.schedule.BLOCK_PLAYS", 8)
    monkeypatch.setattr(Agent, "reseeded", lambda agent, seed: agent)
    agents = {"random": RandomAgent(), "drifting": Drifting()}
    whole = hold(agents, games=40)
    wanted = files(whole)
    (whole.folder / "records.jsonl").write_bytes(wanted[0][: len(wanted[0]) // 2])
    assert files(hold(agents, games=40, folder=whole.folder)) != wanted


def test_a_finished_tournament_plays_nothing(hold, monkeypatch):
    whole = hold(NAMES)
    monkeypatch.setattr(module, "rollout", None)
    assert files(hold(NAMES, folder=whole.folder)) == files(whole)


def test_the_order_of_the_agents_changes_nothing_but_the_manifest(hold):
    assert files(hold(NAMES)) == files(hold(NAMES[::-1]))


def test_lines_of_another_tournament_are_played_again(hold):
    whole = hold(NAMES)
    wanted = files(whole)
    text = wanted[0].decode().replace('"seed": ', '"seed": 1', 1)
    (whole.folder / "records.jsonl").write_text(text)
    again = hold(NAMES, folder=whole.folder)
    assert sorted(map(str, lines(again.folder))) == sorted(wanted_lines(wanted[0]))


def wanted_lines(data):
    return [str(json.loads(line)) for line in data.decode().splitlines()]


# ---- The folder ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"games": 42}, "games=40, not 42"),
        ({"seed": 7}, "seed=0, not 7"),
        ({"adaptive": True}, "adaptive=False, not True"),
        ({"env_options": {"illegal": "random"}}, "env_options"),
        ({"agents": ("random", "oracle")}, "agents=random,oracle,first_legal, not random,oracle"),
    ],
)
def test_other_settings_in_a_folder_are_refused(hold, changes, named):
    whole = hold(NAMES)
    names = changes.pop("agents", NAMES)
    with pytest.raises(ConfigError, match=named) as error:
        hold(names, folder=whole.folder, **changes)
    assert "\n" not in str(error.value)


def test_other_weights_under_the_same_name_are_refused(tmp_path, tiny_model_dir):
    import shutil

    copy = shutil.copytree(tiny_model_dir, tmp_path / "model")
    plan = Plan(agents=(str(copy), "random"), env=KUHN, games=2, env_options={"illegal": "random"})
    model, tokenizer = load_model(str(copy), device="cpu")
    agents = {str(copy): LanguageModelAgent(model, tokenizer), "random": RandomAgent()}
    Tournament(plan, agents, tmp_path / "t").play()
    Tournament(plan, agents, tmp_path / "t").play()
    weights = copy / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(ConfigError, match="has other weights"):
        Tournament(plan, agents, tmp_path / "t").play()


def test_a_folder_with_something_else_is_refused(hold, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    with pytest.raises(DataError, match="holds something else"):
        hold(NAMES, folder=tmp_path / "other")
    (tmp_path / "other" / "manifest.json").write_text('{"kind": "comparison"}')
    with pytest.raises(DataError, match="no manifest of a tournament"):
        hold(NAMES, folder=tmp_path / "other")


def test_two_processes_do_not_share_a_folder(hold):
    whole = hold(NAMES)
    folder = ResultsFolder(whole.folder, "tournament")
    with folder.alone(), pytest.raises(DataError, match="another process"):
        hold(NAMES, folder=whole.folder)


def test_the_manifest_is_there_before_the_first_play(hold, monkeypatch, tmp_path):
    def stopped(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "rollout", stopped)
    with pytest.raises(KeyboardInterrupt):
        hold(NAMES, folder=tmp_path / "t")
    found = json.loads((tmp_path / "t" / "manifest.json").read_text())
    assert found["kind"] == "tournament"
    assert {"agents", "env", "env_options", "games", "seed", "commit", "hardware"} <= found.keys()
    assert found["packages"]["coevo"]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"agents": ("random",)}, "two agents or more"),
        ({"agents": ("random", "oracle", "random")}, "'random' is named twice"),
        ({"agents": ("random", "human")}, "'human' cannot play"),
        ({"games": 0}, "games=0"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_plans_without_meaning_are_refused(settings, named):
    with pytest.raises(ConfigError, match=named):
        Plan(**{"agents": ("random", "oracle"), "env": KUHN} | settings)


# ---- Agents that fail ------------------------------------------------------------------------


def test_an_agent_that_fails_is_counted_and_left_out(hold):
    held = hold({"broken": Broken(), "random": RandomAgent(), "same": RandomAgent()}, games=300)
    assert sum(p.failed for p in held.episodes) == 2 * 128  # a pair stops after a fruitless block
    found = summarise(held)
    assert list(found["left_out"]) == ["broken"]
    assert found["left_out"]["broken"].endswith("(broken: RuntimeError: server is down)")
    assert sorted(found["agents"][:2]) == ["random", "same"]
    assert found["table"]["broken"]["errors"] == 256
    assert found["table"]["broken"]["mean_return"] is None
    assert set(found["ratings"]["bradley_terry"]["agents"]) == {"random", "same"}
    assert any("broken is left out" in s for s in found["headline"])


def test_if_nobody_can_be_rated_the_result_says_so(hold):
    found = summarise(hold({"broken": Broken(), "random": RandomAgent()}, games=4))
    assert found["headline"][0] == "Fewer than two agents could be rated."
    assert found["ratings"] == {}
    assert json.dumps(found, allow_nan=False)


def test_who_failed_may_play_when_the_tournament_is_continued(hold):
    agents = {"broken": Broken(after=3), "random": RandomAgent()}
    first = hold(agents, games=300)
    assert 0 < sum(p.failed for p in first.episodes) < 300
    agents["broken"].left = 10**9
    again = hold(agents, games=300, folder=first.folder)
    assert sum(p.failed for p in again.episodes) == 0
    assert len(lines(first.folder)) == 300


def test_a_reply_that_nobody_could_give_is_a_failed_play(hold):
    class Down(Agent):
        def act(self, requests):
            replies = RandomAgent().act(requests)
            return [Unanswered(reason="no answer"), *replies[1:]]

    held = hold({"down": Down(), "random": RandomAgent()}, games=20)
    failed = [p for p in held.episodes if p.failed]
    assert 0 < len(failed) < 20
    assert {p.note for p in failed} == {"down: no answer"}
    assert all(p.result is None and not p.payoffs for p in failed)
    assert summarise(held)["table"]["down"]["errors"] == len(failed)


def test_a_task_counts_only_if_all_of_its_episodes_were_finished(hold, monkeypatch):
    def flaky(env_id, matches, players, env_options=None):
        episodes = rollout(env_id, matches, players, env_options)
        episodes[2].stop, episodes[2].note = StopReason.ERROR, "timeout"
        return episodes

    monkeypatch.setattr(module, "rollout", flaky)
    held = hold(("random", "oracle"), games=20)
    met = held.pairings["oracle", "random"]
    assert (met.played, met.failed, met.tasks, len(met.episodes)) == (20, 1, 9, 18)
    assert 1 not in {p.task for p in met.episodes}
    assert summarise(held)["episodes"] == {
        "played": 20,
        "counted": 18,
        "errors": 1,
        "forfeits": 0,
        "possible": 20,
    }
