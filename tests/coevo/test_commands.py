import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from coevo import __version__
from coevo.agents.human import HumanLeft
from coevo.commands.arguments import COMMANDS, as_typed, flag
from coevo.commands.formula import readable
from coevo.commands.parse import parse
from coevo.commands.play import Table
from coevo.commands.progress import Bar
from coevo.commands.screen import Screen
from coevo.commands.starter_check import legal_share, promises
from coevo.commands.transcript import ending, excerpt, transcript
from coevo.envs import list_envs
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status
from coevo.envs.core.quoting import visible
from coevo.trainers.algorithms import ALGORITHMS

KUHN = "coevo/kuhn_poker-v0"


def test_help_lists_every_command(cli):
    for words in ((), ("--help",), ("help",)):
        out = cli(*words).out
        assert all(name in out for name in COMMANDS)
        assert "example:" in out
    assert cli("--version").out == f"coevo {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_ends_with_an_example_that_parses(cli, name):
    result = cli(*name.split(), "--help")
    assert result.status == 0
    example = result.out.splitlines()[-1].strip()
    assert example == COMMANDS[name].example
    assert isinstance(parse(example.split()[1:]), COMMANDS[name])
    assert "None" not in result.out


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_spelled_back(name):
    words = COMMANDS[name].example.split()[1:]
    spelled = as_typed(parse(words))
    assert parse(spelled.split()[1:]) == parse(words)


def test_options_are_spelled_with_hyphens():
    assert flag("budget_tokens") == "--budget-tokens"


def test_help_of_the_starter_model_lists_its_two_commands(cli):
    out = cli("starter", "--help").out
    assert "build" in out
    assert "check" in out


def test_envs(cli):
    out = cli("envs").out
    listed = json.loads(cli("envs", "--json").out)
    assert [entry["id"] for entry in listed] == [s.id for s in list_envs()]
    assert all(s.id in out for s in list_envs())
    games, societies = out.index("games: "), out.index("societies: ")
    assert out.index("dilemmas: ") < games < out.index("coevo/kuhn_poker-v0") < societies
    assert societies < out.index("coevo/fishery-v0")


def test_algos(cli):
    out = cli("algos").out
    assert all(name in out for name in ALGORITHMS)
    assert [a["name"] for a in json.loads(cli("algos", "--json").out)] == list(ALGORITHMS)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_is_shown_beside_its_sources(cli, name):
    record = ALGORITHMS[name]
    shown = json.loads(cli("algos", name, "--json").out)
    assert shown["settings"]["optim.lr"] == record.optim.lr
    assert set(shown["published"]) == set(record.published)
    out = cli("algos", name).out
    assert all(line in out for line in readable(record.formula))
    assert all(key in out for key in record.published)
    assert all(f"--variant {variant}" in out for variant in record.variants)


# ---- evaluate, exploitability ----------------------------------------------------------------


def test_evaluate_scores_an_agent(cli):
    words = ("evaluate", "--agent", "oracle", "--env", "coevo/tic_tac_toe-v0", "--games", "20")
    found = json.loads(cli(*words, "--json").out)
    assert found["episodes"] == 20
    assert found["loss_rate"] == 0
    assert found["opponent"] == "random"
    assert "oracle against random" in cli(*words).out


def test_a_cooperative_task_is_evaluated_in_self_play_and_says_what_rewards_change(cli):
    words = ("evaluate", "--agent", "oracle", "--env", "coevo/debate-v0", "--games", "4")
    told = cli(*words, "--env-option", "rewards=[format]").out
    assert "in self-play" in told
    assert "moves none of them" in told


def test_evaluate_in_self_play(cli):
    words = ("evaluate", "--agent", "random", "--env", KUHN, "--games", "10", "--opponent", "self")
    found = json.loads(cli(*words, "--json").out)
    assert found["opponent"] is None
    assert found["value"] == pytest.approx(0)


def test_evaluate_takes_a_run_and_prompts_as_it_was_trained(cli, finished):
    words = ("evaluate", "--agent", finished.path, "--env", KUHN, "--games", "4", "--json")
    first = json.loads(cli(*words).out)
    assert first["env_options"] == {"prompt_style": "terse"}
    assert json.loads(cli(*words).out) == first
    greedy = json.loads(cli(*words, "--greedy").out)
    assert greedy["episodes"] == 4


def test_exploitability_of_random_play(cli):
    words = ("exploitability", "--agent", "random", "--env", KUHN)
    assert json.loads(cli(*words, "--json").out)["exploitability"] == pytest.approx(11 / 24)
    assert "0.4583" in cli(*words).out


