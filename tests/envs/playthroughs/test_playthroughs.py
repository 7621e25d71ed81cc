"""Golden episodes: what an environment said and paid once, it says and pays for ever."""

import json
import re

import pytest

import coevo.envs
from coevo.envs.core.episode import Episode, read_episodes
from coevo.envs.core.parsing import ANSWER_FORMAT

IDS = [spec.id for spec in coevo.envs.list_envs()]


@pytest.mark.parametrize("env_id", IDS)
def test_every_environment_has_a_playthrough_in_both_styles(env_id, record):
    path = record.path(env_id)
    command = f"python -P tests/envs/playthroughs/record.py {env_id}"
    assert path.exists(), f"no playthrough of {env_id}: run `{command}` and read what it wrote"
    episodes = list(read_episodes(path))
    assert [e.options["prompt_style"] for e in episodes] == list(record.STYLES)
    assert {e.env for e in episodes} == {env_id}
    assert all(e.turns for e in episodes)


def test_no_playthrough_is_left_of_an_environment_that_is_gone(record):
    assert {p.name for p in record.FOLDER.glob("*.jsonl")} <= {record.path(i).name for i in IDS}


def prompts(episode):
    """Every seat with the messages of the environment that it saw, in one list."""
    return {
        turn.agent: [m for m in turn.chat if m["role"] != "assistant"] for turn in episode.turns
    }


def own_words(text):
    """What the environment says itself: no quotations, and no LaTeX that it asks for."""
    lines = [line for line in text.splitlines() if not line.startswith("|")]
    return "\n".join(lines).replace("\\boxed{}", "")


@pytest.mark.parametrize("env_id", IDS)
def test_no_prompt_shows_what_only_a_program_reads(env_id, record):
    for episode in read_episodes(record.path(env_id)):
        for messages in prompts(episode).values():
            said = own_words("\n".join(m["content"] for m in messages))
            assert not re.search(r"[{}]|\b(None|nan|NaN|inf|True|False)\b", said), said


@pytest.mark.parametrize("env_id", IDS)
def test_a_full_chat_names_its_seat_and_says_once_how_to_answer(env_id, record):
    full, _ = read_episodes(record.path(env_id))
    listed = {turn.agent for turn in full.turns if turn.legal is not None}
    for seat, messages in prompts(full).items():
        assert seat in messages[0]["content"]
        told = sum(m["content"].count(ANSWER_FORMAT) for m in messages)
        assert told == (seat in listed)


@pytest.mark.parametrize("env_id", IDS)
def test_seed_and_replies_reproduce_the_record(env_id, record):
    for line in record.path(env_id).read_text(encoding="utf-8").splitlines():
        golden = json.loads(Episode.from_json(line).to_json())  # newer fields at their defaults
        env = coevo.envs.make(env_id, **golden["options"])
        env.reset(seed=golden["seed"])
        for number, turn in enumerate(golden["turns"]):
            assert env.agent_selection == turn["agent"]
            env.step(turn["text"])
            now = json.loads(env.episode.to_json())
            assert now["turns"][number] == turn
        assert json.loads(env.episode.to_json()) == golden
