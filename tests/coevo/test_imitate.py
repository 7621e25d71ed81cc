"""`coevo imitate`: settings by size, a table before and after, a model at the end."""

import json

import pytest

from coevo.agents.load import load_agent
from coevo.commands.arguments import Imitate
from coevo.commands.imitate import SIZES, as_train, size_of
from coevo.commands.players import Habits, habits

KUHN = "coevo/kuhn_poker-v0"
FAST = ("--steps", "2", "--games", "4", "--max-new-tokens", "4", "--set", "collect.episodes=4")


def test_a_taught_model_is_a_model_for_everything(cli, here, tiny_model_dir):
    words = ("--model", tiny_model_dir, "--env", KUHN, "--env-option", "prompt_style=terse")
    found = cli("imitate", *words, *FAST, "--out", "taught")
    assert found.status == 0, found.err
    for line in (
        "legal replies",
        "replies not read",
        "payoff against random",
        "exploitability",
    ):
        assert line in found.out
    assert "--agent taught" in found.out
    assert load_agent("taught", device="cpu").name == "taught"
    assert habits("taught") == Habits("terse", 4)
    summary = json.loads((here / "taught" / "summary.json").read_text())
    assert summary["before"][KUHN]["illegal_rate"] >= 0 and summary["steps"] == 2
    done = cli("train", "--resume", "taught", "--steps", "3", "--no-eval")
    assert done.status == 0, done.err


def test_several_environments_and_an_adapter(cli, here, tiny_model_dir):
    envs = (KUHN, "coevo/tiny_hanabi-v0")
    words = ("--model", tiny_model_dir, "--env", *envs, "--env-option", "prompt_style=terse")
    found = cli("imitate", *words, *FAST, "--adapter", "2", "--out", "taught")
    assert found.status == 0, found.err
    assert all(f"{env}: before and after" in found.out for env in envs)
    assert "in self-play" in found.out  # Hanabi has no winner
    again = cli("imitate", "--model", "taught", "--env", KUHN, *FAST, "--from", "taught")
    assert again.status == 0, again.err


def test_a_record_is_imitated(cli, here, tiny_model_dir):
    words = ("--env", KUHN, "--env-option", "prompt_style=terse", *FAST)
    cli("imitate", "--model", tiny_model_dir, *words, "--out", "first")
    record = here / "first" / "episodes.jsonl"
    found = cli("imitate", "--model", tiny_model_dir, *words, "--from", record, "--above", "0")
    assert found.status == 0, found.err


def test_rate_batch_and_length_follow_from_the_size():
    tiny, usual, large = SIZES
    assert size_of("starter") is size_of("table") is tiny
    assert size_of("owner/name") is usual and large.replies > usual.replies
    words = Imitate(model="starter", env=(KUHN,))
    assert as_train(words, tiny).steps == tiny.steps and as_train(words, usual).steps == 50
    assert as_train(Imitate(model="starter", env=(KUHN,), budget="5m"), tiny).steps is None
    given = as_train(Imitate(model="starter", env=(KUHN,), set=("collect.episodes=3",)), tiny)
    assert given.set.count("collect.episodes=3") == 1
    assert not any(s.startswith("collect.episodes=64") for s in given.set)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "randm"), "'randm' is no agent"),
        (("--from", "expert:2"), "skill=2.0 must lie in 0..1"),
        (("--from", "runs/none"), "no model folder 'runs/none'"),
        (("--env", "coevo/kuhn_pocker-v0"), "kuhn_poker"),
        (("--above", "nan"), "must be a number"),
    ],
)
def test_what_is_wrong_is_one_line(cli, here, words, said):
    found = cli("imitate", "--model", "table", "--env", KUHN, *words)
    assert found.status == 2 and said in found.error_line()
