"""What the authors of an environment say about it: its documentation as a prompt."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from coevo.envs.games.states import shorten

LENGTH = 6000
"""Characters of a documentation; the middle of a longer one is cut out."""


_NOT_RULES = re.compile(
    r"```\{.*?```|!\[.*?\]\(.*?\)|<[^>]+>|^### (?:Usage|Version).*", re.S | re.M
)


def about(world: Any) -> str:
    """Return the docstring of an environment, else of its module, without pictures and history."""
    kind = type(world.unwrapped)
    texts = (kind.__doc__, importlib.import_module(kind.__module__).__doc__)
    text = inspect.cleandoc(max((text or "" for text in texts), key=len))
    text = _NOT_RULES.sub("", text.rpartition("\n---\n")[2])
    return shorten(re.sub(r"\n{3,}", "\n\n", text).strip() or "Nothing.", LENGTH)
