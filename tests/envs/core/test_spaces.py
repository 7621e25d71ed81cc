"""Spaces for chats and free text."""

import copy
import json
import pickle

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.spaces import ChatSpace, TextSpace

TEXTS = ["", "plain", "下注三个筹码", "🙂👩‍👩‍👧", "two\nlines\ttab", "\x00", "ß İ", "\ud83d"]


def chat(*contents):
    return tuple({"role": "user", "content": content} for content in contents)


@pytest.mark.parametrize("text", TEXTS)
def test_every_character_is_inside(text):
    assert text in TextSpace()
    assert chat(text) in ChatSpace()
    assert {"messages": chat(text)} in spaces.Dict({"messages": ChatSpace()})


@pytest.mark.parametrize("thing", ["four", None, 3, b"abc", ["a"], np.array("a")])
def test_what_is_not_a_short_string_is_outside(thing):
    assert thing not in TextSpace(3)


@pytest.mark.parametrize(
    "thing",
    [
        list(chat("a")),
        "a",
        ({"role": "user"},),
        ({"role": "user", "content": "a", "name": "b"},),
        ({"role": "judge", "content": "a"},),
        ({"role": ["user"], "content": "a"},),
        ({"role": "user", "content": None},),
        ("a",),
        chat("a", "b", "c"),
        chat("toolong"),
    ],
)
def test_what_is_not_a_chat_is_outside(thing):
    assert thing not in ChatSpace(max_messages=2, max_length=5)


def test_limits_are_inclusive():
    assert "abc" in TextSpace(3)
    assert chat("abcde", "") in ChatSpace(max_messages=2, max_length=5)
    assert () in ChatSpace()


@pytest.mark.parametrize(
    "space", [TextSpace(), TextSpace(2), ChatSpace(), ChatSpace(1, 2), ChatSpace(0)]
)
def test_samples_are_inside_and_seeded(space):
    space.seed(3)
    first = [space.sample() for _ in range(50)]
    space.seed(3)
    assert first == [space.sample() for _ in range(50)]
    assert all(sample in space for sample in first)
    if space != ChatSpace(0):
        space.seed(4)
        assert first != [space.sample() for _ in range(50)]


def test_the_constructor_takes_a_seed():
    assert TextSpace(seed=1).sample() == TextSpace(seed=1).sample() != TextSpace(seed=2).sample()
    assert ChatSpace(seed=1).sample() == ChatSpace(seed=1).sample() != ChatSpace(seed=2).sample()


@given(st.lists(st.lists(st.text(), max_size=3), max_size=3))
def test_samples_survive_json(contents):
    chats = [chat(*c) for c in contents]
    both = spaces.Dict({"messages": ChatSpace(), "reply": TextSpace()})
    samples = [{"messages": c, "reply": "é"} for c in chats]
    written = json.dumps(both.to_jsonable(samples))
    assert [dict(s) for s in both.from_jsonable(json.loads(written))] == samples


@pytest.mark.parametrize("text", TEXTS)
def test_text_flattens_to_its_code_points(text):
    space = TextSpace(16)
    flat = spaces.flatten(space, text)
    assert flat in spaces.flatten_space(space)
    assert flat.shape == (spaces.flatdim(space),)
    assert spaces.unflatten(space, flat) == text


def test_text_flattens_inside_a_dict():
    space = spaces.Dict({"a": TextSpace(2), "b": spaces.Discrete(3)})
    flat = spaces.flatten(space, {"a": "下", "b": 1})
    assert flat.tolist() == [ord("下"), -1, 0, 1, 0]


def test_a_chat_refuses_to_be_a_vector():
    space = ChatSpace()
    assert not space.is_np_flattenable
    with pytest.raises(NotImplementedError, match="ChatSpace"):
        spaces.flatten_space(space)
    with pytest.raises((NotImplementedError, ValueError), match="ChatSpace"):
        spaces.flatdim(space)


def test_equality_is_that_of_the_limits():
    assert TextSpace(5) == TextSpace(5, seed=3) != TextSpace(6)
    assert TextSpace(5) != spaces.Text(5)
    assert ChatSpace(2, 5) == ChatSpace(2, 5, seed=3)
    assert ChatSpace(2, 5) != ChatSpace(3, 5)
    assert ChatSpace(2, 5) != ChatSpace(2, 6)
    assert ChatSpace() != spaces.Discrete(2)
    assert repr(TextSpace(5)) == "TextSpace(5)"
    assert repr(ChatSpace(2, 5)) == "ChatSpace(2, 5)"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
@pytest.mark.parametrize("make", [TextSpace, ChatSpace])
def test_a_copy_samples_the_same(make, copied):
    space = make(seed=5)
    space.sample()
    other = copied(space)
    assert other == space
    assert [other.sample() for _ in range(5)] == [space.sample() for _ in range(5)]
