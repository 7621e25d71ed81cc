"""Our environments as TRL's: what `GRPOTrainer(environment_factory=...)` takes.

One seat is the model's, the others are played by agents of ours. The first prompt is added to the
message of the data set; after that the model talks to the game through one tool, `reply`. Nothing
of TRL is imported.

    trainer = GRPOTrainer(
        model="Qwen/Qwen3-0.6B",
        train_dataset=Dataset.from_list(
            [{"prompt": [{"role": "user", "content": ""}], "seed": n} for n in range(1000)]
        ),
        environment_factory=trl_environment("coevo/kuhn_poker-v0", opponents="oracle"),
    )
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coevo.envs.core.chat import Chat
from coevo.envs.core.opponents import Opponent
from coevo.envs.core.single_agent import SingleAgentEnv

SILENCE = ""
"""What a rollout says from where it stops to the end of the episode."""


class TRLWorld:
    """One seat of an environment, played by calls of a tool.

    TRL offers every public method but `reset` and `get_reward` to the model.
    """

    def __init__(self, env: SingleAgentEnv) -> None:
        self._env, self._told, self._over = env, 0, True

    def reset(self, seed: int | None = None, **row: Any) -> str:
        """Start an episode and return its first prompt, rules included.

        Args:
            seed: from the column of the data set, if it has one; equal seeds, equal starts.
            **row: its other columns; the environment reads none.
        """
        observation, _ = self._env.reset(seed=None if seed is None else int(seed))
        self._over = False
        self._told, self._reward = 0, 0.0
        return self._news(observation["messages"])

    def reply(self, text: str) -> str:
        """Make your move in the game.

        Args:
            text: What you say; your move stands in square brackets at its end: [your move].

        Returns:
            What happens next, and which moves you have.
        """
        if self._over:
            return "The game is over."
        self._step(text)
        if self._over:
            return f"The game is over. You got {self._reward:g}."
        return self._news(self._env.env.chat(self._env.seat))

    def get_reward(self) -> float:
        """Return what the seat was paid; a rollout that stops early says nothing more."""
        while not self._over:
            self._step(SILENCE)
        return self._reward

    def _step(self, text: str) -> None:
        _, reward, ended, cut, _ = self._env.step(text)
        self._reward += reward
        self._over = ended or cut

    def _news(self, chat: Chat) -> str:
        """Return what the seat has not seen yet, its own replies aside."""
        if len(chat) < self._told or self._env.env.prompt_style == "terse":
            self._told = 0
        new, self._told = chat[self._told :], len(chat)
        return "\n\n".join(m["content"] for m in new if m["role"] != "assistant")


def trl_environment(
    env_id: str,
    *,
    seat: str | int = "rotate",
    opponents: str | Opponent | list[str | Opponent] = "random",
    **options: Any,
) -> Callable[[], TRLWorld]:
    """Return the factory of an environment, checked once here.

    Args:
        env_id: registered id.
        seat: the model's seat, as in `SingleAgentEnv`.
        opponents: who has the other seats, as in `SingleAgentEnv`.
        **options: arguments of the environment.
    """

    def make() -> TRLWorld:
        return TRLWorld(SingleAgentEnv(env_id, seat=seat, opponents=opponents, **options))

    make()
    return make
