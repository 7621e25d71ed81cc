"""`coevo replay`: a recorded episode in words."""

from __future__ import annotations

from pathlib import Path

from coevo.commands.arguments import Replay
from coevo.commands.screen import Screen
from coevo.commands.transcript import transcript
from coevo.envs.core.episode import Episode, TornLineError, read_episodes
from coevo.envs.core.errors import ConfigError, DataError


def run(args: Replay) -> int:
    path = Path(args.file)
    if path.is_dir():
        path = path / "episodes.jsonl"
        if not path.exists():
            raise DataError(f"{args.file} holds no episodes.jsonl")
    episodes, torn = whole(path)
    count = len(episodes)
    if not count:
        raise torn or DataError(f"{path} holds no episodes")
    if not (1 <= args.episode <= count or -count <= args.episode <= -1):
        raise ConfigError(f"--episode {args.episode}: {path} holds {count}, from 1 to {count}")
    index = args.episode - 1 if args.episode > 0 else count + args.episode
    screen = Screen()
    if torn:
        screen.say(f"the last line of {path} is torn: a kill cut it; {count} before it are whole")
    screen.say(f"episode {index + 1} of {count}")
    for line in transcript(episodes[index]):
        screen.say(line)
    return 0


def whole(path: Path) -> tuple[list[Episode], TornLineError | None]:
    """Return the whole episodes of a file, and the error where its last line is torn."""
    episodes: list[Episode] = []
    try:
        for episode in read_episodes(path):
            episodes.append(episode)
    except TornLineError as error:
        return episodes, error
    return episodes, None
