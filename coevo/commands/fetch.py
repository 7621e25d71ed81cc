"""`coevo fetch`: bring a model to this machine, and say how to use it."""

from __future__ import annotations

from pathlib import Path

from coevo.agents.cache_folder import cache_folder
from coevo.agents.models.smollm2 import fetch_smollm2, smollm2_folder
from coevo.commands.arguments import Fetch
from coevo.commands.screen import Screen
from coevo.envs.core.errors import DataError
from coevo.trainers.files import storage


def run(args: Fetch) -> int:
    """Fetch the model unless it is here."""
    screen = Screen()
    try:
        folder = smollm2_folder()
    except DataError:
        folder = _fetched(screen)
    screen.say(f"SmolLM2-135M-Instruct lies in {folder}; its name is {args.name}, as in:")
    screen.say(f"  coevo play --env coevo/kuhn_poker-v0 --agent {args.name}")
    screen.say(f"  coevo train grpo --env coevo/kuhn_poker-v0 --model {args.name}")
    return 0


def _fetched(screen: Screen) -> Path:
    from coevo.commands.players import quiet  # with the model libraries, which take seconds

    quiet()
    with storage(cache_folder()):
        return fetch_smollm2(screen.say)
