"""The reward of ToolRL: is the reply well formed, and are its tool calls the expected ones?"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Literal

from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.rewards import RewardModule, Rewards
from coevo.envs.rewards.calls import Call, calls_of, read_calls

MOST = 3.0
"""Correctness lies in [-MOST, MOST]."""


def tool_score(truth: Sequence[Call], predicted: Sequence[Call] | None) -> float:
    """Compare tool calls with the expected ones: 6 S / S_max - 3, in [-3, 3].

    S = jaccard(multisets of tool names) + for every expected call, in order, the best of the
    predicted calls of that name that are still free: jaccard(argument names) + number of
    arguments that are exactly equal. A predicted call that is not alike at all (0) stays free, as
    in the released code. S_max = 1 + sum_j (1 + number of arguments of call j).
    No expected call gives 0; calls that could not be read (None) give -3. Equal calls in
    another order give 3 like equal lists, so the shortcut of the released code for equal lists
    changes nothing and is left out. Source: qiancheng0/ToolRL@8cee13e
    (arXiv 2504.13958).

    >>> truth = calls_of("search(q=x, k=3) calc(e=1+1)")
    >>> tool_score(truth, calls_of("search(q=x, k=5)")), tool_score(truth, [])
    (-0.5, -3.0)
    """
    if not truth:
        return 0.0
    if predicted is None:
        return -MOST
    names = jaccard((c.name for c in truth), (c.name for c in predicted))
    best = 1.0 + sum(1.0 + len(call.arguments) for call in truth)
    return 2.0 * MOST * (names + _matched(truth, list(predicted))) / best - MOST


def jaccard(one: Iterable[Hashable], other: Iterable[Hashable]) -> float:
    """Return |intersection| / |union| of two multisets; 1 where both are empty.

    >>> jaccard("aab", "ab")
    0.6666666666666666
    """
    left, right = Counter(iter(one)), Counter(iter(other))  # a mapping would give its counts
    union = (left | right).total()
    return (left & right).total() / union if union else 1.0


@config
class ToolCalls(RewardModule):
    """Rewards the speaker for well-formed tool calls and for their likeness to the expected ones.

    Both parts are given for every reply, each against all calls expected of the task, so this is
    for tasks of one reply. Format is 1 or 0, correctness is `tool_score`; together [-3, 4].
    What a reply thinks (`<think>`) is not read.

    Differs from ToolRL in the form of a reply, not in the score: ToolRL wants its own tags and
    JSON objects, here a reply must consist of calls `name(key=value, ...)` alone (format 1), or
    hold text and no call where none is expected. Correctness reads calls in any text around
    them. The schedules of the released code (range from 1 to 3 after 30 steps, format traded
    for correctness, a length reward) are not here.
    """

    name: Literal["tool_calls"] = "tool_calls"
    expected: str | Mapping[str, str] | None = None
    """The expected calls in one text, for all tasks or by `Episode.task`. None reads the task
    itself: a JSON object whose `calls` is such a text, or a list of texts and of `{"name": ...,
    "arguments": {...}}`. A task that gives none, in either way, is not rewarded; an empty text
    expects that no tool is called."""
    part: Literal["both", "format", "correctness"] = "both"
    """Which part to give, as component `tool_calls`, `tool_calls_format` or
    `tool_calls_correctness`: GDPO normalises the two apart."""

    def __post_init__(self) -> None:
        try:
            self._expected  # noqa: B018  # calls that cannot be read fail before anything starts
        except DataError as error:
            raise ConfigError(f"expected: {error}") from None

    @property
    def component(self) -> str:
        return self.name if self.part == "both" else f"{self.name}_{self.part}"

    @property
    def range(self) -> tuple[float, float]:
        low = 0.0 if self.part == "format" else -MOST
        return low, {"both": MOST + 1, "format": 1.0, "correctness": MOST}[self.part]

    @functools.cached_property
    def _expected(self) -> tuple[Call, ...] | dict[str, tuple[Call, ...]] | None:
        if isinstance(self.expected, Mapping):
            return {task: calls_of(text) for task, text in self.expected.items()}
        return None if self.expected is None else calls_of(self.expected)

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        truth = self._truth(episode.task)
        if truth is None:
            return {}
        said = turn.text.rpartition("</think>")[2].partition("<think>")[0]
        calls, alone = read_calls(said)
        formed = alone if truth else bool(said.strip())
        parts = {
            "format": float(formed and calls is not None and bool(calls) == bool(truth)),
            "correctness": tool_score(truth, calls),
        }
        return {turn.agent: parts[self.part] if self.part in parts else sum(parts.values())}

    def _truth(self, task: str) -> tuple[Call, ...] | None:
        if self._expected is None:
            return calls_in_task(task)
        return self._expected.get(task) if isinstance(self._expected, dict) else self._expected


def calls_in_task(task: str) -> tuple[Call, ...] | None:
    """Read the expected calls of a task that is a JSON object; None where it names none.

    Raises:
        DataError: `calls` holds something else than calls.

    >>> calls_in_task('{"question": "1+1?", "calls": ["calc(e=1+1)"]}')
    (Call(name='calc', arguments={'e': '1+1'}),)
    """
    if not task.lstrip().startswith("{"):
        return None
    try:
        data = json.loads(task)
    except (ValueError, RecursionError):
        return None
    return calls_of(data["calls"]) if "calls" in data else None


def _matched(truth: Sequence[Call], free: list[Call]) -> float:
    """Add up the arguments' score, every expected call taking the best free one of its name."""
    total = 0.0
    for call in truth:
        scores = [(_likeness(call, c), i) for i, c in enumerate(free) if c.name == call.name]
        score, i = max(scores, key=lambda pair: pair[0], default=(0.0, 0))
        if score > 0:
            total += score
            del free[i]
    return total


def _likeness(call: Call, other: Call) -> float:
    theirs = other.arguments
    same = sum(name in theirs and value == theirs[name] for name, value in call.arguments.items())
    return jaccard(call.arguments, theirs) + same
