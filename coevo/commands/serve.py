"""`coevo serve`: a language model of ours as an OpenAI-compatible chat API."""

from __future__ import annotations

import sys

import numpy as np

from coevo.agents import SCRIPTED
from coevo.agents.api.desk import Desk
from coevo.agents.api.server import ChatServer
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import PREFIXES, model_folder
from coevo.commands import players
from coevo.commands.arguments.comparing import Serve
from coevo.commands.screen import Screen
from coevo.envs.core.errors import ConfigError


def run(args: Serve) -> int:
    """Serve until Ctrl-C."""
    players.quiet()
    agent = _model(args)
    desk = Desk(agent, np.random.default_rng())
    try:
        with ChatServer(args.host, args.port, desk, args.agent) as server:
            _greet(server, agent)
            server.serve_forever()
    finally:
        desk.close()
    return 0


def _model(args: Serve) -> LanguageModelAgent:
    """Load who is served; others than a single language model cannot read a chat."""
    if args.agent in SCRIPTED or args.agent.partition(":")[0] in PREFIXES:
        raise ConfigError(
            f"--agent {args.agent}: what is served is a language model of ours: seed, a model or "
            "run folder, or a Hub id"
        )
    agent = players.agent(args.agent, device=args.device)
    if not isinstance(agent, LanguageModelAgent):
        model_folder(args.agent)  # says which policies there are to choose from
        raise ConfigError(f"--agent {args.agent} is no single language model")
    return agent


def _greet(server: ChatServer, agent: LanguageModelAgent) -> None:
    screen = Screen()
    size = sum(p.numel() for p in agent.model.parameters())
    screen.say(f"serving {server.model} ({size / 1e6:.1f} M parameters) at {server.base_url}")
    screen.say(
        f"try: OPENAI_BASE_URL={server.base_url} coevo evaluate --agent openai:{server.model} "
        "--env coevo/kuhn_poker-v0 --env-option prompt_style=terse"
    )
    screen.say("Ctrl-C ends.")
    sys.stdout.flush()
