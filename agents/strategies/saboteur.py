"""An adversary in a seat of a team: consistent, readable, and never right."""

from __future__ import annotations

import numpy as np

from coevo.agents.agent import Request
from coevo.agents.scripted import MoveAgent, expert_replies
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Replies


class Saboteur(MoveAgent):
    """Says the first reply that the environment's expert would never give, again and again.

    Saboteurs in several seats agree with each other. It knows what the expert knows: the state.
    """

    name = "saboteur"

    def speech(self, request: Request) -> Replies:
        best, any_ = expert_replies(request, 1.0), expert_replies(request, 0.0)
        if best is None or any_ is None:
            raise ConfigError(
                f"{self.name}: the environment of seat {request.seat} defines no expert, which "
                "would say what is wrong; random plays anywhere"
            )
        good = {text for text, p in zip(best.texts, best.probabilities, strict=True) if p > 0}
        wrong = [text for text in any_.texts if text not in good]
        return Replies((wrong[0],), np.ones(1)) if wrong else best

    def odds(self, request: Request) -> np.ndarray:
        said = self.speech(request).texts[0]
        return np.array([float(answer(m) == said) for m in request.info["legal_actions"]])
