"""`coevo evaluate` on sets: suites, scenarios, axes, generations."""

import json
import shutil

import pytest

from coevo.agents.models.folders import fingerprint
from coevo.envs import list_envs

KUHN, HANABI, GOOFSPIEL = "coevo/kuhn_poker-v0", "coevo/tiny_hanabi-v0", "coevo/goofspiel-v0"


@pytest.fixture
def two(monkeypatch):
    """Make the suite of games a short one."""
    monkeypatch.setattr(
        "coevo.benchmarks.suites.names.available",
        lambda: {"games": [KUHN, HANABI], "dilemmas": []},
    )


def test_a_suite_is_a_table_with_its_mean(cli, two):
    words = ("evaluate", "--agent", "oracle", "--suite", "games", "--games", "8")
    out = cli(*words).out
    for said in (KUHN, HANABI, "less is better: exploitability", "exact", "IQM 1.000", "replies"):
        assert said in out, said
    found = json.loads(cli(*words, "--json").out)
    assert found["kind"] == "evaluation"
    assert set(found["environments"]) == {KUHN, HANABI}
    assert found["total"]["mean"] == pytest.approx(1, abs=2e-3)
    assert found["env_options"] == {"prompt_style": "full"}


def test_a_suite_of_the_starter_model_says_how_it_was_sampled(cli, two, here):
    words = ("evaluate", "--agent", "starter", "--suite", "games", "--games", "8", "--seed", "2")
    words += ("--samples", "2", "--temperature", "0.5", "--out", "e")
    result = cli(*words)
    assert result.status == 0, result.err
    assert "temperature 0.5, max tokens 16" in result.out
    assert "tokens sampled" in result.out
    assert "pass@k" in result.out
    whole = json.loads((here / "e" / "evaluation.json").read_text())
    assert whole["sampling"] == {"temperature": 0.5, "max_new_tokens": 16}
    assert whole["weights"] == {"starter": fingerprint("starter")}
    row = whole["environments"][HANABI]
    assert row["usage"]["sampled_tokens"] > row["usage"]["replies"] > 0
    assert row["details"]["repeats"]["samples"] == 2
    before = {p: p.stat().st_mtime_ns for p in (here / "e" / "parts").iterdir()}
    (here / "e" / "parts" / "coevo-tiny_hanabi-v0.json").unlink()  # as if it had been killed there
    assert json.loads(cli(*words, "--json").out) == whole
    kept = here / "e" / "parts" / "coevo-kuhn_poker-v0.json"
    assert kept.stat().st_mtime_ns == before[kept]


def test_filters_of_sampling_are_settings_of_a_measurement(cli, here):
    words = ("evaluate", "--agent", "table", "--env", KUHN, "--games", "4", "--out", "e", "--set")
    assert cli(*words, "sampling.top_k=1").status == 0
    whole = json.loads((here / "e" / "evaluation.json").read_text())
    assert whole["sampling"] == {"temperature": 1.0, "max_new_tokens": 16, "top_k": 1}
    assert "sampling" in cli(*words, "sampling.top_k=2").error_line()


def test_social_outcomes_are_shown_where_play_is_no_contest(cli):
    words = ("evaluate", "--agent", "expert:1", "--opponent", "self", "--games", "2", "--env")
    found = json.loads(cli(*words, "coevo/fishery-v0", "--json").out)["details"]["social"]
    assert found["over_usage"] == {"mean": 0.0, "defined": 2}
    assert found["peace"] == {"mean": None, "defined": 0}
    assert found["equality"]["mean"] == 1 and found["efficiency"]["mean"] == 50
    shown = cli(*words, "coevo/fishery-v0").out
    assert "social outcomes" in shown and "over_usage" in shown
    assert "social" not in cli(*words, KUHN).out


def test_what_episodes_say_of_themselves_is_averaged(cli):
    words = ("evaluate", "--agent", "expert:0.5", "--opponent", "self", "--games", "8", "--env")
    found = json.loads(cli(*words, "coevo/search_reader-v0", "--json").out)
    own = found["details"]["outcome"]
    assert own["exact_match"] == found["value"] and own["searches"] == 2
    assert "unread" not in own
    assert "exact_match" in cli(*words, "coevo/search_reader-v0").out


