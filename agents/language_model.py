"""A language model that takes seats: any Hugging Face causal LM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from coevo.agents.agent import Reply, Request
from coevo.agents.engines.engine import Engine, Prompt, Sample
from coevo.agents.engines.logit_processors import GuidedChoice, LogitProcessor
from coevo.agents.engines.prefix_sharing import rows_of
from coevo.agents.engines.prefix_tree import Row
from coevo.agents.engines.scoring import InnerLayer, Scored, Span, score
from coevo.agents.engines.torch_engine import TorchEngine
from coevo.agents.models import trial
from coevo.agents.models.adapters import WEIGHTS, is_adapted, save_adapter
from coevo.agents.models.chat_tokens import ChatTokens
from coevo.agents.policy import Policy, Writing
from coevo.agents.sampling import Ids, SamplingConfig
from coevo.agents.weights import Weights
from coevo.envs.core.chat import Chat
from coevo.envs.core.errors import ConfigError, UndefinedError
from coevo.envs.core.parsing import answer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class LanguageModelWeights(Weights):
    """Weights of a causal language model, or its adapter."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        super().__init__(model)
        self.tokenizer = tokenizer

    @property
    def hidden_size(self) -> int:
        return int(self.model.config.get_text_config().hidden_size)

    def in_rows(self, spans: Sequence[Span], longest: int) -> list[Row]:
        return rows_of(self.model, spans, longest)

    def score(
        self,
        spans: Sequence[Span],
        sampling: SamplingConfig,
        model: nn.Module | None = None,
        hidden: bool = False,
        autocast: torch.dtype | None = None,
        rows: Sequence[Sequence[int]] | None = None,
        inner: InnerLayer | None = None,
    ) -> Scored:
        given = cast("PreTrainedModel", model or self.model)
        temperature = sampling.temperature or 1.0
        return score(
            given, spans, temperature, rows=rows, hidden=hidden, autocast=autocast, inner=inner
        )

    def reads_like(self, other: Weights) -> bool:
        if not isinstance(other, LanguageModelWeights):
            return False
        return bool(self.tokenizer.get_vocab() == other.tokenizer.get_vocab())

    def reward_head(self) -> nn.Module:
        head = nn.Linear(self.hidden_size, 1)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        return head.to(next(self.model.parameters()).device)

    def reward_N(self, scored: Scored, head: nn.Module) -> Tensor:
        assert scored.hidden_NH is not None  # asked for
        found: Tensor = head(scored.hidden_NH.to(next(head.parameters()))).squeeze(-1)
        return found

    def write(self, folder: Path, model: nn.Module) -> None:
        if is_adapted(model):
            save_adapter(model, folder)
            self.known_base.write(folder)
        else:
            cast("PreTrainedModel", model).save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        trial.remember(folder)

    def read(self, folder: Path) -> Mapping[str, Tensor]:
        """Return the weights of a folder, tied ones filled in from their partner."""
        if is_adapted(self.model):
            return load_file(folder / WEIGHTS)
        loaded = type(self.model).from_pretrained(folder, dtype=self.model.dtype)
        return dict(loaded.state_dict())


