"""What every command takes: dataclasses that `parse` turns into options.

Light on purpose: the module that carries a command out (`runs`) is imported only when it runs.
"""

from __future__ import annotations

import shlex

from coevo.commands.arguments.comparing import Compare, Report, Tournament
from coevo.commands.arguments.fields import POSITIONAL, Command, flag, given
from coevo.commands.arguments.house import (
    Algos,
    Envs,
    Play,
    Replay,
    Reproduce,
    StarterBuild,
    StarterCheck,
    StarterLesson,
)
from coevo.commands.arguments.measuring import Evaluate, Exploitability
from coevo.commands.arguments.training import Train

COMMANDS: dict[str, type[Command]] = {
    "envs": Envs,
    "algos": Algos,
    "train": Train,
    "compare": Compare,
    "report": Report,
    "evaluate": Evaluate,
    "exploitability": Exploitability,
    "tournament": Tournament,
    "play": Play,
    "replay": Replay,
    "reproduce": Reproduce,
    "starter build": StarterBuild,
    "starter check": StarterCheck,
    "starter lesson": StarterLesson,
}


def as_typed(args: Command) -> str:
    """Spell the command that gives these arguments.

    >>> as_typed(Train(algo="mars", env="coevo/kuhn_poker-v0", no_eval=True))
    'coevo train mars --env coevo/kuhn_poker-v0 --no-eval'
    """
    name = next(n for n, kind in COMMANDS.items() if kind is type(args))
    words = ["coevo", *name.split()]
    for field, value in given(args):
        if field in POSITIONAL:
            words.append(value)
        elif value is True:
            words.append(flag(field))
        else:
            words += [flag(field), *(value if isinstance(value, tuple) else [str(value)])]
    return shlex.join(words)
