"""`coevo merge`: one model of several runs that started from the same weights."""

from __future__ import annotations

import math
from pathlib import Path

from coevo.agents.load import load_model
from coevo.agents.models.merging import add, merged, task_vector
from coevo.commands import players
from coevo.commands.arguments import Merge
from coevo.commands.screen import Screen
from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.files import storage
from coevo.trainers.run_folder import RunFolder


def run(args: Merge) -> int:
    players.quiet()
    sources, out = args.runs.split(","), Path(args.out)
    weights = _weights(args.weights, len(sources))
    if not 0 < args.keep <= 1:
        raise ConfigError(f"--keep {args.keep:g} must be above 0 and at most 1")
    if out.exists():
        raise DataError(f"{out} exists already; give another --out")
    base = args.base or _start_of(sources)
    model, tokenizer = load_model(base, device="cpu")
    vectors = [task_vector(model, load_model(s, device="cpu")[0], s) for s in sources]
    add(model, merged(args.how, vectors, weights, args.keep, args.seed))
    with storage(out):
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)
    screen = Screen()
    parts = ", ".join(f"{s} ({w:g})" for s, w in zip(sources, weights, strict=True))
    screen.say(f"Merged by {args.how}, from {base}: {parts}")
    screen.say(f"The model lies in {out}, as in: coevo evaluate --agent {out}")
    return 0


def _weights(given: str | None, count: int) -> list[float]:
    """Read the weights, with commas between; 1 for each where there are none."""
    try:
        found = [1.0] * count if given is None else [float(x) for x in given.split(",")]
    except ValueError:
        raise ConfigError(f"--weights {given!r} must be numbers with commas between") from None
    if len(found) != count or not 0 < sum(found) < math.inf:
        raise ConfigError(
            f"--weights {given!r} must be {count} numbers with a positive sum, one a run"
        )
    return found


def _start_of(sources: list[str]) -> str:
    """Return the model that the runs started from."""
    found = dict.fromkeys(
        RunFolder(s).config().model for s in sources if (Path(s) / "config.yaml").is_file()
    )
    if len(found) != 1:
        said = " and ".join(found) or "none is a run folder"
        raise ConfigError(
            f"--runs {','.join(sources)} started from different models, or from none that is known "
            f"({said}); give one with --base"
        )
    return next(iter(found))