# ---- play, replay ----------------------------------------------------------------------------


def lines(monkeypatch, *typed: str) -> None:
    left = iter(typed)

    def read(prompt: str = "") -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("coevo.agents.human.HumanAgent.__init__.__defaults__", (read, None))


def test_a_person_plays_a_game_to_its_end(cli, monkeypatch):
    lines(monkeypatch, "bet", "nonsense", "1", "1")
    result = cli("play", "--env", KUHN, "--agent", "first_legal", "--seed", "3")
    assert result.status == 0, result.err
    assert "Kuhn poker for two players" in result.out
    assert "you are player_0: player_" in result.out


def test_an_agent_that_cannot_play_here_says_so_before_the_person_moves(cli, monkeypatch):
    lines(monkeypatch, "1", "1")
    result = cli("play", "--env", "coevo/iterated_game-v0", "--agent", "oracle")
    assert "no oracle" in result.error_line()
    assert result.out == ""


def test_a_person_may_leave(cli, monkeypatch):
    lines(monkeypatch)
    result = cli("play", "--env", KUHN, "--agent", "random")
    assert result.status == 130
    assert result.err.count("\n") == 1
    assert result.out.endswith("\n")


def test_both_sides_of_a_table_stay_in_step():
    from coevo.agents import RandomAgent

    for spec in list_envs():
        table = Table(spec.id, {"prompt_style": "terse"}, seed=5)
        episode = table.play(table.env.possible_agents[0], RandomAgent(), RandomAgent())
        assert episode.stop is StopReason.FINISHED
        assert table.seen.episode.outcome == episode.outcome
        chat = table.seen.episode.turns[0].chat
        assert chat[0]["role"] == "system" or len(chat) == 1  # the rules, or all in one message


def test_leaving_is_not_called_an_error():
    assert HumanLeft("x").exit_code == 130


def test_replay_tells_a_recorded_play(cli, finished):
    count = len((finished.path / "episodes.jsonl").read_text().splitlines())
    first = cli("replay", finished.path).out
    assert f"episode 1 of {count}" in first
    assert "Kuhn poker. You are player 0." in first
    last = cli("replay", finished.path / "episodes.jsonl", "--episode", "-1").out
    assert last == cli("replay", finished.path, "--episode", str(count)).out
    assert f"episode {count} of {count}" in last


def test_replay_beyond_the_end(cli, finished):
    for number in ("0", "999", "-999"):
        line = cli("replay", finished.path, "--episode", number).error_line()
        assert f"--episode {number}" in line


def test_replay_shows_what_is_whole_of_a_file_that_a_kill_cut(cli, run_folder):
    path = run_folder / "episodes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines)[:-40])
    told = cli("replay", run_folder, "--episode", "-1")
    assert told.status == 0, told.err
    first, second, *_ = told.out.splitlines()
    whole = len(lines) - 1
    assert first == f"the last line of {path} is torn: a kill cut it; {whole} before it are whole"
    assert second == f"episode {whole} of {whole}"


def test_replay_refuses_a_line_that_is_broken_in_the_middle(cli, run_folder):
    path = run_folder / "episodes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][:-40] + b"\n"
    path.write_bytes(b"".join(lines))
    assert "line 2: not an episode" in cli("replay", run_folder).error_line()
    path.write_bytes(lines[0][:-40])
    assert "line 1: not an episode" in cli("replay", run_folder).error_line()
    path.write_bytes(b"")
    assert "holds no episodes" in cli("replay", run_folder).error_line()


def episode_of(
    *, stop: StopReason = StopReason.FINISHED, pay: dict[str, float], text: str = "[bet]"
) -> Episode:
    turn = Turn("a_0", ({"role": "user", "content": "Move?"},), text, "bet", Status.LEGAL, ("bet",))
    turn.player, turn.version = "policy", 7
    turn.pay("payoff", pay)
    turns = [turn]
    if stop is StopReason.FORFEIT:
        turns = [replace(turn, move=None, status=Status.ILLEGAL)]
        turns += [replace(turn, agent="b_0", move=None, rewards={})] * (pay["b_0"] < 0)
    return Episode(KUHN, 1, {}, ("a_0", "b_0"), "seed-1", turns, stop, note="a_0: no move")


def test_transcripts_name_who_said_what_and_who_won():
    shown = "\n".join(transcript(episode_of(pay={"a_0": 2, "b_0": -2})))
    for part in (
        "a_0 (policy after 7 updates) reads:",
        "Move?",
        '"[bet]"',
        "plays bet",
        "a_0 wins",
    ):
        assert part in shown
    assert "payoff: a_0 +2, b_0 -2" in shown


