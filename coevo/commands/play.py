"""`coevo play`: a person against an agent in the terminal."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from coevo.agents import HumanAgent
from coevo.agents.agent import Agent, Reply, answered, request_of, sealed_rng
from coevo.agents.human import HumanLeft
from coevo.agents.registry import is_scripted, scripted
from coevo.agents.scripted import RandomAgent
from coevo.commands import players
from coevo.commands.arguments import Play
from coevo.commands.screen import Screen
from coevo.commands.transcript import ending
from coevo.envs import make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError


def run(args: Play) -> int:
    players.quiet()
    options = players.env_options(args.env, args.env_option, [args.agent])
    seats = make(args.env, **options).possible_agents
    if not 0 <= args.seat < len(seats):
        listed = ", ".join(f"{i} ({seat})" for i, seat in enumerate(seats))
        raise ConfigError(f"--seat {args.seat}: {args.env} has the seats {listed}")
    seed = args.seed if args.seed is not None else int(np.random.default_rng().integers(2**31))
    agent = players.agent(args.agent, temperature=args.temperature, seed=seed)
    if is_scripted(args.agent) and args.agent != "human":
        _check(scripted(args.agent), seats[args.seat], Table(args.env, options, seed))
    screen = Screen()
    screen.say(f"{args.env}, seed {seed}: you are {seats[args.seat]} against {args.agent}.")
    screen.say("Type a number or the name of a move. Ctrl-D leaves.")
    table = Table(args.env, options, seed)
    try:
        episode = table.play(seats[args.seat], HumanAgent(write=_write), agent)
    except (HumanLeft, KeyboardInterrupt):
        screen.say()  # the cursor stands behind the question
        raise
    screen.say()
    screen.say(table.seen.render() or "")
    screen.say(f"you are {seats[args.seat]}: {ending(episode)}")
    return 0


def _check(agent: Agent, person_seat: str, table: Table) -> None:
    """Let a scripted agent reply once, so that one that cannot play here says so at the start."""
    env, rng = table.env, np.random.default_rng(0)
    while env.awaiting:
        seat = env.agent_selection
        player = RandomAgent() if seat == person_seat else agent
        asked = request_of(env, seat, rng, inside=player.insider, numbers=player.reads_numbers)
        env.step(player.act([asked])[0].text)
        if seat != person_seat:
            return


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


class Table:
    """One episode twice, in step: as the agent reads it and, in full prompts, as a person does."""

    def __init__(self, env_id: str, options: dict[str, Any], seed: int) -> None:
        self.env = make(env_id, **options)
        self.seen = make(env_id, **{**options, "prompt_style": "full", "render_mode": "ansi"})
        self.rng, self.own = np.random.default_rng([seed, 7]), sealed_rng(f"play {seed}")
        for env in (self.env, self.seen):
            env.reset(seed=seed)

    def play(self, person_seat: str, person: Agent, agent: Agent) -> Episode:
        """Ask the seats that have to move until the episode is over."""
        while self.env.awaiting:
            seat = self.env.agent_selection
            if seat == person_seat:
                reply = self._ask(person, self.seen, seat)
            else:
                reply = self._ask(agent, self.env, seat)
                if len(self.env.awaiting) == 1:
                    _write(f"\n{seat} says: {' '.join(reply.text.split())}\n")
            for env in (self.env, self.seen):
                env.step(reply.text)
        return self.env.episode

    def _ask(self, agent: Agent, env: TextEnv, seat: str) -> Reply:
        rng = self.rng if agent.insider else self.own
        numbers = agent.reads_numbers
        asked = request_of(env, seat, rng, seat, inside=agent.insider, numbers=numbers)
        return answered(agent.act([asked])[0])
