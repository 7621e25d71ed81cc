"""A further lesson: a small model goes on imitating experts in one environment.

The starter model has heard a little of everything. Where reinforcement learning needs a better
start, as the proposer of search self-play does, who is paid for nothing before one of its questions
passes the gate, a lesson of minutes gives it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_agent
from coevo.benchmarks.starter.build import save, unfinished
from coevo.benchmarks.starter.corpus import CorpusSource, turns
from coevo.benchmarks.starter.examples import SeedConfig, encode
from coevo.benchmarks.starter.imitation import Report, imitate
from coevo.envs.core.errors import ConfigError

SKILLS = (0.3, 0.7, 0.9, 1.0)
"""Of those who play in a lesson, so that many situations come up."""


@dataclass(frozen=True, kw_only=True)
class LessonConfig:
    """What is imitated, and for how long."""

    source: CorpusSource
    """Environment, its arguments, and the skill that is imitated."""
    model: str = "starter"
    """What goes on learning."""
    turns: int = 30_000
    """Transcript turns."""
    minutes: float = 15.0
    """Limit of the training time."""
    epochs: float = 20.0
    """Passes over the turns."""
    seed: int = 0

    @property
    def training(self) -> SeedConfig:
        """Return the settings of the training: a third and a fifth of the first lesson's rates."""
        limits = {"turns": self.turns, "minutes": self.minutes, "epochs": self.epochs}
        return replace(SeedConfig(seed=self.seed, **limits), lr=1e-3, muon_lr=4e-3)  # type: ignore[arg-type]


def teach(
    config: LessonConfig,
    out: Path,
    report: Report = lambda share, loss: None,
) -> Path:
    """Continue a model, and save it as a folder that `--model` takes.

    What was interrupted goes on when it is asked for again.

    Args:
        config: what it imitates.
        out: where it is saved.
        report: told now and then: share done, running loss.

    Raises:
        ConfigError: the model is no language model of the starter's kind.
    """
    agent = load_agent(config.model, device="cpu")
    if not isinstance(agent, LanguageModelAgent) or not hasattr(agent.model, "model"):
        raise ConfigError(f"--model {config.model}: a lesson continues a language model")
    heard = turns(config.source, config.turns, seed=config.seed + 1)
    data = encode(heard, agent.tokens, np.random.default_rng(config.seed))
    training = unfinished(out)
    source = config.source
    about = {"env": source.env, "options": dict(source.options), "skill": source.label}
    about["model"] = config.model
    imitate(agent.model, data, config.training, training, report, about)
    save(agent.model, agent.tokens.tokenizer, out)
    training.clear()
    return out
