"""Forward passes over given token sequences, shared by policies and learners."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from coevo.agents.engines.logit_processors import LogitProcessor, Place
from coevo.agents.engines.output_head import last_norm, output_head, trunk
from coevo.agents.engines.prefix_tree import Layout, laid_out
from coevo.agents.sampling import Ids
from coevo.envs.core.errors import ConfigError

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

PIECE = 2**24
"""Elements of a matrix [tokens, vocabulary] that is computed at a time: 64 MiB in float32."""
KEPT = 4 * PIECE
"""Most elements of log-distributions that are kept for a gradient; larger ones are made again."""


class InnerLayer(NamedTuple):
    """The policy of an inner layer: the output layer reads the states behind it, not the last ones.

    Source: bottom-up policy optimisation, arXiv 2512.19673.
    """

    layer: int
    """Number of the layer, from 1."""
    normed: bool = False
    """Whether the model's last norm is applied to the states first."""


@dataclass(frozen=True, slots=True)
class Span:
    """One token sequence and which of its tokens count."""

    ids: tuple[int, ...]
    """Prompt and replies."""
    starts: tuple[int, ...]
    """Index of the first token of each reply."""
    ends: tuple[int, ...]
    """Index after the last token of each reply."""

    def positions(self) -> list[int]:
        """Return the indices of all reply tokens."""
        return [i for s, e in zip(self.starts, self.ends, strict=True) for i in range(s, e)]

    def places(self, choices: Sequence[tuple[Ids, ...]]) -> list[Place]:
        """Return where all reply tokens stand.

        Args:
            choices: of every reply, for guided choice.
        """
        found = []
        for start, end, own in zip(self.starts, self.ends, choices, strict=True):
            prompt, reply = self.ids[:start], self.ids[start:end]
            found += [Place(prompt, reply, at, own) for at in range(end - start)]
        return found