def test_agents_are_shown_side_by_side_from_their_folders(cli, two, here):
    words = ("evaluate", "--suite", "games", "--games", "4", "--agent")
    assert cli(*words, "oracle", "--out", "o").status == 0
    (here / "o" / "parts" / "coevo-kuhn_poker-v0.json").unlink()  # as if it were not done yet
    result = cli(*words, "starter", "--out", "s", "--beside", "o", "--max-new-tokens", "6")
    assert result.status == 0, result.err
    assert "2 environments, 8 episodes, about" in result.out
    assert "one episode of coevo/" in result.out  # and what it took
    assert "side by side" in result.out and "near misses" in result.out
    page = (here / "s" / "evaluation.md").read_text(encoding="utf-8")
    hanabi = next(line for line in page.splitlines() if line.startswith("| tiny_hanabi |"))
    assert "3.722 | 10.000" in hanabi and hanabi.endswith("10.000 ± 0.000 |")
    kuhn = next(line for line in page.splitlines() if line.startswith("| kuhn_poker |"))
    assert " exact | – |" in kuhn
    assert "## Replies of starter" in page and "## Replies of oracle" not in page
    again = cli(*words, "oracle", "--out", "o").out
    assert "1 environments, 4 episodes\n" in again and f"done before: {HANABI}" in again


def test_folders_beside_a_suite_are_of_a_suite(cli, two, here):
    words = ("evaluate", "--agent", "random", "--games", "2")
    assert cli(*words, "--env", KUHN, "--out", "k").status == 0
    assert "not of a suite" in cli(*words, "--suite", "games", "--beside", "k").error_line()
    assert "--beside goes with" in cli(*words, "--env", KUHN, "--beside", "k").error_line()


def test_a_folder_of_another_agent_is_refused(cli, two, here):
    words = ("evaluate", "--suite", "games", "--games", "2", "--out", "e", "--agent")
    assert cli(*words, "random").status == 0
    assert "agent='random', not 'oracle'" in cli(*words, "oracle").error_line()


def test_weights_that_changed_are_another_agent(tiny_model_dir, tmp_path):
    copy = shutil.copytree(tiny_model_dir, tmp_path / "model")
    before = fingerprint(str(copy))
    assert before == fingerprint(str(tiny_model_dir)) != ""
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0")
    assert fingerprint(str(copy)) != before
    assert fingerprint("random") == fingerprint("openai:gpt") == fingerprint("owner/name") == ""


def test_repeated_plays_of_one_environment(cli):
    words = ("evaluate", "--agent", "random", "--env", GOOFSPIEL, "--games", "24", "--samples", "4")
    found = json.loads(cli(*words, "--json").out)
    assert found["repeats"]["questions"] == 6
    assert list(found["repeats"]["pass_at"]) == ["1", "2", "4"]
    out = cli(*words).out
    assert "4 episodes of each start; no sampling of tokens" in out
    assert "avg@4" in out


def test_one_environment_may_be_kept_too(cli, here):
    words = ("evaluate", "--agent", "random", "--env", KUHN, "--games", "4", "--out", "e")
    assert cli(*words).status == 0
    kept = json.loads((here / "e" / "evaluation.json").read_text())
    assert kept["result"]["episodes"] == 4
    assert kept["env"] == KUHN


def test_scenarios(cli, here):
    words = ("evaluate", "--agent", "oracle", "--games", "9", "--out", "e", "--scenario")
    out = cli(*words, "hanabi_conventions").out
    assert "visitor" in out
    assert "focal return with: convention:1 +10.000" in out
    found = json.loads((here / "e" / "evaluation.json").read_text())
    assert found["scenarios"]["hanabi_conventions"]["episodes"] == 9
    all_ = json.loads(
        cli("evaluate", "--agent", "random", "--games", "3", "--scenario", "all", "--json").out
    )
    assert {s["details"]["mode"] for s in all_["scenarios"].values()} == {"resident", "visitor"}


def test_axes(cli):
    words = ("evaluate", "--agent", "oracle", "--axis", "partners", "--games", "10")
    out = cli(*words).out
    assert "worst case" in out
    assert "with convention:2" in out
    found = json.loads(cli(*words, "--env", KUHN, "--json").out)
    assert [level["opponent"] for level in found["levels"]] == [
        *("oracle", "expert:0.5", "random", "first_legal")
    ]
    assert found["worst"] == min(level["normalised"] for level in found["levels"])


def test_generations_of_a_run(cli, run_folder, here):
    words = ("evaluate", "--generations", run_folder, "--games", "2", "--out", "g")
    result = cli(*words)
    assert result.status == 0, result.err
    assert "generation-over-generation score" in result.out
    assert "step_000003" in result.out
    assert (here / "g" / "generations.svg").is_file()
    found = json.loads((here / "g" / "evaluation.json").read_text())
    steps = [p.name for p in sorted((run_folder / "checkpoints").glob("step_*"))]
    assert found["generations"] == steps
    assert set(found["weights"]) == set(steps)
    assert found["opponents"] == ["random", "oracle", "start"]
    assert found["verdict"] in result.out
    again = json.loads(cli(*words, "--json").out)
    assert again == found


