"""`coevo starter lesson`: let a small model imitate experts in one environment, with progress."""

from __future__ import annotations

from pathlib import Path

from coevo.benchmarks.starter.corpus import CorpusSource
from coevo.benchmarks.starter.lesson import SKILLS, LessonConfig, teach
from coevo.commands import players
from coevo.commands.arguments import StarterLesson
from coevo.commands.screen import Screen
from coevo.commands.starter_build import limits, watched
from coevo.envs import make
from coevo.envs.core.errors import ConfigError
from coevo.trainers.files import storage


def run(args: StarterLesson) -> int:
    players.quiet()
    if not args.out:
        raise ConfigError("coevo starter lesson needs --out DIR, where the model is saved")
    options = players.env_options(args.env, args.env_option, [args.model])
    make(args.env, **options)  # a wrong argument is found before anything is played
    if not 0 <= args.skill <= 1:
        raise ConfigError(f"--skill {args.skill:g} must be from 0 to 1")
    source = CorpusSource(args.env, skills=SKILLS, label=args.skill, options=options)
    config = LessonConfig(source=source, model=args.model, **limits(args))
    out = Path(args.out)
    with storage(out):
        out.mkdir(parents=True, exist_ok=True)
        watched(
            f"playing {config.turns:,} turns of {args.env}",
            lambda report: teach(config, out, report),
        )
    Screen().say(f"{out}: taught; use it with: --model {out}")
    return 0