@dataclass(frozen=True)
class Scored:
    """A forward pass over a micro-batch, at its reply tokens, packed in the order of its sequences.

    Log-distributions [N, V] are made piece by piece and reduced at once, forward and backward, so
    that a vocabulary of 150,000 ids needs the memory of a piece, not of the micro-batch.
    """

    logits: Callable[[slice], Tensor]
    """Float logits [n, V] of some of the tokens, as the model gives them."""
    ids_N: Tensor
    """The reply tokens."""
    hidden_NH: Tensor | None = None
    """Last hidden state before each reply token, where asked for."""
    temperature: float = 1.0
    """Divides the logits, after the processors."""
    processors: Sequence[LogitProcessor] = ()
    """Those under which the tokens were drawn."""
    places: Sequence[Place] = ()
    """Where each of the N tokens stands, for the processors."""

    def reduce(
        self, read: Callable[..., tuple[Tensor, ...]], *others: Scored, piece: int | None = None
    ) -> tuple[Tensor, ...]:
        """Return what a function makes of complete log-distributions, token by token.

        Where a piece is made again for its gradient, `read` runs as far as the gradient needs it:
        what is for the log alone comes last.

        Args:
            read: (ids [n], log-distribution [n, V], those of the others...) -> tensors [n].
            others: passes of other models over the same tokens.
            piece: tokens at a time; None takes what fits `PIECE` elements.

        Returns:
            The tensors of `read`, [N] each.
        """
        vocabulary, tokens = self._vocabulary(), len(self.ids_N)
        size = piece or max(1, PIECE // vocabulary)
        parts = [slice(i, i + size) for i in range(0, tokens, size)]
        again = torch.is_grad_enabled() and len(parts) > 1 and tokens * vocabulary > KEPT

        def compute(part: slice) -> tuple[Tensor, ...]:
            return read(self.ids_N[part], *(s._logp(part) for s in (self, *others)))

        found = [
            checkpoint(compute, part, use_reentrant=False) if again else compute(part)
            for part in parts
        ]
        return tuple(torch.cat(tensors) for tensors in zip(*found, strict=True))

    def logp_N(self) -> Tensor:
        """Return the log-probability of each reply token, in nats."""
        return self.reduce(lambda ids_N, logp_NV: (chosen(logp_NV, ids_N),))[0]

    def drawn_from(self, part: slice) -> Tensor:
        """Return the scores that some tokens are drawn from: processed, over the temperature."""
        logits_NV = self.logits(part)
        for process in self.processors:
            logits_NV = process(logits_NV, self.places[part])
        return logits_NV if self.temperature == 1 else logits_NV / self.temperature

    def _logp(self, part: slice) -> Tensor:
        """Return the log-distributions of some tokens, [n, V]."""
        return self.drawn_from(part).log_softmax(-1)

    @torch.no_grad()
    def _vocabulary(self) -> int:
        return self.logits(slice(1)).shape[1]


def chosen(logp_NV: Tensor, ids_N: Tensor) -> Tensor:
    """Return the log-probability of one id per row."""
    return logp_NV.gather(-1, ids_N[:, None]).squeeze(-1)


def micro_batches(lengths: Sequence[int], token_budget: int) -> Iterator[list[int]]:
    """Split sequences, longest first, so that rows x longest stays within a token budget.

    >>> list(micro_batches([3, 9, 2, 4], 12))
    [[1], [3, 0, 2]]
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batch: list[int] = []
    for i in order:
        if batch and lengths[batch[0]] * (len(batch) + 1) > token_budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def context_of(model: PreTrainedModel) -> int | None:
    """Return how many tokens a sequence may have; None where nothing limits it.

    RoPE of the kind `longrope` ends where pretraining did: beyond that it reads every sequence of a
    batch by another formula.
    """
    config = model.config.get_text_config()
    limits = [getattr(config, "max_position_embeddings", None) or 0]
    for rope in _ropes(config):
        limits.append(rope.get("original_max_position_embeddings") or 0 if _changes(rope) else 0)
    return min((n for n in limits if n > 0), default=None)


def _ropes(config: PreTrainedConfig) -> list[Mapping[str, Any]]:
    """Return the settings of RoPE, which some architectures have for every type of layer."""
    given = getattr(config, "rope_parameters", None) or {}
    return [rope for rope in (given, *given.values()) if isinstance(rope, Mapping)]


def _changes(rope: Mapping[str, Any]) -> bool:
    """Return whether RoPE depends on the longest sequence of a batch."""
    kind = str(rope.get("rope_type", ""))
    return kind == "longrope" or "dynamic" in kind


def _check_context(model: PreTrainedModel, spans: Sequence[Span]) -> None:
    """Refuse sequences that would change what the model says of others in their batch."""
    changing = any(map(_changes, _ropes(model.config.get_text_config())))
    limit, longest = context_of(model), max(len(s.ids) for s in spans)
    if changing and limit is not None and longest > limit:
        raise ConfigError(
            f"a sequence of {longest} tokens is longer than {limit}, from where on this model's "
            "RoPE reads all sequences of a batch otherwise; use shorter prompts and replies"
        )


def score(
    model: PreTrainedModel,
    spans: Sequence[Span],
    temperature: float = 1.0,
    *,
    rows: Sequence[Sequence[int]] | None = None,
    hidden: bool = False,
    autocast: torch.dtype | None = None,
    inner: InnerLayer | None = None,
) -> Scored:
    """Run one forward pass and keep what predicts the reply tokens.

    Padding stands behind the tokens, where no token of a causal model sees it: positions and masks
    are the model's own, whatever its architecture, but in rows of several sequences.

    Args:
        model: a causal language model.
        spans: sequences with at least one reply token each, none at index 0.
        temperature: of the policy.
        rows: the indices of the spans that stand in each row (`prefix_sharing.rows_of`); None
            gives each a row of its own.
        hidden: whether to return hidden states, for a critic.
        autocast: compute matrix products in this type.
        inner: take the log-probabilities of an inner layer's policy.

    Raises:
        ConfigError: a sequence is too long for the model's RoPE, or there is no such layer.
    """
    _check_context(model, spans)
    device, sequences = model.device, [s.ids for s in spans]
    layout = laid_out(sequences, rows or [(i,) for i in range(len(spans))])
    given = _given(model, layout)
    row_N, column_N = _before(spans, layout).to(device)
    head = output_head(model)
    with _precision(device, autocast):
        if head is None and inner is not None:
            raise ConfigError("no layer of this model has a policy: its parts are not known")
        if head is None:
            out = model(**given, use_cache=False, output_hidden_states=hidden)
            hidden_BLH, logits_BLV = out.hidden_states[-1] if hidden else None, out.logits
        else:
            states = inner is not None
            out = trunk(model)(**given, use_cache=False, output_hidden_states=states)
            hidden_BLH = out.last_hidden_state
    hidden_NH = None if hidden_BLH is None else hidden_BLH[row_N, column_N]
    spoken_NH = hidden_NH
    if inner is not None:
        spoken_NH = _states(model, out, inner)[row_N, column_N]

    def logits(part: slice) -> Tensor:
        if head is None:
            logits_NV = logits_BLV[row_N[part], column_N[part]].float()
        else:
            with _precision(device, autocast):
                logits_NV = head(cast("Tensor", spoken_NH)[part])
        return logits_NV

    ids_N = torch.tensor([s.ids[p] for s in spans for p in s.positions()], device=device)
    seen = hidden_NH.float() if hidden and hidden_NH is not None else None
    return Scored(logits, ids_N, seen, temperature)


def _states(model: PreTrainedModel, out: Any, inner: InnerLayer) -> Tensor:
    """Return the states behind a layer, [B, L, H]."""
    layers = len(out.hidden_states) - 1
    if inner.layer > layers or (inner.layer == layers and not inner.normed):
        raise ConfigError(
            f"layer={inner.layer} must be below {layers}, the last layer of this model; the last "
            "one speaks under norm=final, as the whole model does"
        )
    if inner.layer == layers:
        return cast("Tensor", out.last_hidden_state)
    states_BLH = out.hidden_states[inner.layer]
    return last_norm(model)(states_BLH) if inner.normed else states_BLH


def _given(model: PreTrainedModel, layout: Layout) -> dict[str, Tensor]:
    """Return what a model reads: ids alone, where every row is one sequence."""
    given = {"input_ids": layout.ids_BL.to(model.device)}
    if layout.shared:
        seen_B1LL = layout.seen_BLL().unsqueeze(1).to(model.device)
        if model.config.get_text_config()._attn_implementation != "sdpa":  # masks are added there
            lowest = torch.finfo(model.dtype).min
            seen_B1LL = torch.where(seen_B1LL, 0.0, lowest).to(model.dtype)
        given |= {"position_ids": layout.depth_BL.to(model.device), "attention_mask": seen_B1LL}
    return given


def _before(spans: Sequence[Span], layout: Layout) -> Tensor:
    """Return the rows and columns of the tokens before the reply tokens, [2, N]."""
    where = zip(spans, layout.row_of, layout.places, strict=True)
    return torch.tensor([(b, places[p - 1]) for s, b, places in where for p in s.positions()]).T


def _precision(
    device: torch.device, autocast: torch.dtype | None
) -> contextlib.AbstractContextManager[object]:
    if autocast is None:
        return contextlib.nullcontext()
    return torch.autocast(device.type, autocast)


def left_padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return ids and attention mask, [rows, longest], padded on the left with id 0."""
    longest = max(map(len, rows))
    ids = [[0] * (longest - len(r)) + list(r) for r in rows]
    mask = [[0] * (longest - len(r)) + [1] * len(r) for r in rows]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def positions(mask_BL: Tensor) -> Tensor:
    """Return position ids that start at 0 with the first token that is not padding."""
    return (mask_BL.cumsum(-1) - 1).clamp(min=0)