@pytest.mark.parametrize(
    ("episode", "said"),
    [
        (episode_of(pay={"a_0": 1, "b_0": -1}), "a_0 wins (a_0 +1, b_0 -1)"),
        (episode_of(pay={"a_0": 3, "b_0": 3}), "draw (a_0 +3, b_0 +3)"),
        (
            replace(episode_of(pay={"a_0": 3, "b_0": 1}), env="coevo/iterated_game-v0"),
            "finished (a_0 +3, b_0 +1)",
        ),
        (episode_of(pay={"a_0": -1, "b_0": 0}, stop=StopReason.FORFEIT), "a_0 forfeits (a_0"),
        (
            episode_of(pay={"a_0": -1, "b_0": -1}, stop=StopReason.FORFEIT),
            "a_0 and b_0 forfeit (a_0 -1, b_0 -1)",
        ),
        (episode_of(pay={}, stop=StopReason.TURN_LIMIT), "truncated"),
        (episode_of(pay={}, stop=StopReason.ERROR), "error (a_0 +0, b_0 +0): a_0: no move"),
    ],
)
def test_endings(episode, said):
    assert ending(episode).startswith(said)


def test_text_of_agents_cannot_steer_the_terminal():
    episode = episode_of(pay={"a_0": 1}, text="\x1b[2J\x07hello")
    assert "\x1b" not in "".join([*transcript(episode), *excerpt(episode)])
    assert visible("ok\n\x1b") == "ok\n\\u001b"


def test_names_of_metrics_cannot_steer_the_terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("coevo.commands.screen.Screen.is_terminal", True)
    screen = Screen()
    screen.file = written = io.StringIO()
    with Bar(screen) as bar:
        bar.show(0.5, "return \x1b]0;owned\x07 [red]a_0\x9b2J")
        bar._bar.refresh()
    assert "\\u001b]0;owned\\u0007 [red]a_0\\u009b2J" in written.getvalue()
    assert "\x1b]0;" not in written.getvalue() and "\x9b" not in written.getvalue()


def test_an_excerpt_shows_both_ends_of_a_long_prompt():
    episode = episode_of(pay={"a_0": 1})
    episode.turns[0].seen = ({"role": "user", "content": "Rules. " + "x " * 2000 + "Moves: [b]."},)
    line = next(line for line in excerpt(episode) if "reads:" in line)
    assert "Rules." in line and line.endswith("Moves: [b].") and len(line) < 1000


# ---- starter ------------------------------------------------------------------------------


def test_check_fails_for_a_model_that_keeps_no_promise(cli, tiny_model_dir):
    words = ("starter", "check", "--model", tiny_model_dir, "--turns", "4", "--games", "2")
    result = cli(*words, "--json")
    assert result.status == 1
    found = json.loads(result.out)
    assert found["holds"] is False
    assert f"{KUHN} legal answers" in {p["what"] for p in found["promises"] if not p["holds"]}


def test_scripted_play_is_legal_and_the_check_covers_every_environment():
    from coevo.agents import FixedTextAgent, RandomAgent

    found = {p.what: p for p in promises(RandomAgent(), turns=1, games=2)}
    for spec in (s for s in list_envs() if s.starter_trained):
        assert found[f"{spec.id} legal answers"].value == 1.0, "random play has the right form"
        assert (f"{spec.id} against random" in found) == (spec.kind == "competitive")
    assert found[f"{KUHN} exploitability"].holds
    unread, _ = legal_share(FixedTextAgent("hm"), "coevo/peer_review-v0", 1)
    assert unread < 1.0, "the check can fail"


def test_build_makes_a_model_that_loads(cli, here, monkeypatch):
    from coevo.benchmarks.starter.examples import SeedConfig
    from coevo.commands import starter_build

    small = replace(SeedConfig(), hidden=16, layers=1, heads=2, feed_forward=16)
    monkeypatch.setattr(starter_build, "SeedConfig", lambda **kwargs: replace(small, **kwargs))
    done = cli("starter", "build", "--out", "made", "--turns", "300", "--minutes", "0.02")
    assert done.status == 0, done.err
    assert "MB" in done.out
    assert "Writing model shards" not in done.err
    assert Path("made/config.json").is_file()
    assert cli("evaluate", "--agent", "./made", "--env", KUHN, "--games", "2").status == 0