def test_a_run_with_one_checkpoint_is_no_series(cli, run_folder):
    _, *others = sorted((run_folder / "checkpoints").glob("step_*"))
    for path in others:
        shutil.rmtree(path)
    line = cli("evaluate", "--generations", run_folder).error_line()
    assert "keep_checkpoints" in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--env", KUHN), "needs --agent"),
        (("--agent", "random"), "one of --env ID, --suite NAME"),
        (("--agent", "random", "--suite", "gams"), "did you mean 'games'"),
        (("--agent", "random", "--suite", "games", "--scenario", "all"), "contradict"),
        (("--agent", "random", "--suite", "games", "--env", KUHN), "contradict"),
        (("--agent", "random", "--suite", "games", "--opponent", "oracle"), "--opponent goes with"),
        (("--agent", "random", "--suite", "games", "--games", "0"), "games=0"),
        (("--agent", "random", "--suite", "games", "--env-option", "game=nim"), "game"),
        (("--agent", "random", "--env", KUHN, "--samples", "0"), "--samples 0"),
        (("--agent", "random", "--scenario", "hanabi", "--samples", "2"), "--samples 2"),
        (("--agent", "random", "--scenario", "hanabi_randm"), "'hanabi_random'"),
        (("--agent", "random", "--axis", "player"), "'players'"),
        (("--agent", "random", "--axis", "payoffs", "--env-option", "game=nim"), "game"),
        (
            ("--agent", "random", "--scenario", "hanabi_random", "--env-option", "max_cycles=1"),
            "max_cycles=1 would change the rules, which --scenario fixes",
        ),
        (("--agent", "random", "--axis", "players", "--env", HANABI), "it exists for"),
        (("--agent", "random", "--generations", "runs/x"), "not --agent"),
        (("--generations", "none"), "is not a run folder"),
        (("--agent", "randon", "--suite", "games"), "'random'"),
        (("--agent", "random", "--env", KUHN, "--set", "top_p=0.9"), "'sampling.top_p'"),
        (("--agent", "random", "--env", KUHN, "--set", "sampling.topp=1"), "'top_p'"),
        (("--agent", "random", "--env", KUHN, "--set", "sampling.top_p=2"), "top_p=2"),
        (("--agent", "random", "--env", KUHN, "--set", "sampling=2"), "such as sampling.top_p"),
        (
            ("--agent", "starter", "--env", KUHN, "--greedy", "--set", "sampling.temperature=1"),
            "--greedy and sampling.temperature=1",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_line(cli, here, words, said):
    result = cli("evaluate", *words)
    assert result.status == 2
    assert said in result.error_line()


def test_suites_that_are_empty_say_so(cli):
    kinds = {s.suite_names for s in list_envs()}
    for name in ("dilemmas", "societies", "discussion", "search"):
        if not any(name in names for names in kinds):
            line = cli("evaluate", "--agent", "random", "--suite", name).error_line()
            assert f"no environment of the suite '{name}' is registered yet" in line
            assert "Available: games: coevo/connect_four-v0" in line


def test_the_search_suite_has_a_table_of_its_own(cli):
    words = ("evaluate", "--agent", "expert:1", "--suite", "search", "--games", "4")
    shown = cli(*words, "--env-option", "hops=1").out
    assert [
        w for w in ("closed book", "one-shot reader", "agent", "leaks: 0.0%") if w not in shown
    ] == []
    rows = json.loads(cli(*words, "--env-option", "hops=2", "--json").out)["search"]["rows"]
    assert [row["exact_match"] for row in rows] == [0.0, 0.0, 1.0]
    assert "search has a table of its own" in cli(*words, "--samples", "2").error_line()


def test_ctrl_c_keeps_what_was_finished(cli, two, here, monkeypatch):
    from coevo.benchmarks.suites import suite

    original = suite.measure

    def interrupted(agent, env_id, settings):
        if env_id == HANABI:
            raise KeyboardInterrupt
        return original(agent, env_id, settings)

    monkeypatch.setattr(suite, "measure", interrupted)
    words = ("evaluate", "--agent", "random", "--suite", "games", "--games", "4", "--out", "e")
    assert cli(*words).status == 130
    assert [p.stem for p in (here / "e" / "parts").iterdir()] == ["coevo-kuhn_poker-v0"]
    monkeypatch.undo()
