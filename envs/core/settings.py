"""The arguments that every environment takes: checked on the way in, recorded on the way out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import PlainValidator

from coevo.envs.core.config import config, whole
from coevo.envs.core.illegal import DEFAULT, PRESETS, IllegalPolicy, illegal_policy, spelled
from coevo.envs.core.rewards import RewardModules

PromptStyle = Literal["full", "terse"]


@config
class Settings:
    """What `make` takes beside the arguments of the task."""

    prompt_style: PromptStyle = "full"
    """`full` explains everything in a growing chat; `terse` gives one short self-contained message
    per turn, about 64 byte-BPE tokens at most."""
    illegal: Annotated[IllegalPolicy, PlainValidator(illegal_policy)] = PRESETS[DEFAULT]
    """What replies cost that are not legal moves: preset name, fields, or a policy."""
    rewards: RewardModules = ()
    """Modules whose rewards come on top of the payoff, each its own component: objects,
    mappings of a name and arguments, or bare names."""
    max_cycles: Annotated[int, whole(1)] | None = None
    """Rounds (a joint move or one seat's move) after which an episode is truncated."""
    render_mode: Literal["ansi", "human", "rgb_array"] | None = None
    """`ansi` returns the drawing, `human` writes it to standard output, `rgb_array` returns it as
    an image [height, width, 3] (Pillow, in the extra `train`)."""


def recorded(illegal: IllegalPolicy, max_cycles: int | None) -> dict[str, Any]:
    """Return the settings that differ from their defaults, as JSON values that `make` takes back.

    Reward modules may be objects, which have no such form; what they gave is in the episode.

    >>> recorded(IllegalPolicy(), None), recorded(IllegalPolicy(retries=2), 9)
    ({}, {'illegal': {'retries': 2}, 'max_cycles': 9})
    """
    policy = DEFAULT if illegal is PRESETS[DEFAULT] else spelled(illegal)
    given: dict[str, Any] = {} if policy == DEFAULT else {"illegal": policy}
    return given if max_cycles is None else given | {"max_cycles": max_cycles}
