"""The walk over architectures, on some; `tests/agents/test_contexts.py` holds the rule itself."""

import pytest
from model_families import Found, examine


@pytest.mark.parametrize(
    ("family", "way"),
    [
        ("qwen2", "cache, goes on"),
        ("gpt_neox", "cache, goes on"),
        ("falcon", "cache, goes on"),
        ("mamba", "cache as cache_params"),
        ("recurrent_gemma", "read anew"),
    ],
)
def test_a_family_is_sampled_as_one_pass_says(family, way):
    found = examine(family)
    assert found.way == way
    assert found.sampled < 5e-5 and found.scored < 5e-5


def test_what_cannot_be_a_policy_says_why():
    assert examine("xmod").way.startswith("refused: it does not read plain token ids")
    assert examine("mllama").way == "not tried: too large"


def test_a_row_has_gaps_where_nothing_was_measured():
    assert Found("a", "cache", 1e-6, 2e-6).row() == "| a | cache | 1e-06 | 2e-06 |"
    assert Found("b", "not tried").row() == "| b | not tried |  |  |"