class LanguageModelAgent(Policy):
    """Samples replies in batches and keeps the sampled ids and log-probabilities.

    The model is put into eval mode; without an engine it samples its tokens itself.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        name: str = "policy",
        sampling: SamplingConfig | None = None,
        seed: int = 0,
        engine: Engine | None = None,
    ) -> None:
        self.tokens = ChatTokens(tokenizer)
        weights = LanguageModelWeights(model, tokenizer)
        super().__init__(weights, engine or TorchEngine(), name=name, sampling=sampling, seed=seed)

    @property
    def processors(self) -> tuple[LogitProcessor, ...]:
        return (self.guide,)

    @property
    def guide(self) -> GuidedChoice:
        """What restricts guided replies."""
        tokens, thoughts = self.tokens, self.sampling.thoughts
        if not thoughts:
            return GuidedChoice()
        if tokens.thought_ids is None:
            raise ConfigError(
                f"sampling.thoughts={thoughts} needs a tokenizer in which <think> and </think> are "
                f"one token each, and that of {self.name} has others; leave it out"
            )
        return GuidedChoice(thoughts, tokens.thought_ids, tokens.opens_thought, tokens.end_ids)

    @property
    def gives_probabilities(self) -> bool:
        """Return False for moves after thoughts: their probability is a sum over all thoughts."""
        return not self.sampling.thoughts

    def forget(self) -> None:
        self._spoken: dict[str, tuple[Chat, list[int]]] = {}
        """Conversation -> (chat up to and including the last reply, its ids)."""
        self.engine.forget(self.ref.name)

    def _in_moves(self, request: Request) -> bool:
        return self._guided(request)

    def _write(self, requests: Sequence[Request]) -> Writing:
        prompts = [self._prompt(r) for r in requests]
        asked = [self._prefixed(r, p) for r, p in zip(requests, prompts, strict=True)]
        drawn = yield from self._drawn(requests, asked, self.tokens.end_ids)
        samples = [self._whole(r, s) for r, s in zip(requests, drawn, strict=True)]
        replies = []
        for request, prompt, s in zip(requests, prompts, samples, strict=True):
            text = request.begins + self.tokens.text(s.ids)
            self._remember(request, [*prompt.ids, *s.ids], text)
            ids, choices = list(prompt.ids), [list(c) for c in prompt.choices] or None
            replies.append(Reply(text, ids, s.ids, s.logprobs, choices, self.ref))
        return replies

    def _prefixed(self, request: Request, prompt: Prompt) -> Prompt:
        """Return the prompt with the first tokens of the reply."""
        if request.prefix is None:
            return prompt
        if self.sampling.thoughts:
            raise ConfigError(
                f"sampling.thoughts={self.sampling.thoughts} counts tokens from the beginning of a "
                "reply, and collect.trees begins some in the middle; leave one out"
            )
        prefix = request.prefix.ids
        left = tuple(c[len(prefix) :] for c in prompt.choices if c[: len(prefix)] == prefix)
        return replace(prompt, ids=(*prompt.ids, *prefix), choices=left)

    def _whole(self, request: Request, sample: Sample) -> Sample:
        """Return a reply with its first tokens, as long as a reply may be."""
        if request.prefix is None:
            return sample
        longest = self.sampling.max_new_tokens
        ids = [*request.prefix.ids, *sample.ids][:longest]
        return Sample(ids, [*request.prefix.logprobs, *sample.logprobs][:longest])

    def reread(self, request: Request, reply: Reply) -> list[int]:
        ids = self._context(request)
        self._remember(request, [*ids, *(reply.token_ids or ())], reply.text)
        return ids

    def spell(self, request: Request, text: str) -> Reply:
        ids = self.tokens.answer(text)
        return Reply(text, self.tokens.prompt(request.chat), ids, [0.0] * len(ids))

    def probabilities(self, requests: Sequence[Request]) -> list[np.ndarray]:
        return [np.exp(_normalised(logp)) for logp in self.move_logprobs(requests)]

    def move_logprobs(self, requests: Sequence[Request]) -> list[np.ndarray]:
        """Return the log-probability of each legal move's usual spelling, in nats.

        Their sum of exponentials is below 1 by what the policy says otherwise; under guided choice,
        where it can say nothing else, it is 1.
        """
        if not self.gives_probabilities:
            raise ConfigError(
                f"sampling.thoughts={self.sampling.thoughts}: a move after free thoughts has no "
                "probability that can be computed; leave it out, or measure by games"
            )
        distinct: dict[tuple[Prompt, Ids], int] = {}
        wanted = []
        for request in requests:
            moves = self._moves(request)
            wanted.append([distinct.setdefault(m, len(distinct)) for m in moves])
        prompts, replies = [p for p, _ in distinct], [ids for _, ids in distinct]
        found = self.engine.logprobs(self.ref, prompts, replies, self.sampling, self.processors)
        logp = np.array([float(logp_N.sum()) for logp_N in found])
        if any(np.isneginf(logp[rows]).all() for rows in wanted):
            filters = ", ".join(f"{name}={x:g}" for name, x in self.sampling.filters.items())
            raise UndefinedError(
                f"sampling with {filters or 'these weights'} gives every legal move of a state "
                "probability 0; use sampling.guided=choice or a milder filter"
            )
        # Guided moves sum to 1 up to rounding, and here exactly.
        return [
            _normalised(logp[rows]) if self._guided(request) else logp[rows]
            for rows, request in zip(wanted, requests, strict=True)
        ]

    def _moves(self, request: Request) -> list[tuple[Prompt, Ids]]:
        legal = request.info["legal_actions"]
        if not legal:
            raise ConfigError(f"seat {request.seat} has no list of legal moves to score")
        prompt = self._prompt(request)
        usual = prompt.choices or [tuple(self.tokens.answer(answer(m))) for m in legal]
        return [(prompt, ids) for ids in usual]

    def _prompt(self, request: Request) -> Prompt:
        ids = tuple(self._context(request))
        # Chats that grow begin with their rules; terse prompts are complete in themselves.
        goes_on = bool(request.conversation) and request.chat[0]["role"] == "system"
        return Prompt(ids, self._choices(request), goes_on)

    def _choices(self, request: Request) -> tuple[Ids, ...]:
        """Return the replies that a guided request allows; none where any is."""
        if not self._guided(request):
            return ()
        tokens, before = self.tokens, Ids()
        if tokens.opens_thought and not self.sampling.thoughts:
            assert tokens.thought_ids is not None  # one of them was found there
            before = tokens.thought_ids[1:]
        legal = request.info["legal_actions"]
        choices = tuple((*before, *tokens.answer(answer(m))) for m in legal)
        self.guide.check_room(choices, self.sampling.max_new_tokens)
        return choices

    def _guided(self, request: Request) -> bool:
        wanted = request.guided or self.sampling.guided == "choice"
        return wanted and bool(request.info["legal_actions"])

    def _context(self, request: Request) -> list[int]:
        """Return the prompt's ids; a chat that has grown only adds to what was said before."""
        chat, begun = request.chat, self.tokens.begun(request.begins)
        past, ids = self._spoken.get(request.conversation, ((), []))
        if not past or len(chat) <= len(past) or chat[: len(past)] != past:
            return self.tokens.prompt(chat) + begun
        return ids + self.tokens.continuation(chat, len(past) - 1, ids) + begun

    def _remember(self, request: Request, ids: list[int], text: str) -> None:
        if request.conversation:
            said = (*request.chat, {"role": "assistant", "content": text})
            self._spoken[request.conversation] = (said, ids)  # type: ignore[assignment]


def _normalised(logp: np.ndarray) -> np.ndarray:
    """Return log-probabilities given that one of these moves is said."""
    given: np.ndarray = logp - np.logaddexp.reduce(logp)
    return given
