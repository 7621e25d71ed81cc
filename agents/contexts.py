"""Growing contexts of a language model, and how its architecture wants them to be computed.

Most architectures continue a padded batch from a cache. Some take their cache under another name,
count positions from the padding on, or keep a state of their own that cannot be picked apart;
those read every context anew for each token, which is slow and right. Nobody keeps a list of
names: every model is tried once against what it says of single sequences.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Protocol, cast

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from coevo.agents.scoring import Span, left_padded, positions, score
from coevo.envs.core.errors import CoevoError, ConfigError, UndefinedError

Row = Sequence[int]

STATE = "cache_params"
"""Name of the cache of models that have states and no attention."""
CACHES = ("past_key_values", STATE)
"""Names under which models take their cache, in the order in which they are tried."""
TOLERANCE = 2e-4
"""Of a log-probability in float32, relative to the largest logit above 1; what is wrong differs by
far more. Half precision has 16 times as much."""
_LONGEST = 20
"""Tokens of the longer context of the trial."""
_GROWN = (([0, 0, 1], [7, 8, 9]), ([2, 0, 1], [5, 6, 7]), ([1, 2], [10, 11]))
"""How the trial continues its contexts: of which row each new row is, and its token."""
_OF_MODEL: weakref.WeakKeyDictionary[PreTrainedModel, str | None] = weakref.WeakKeyDictionary()
_OF_ARCHITECTURE: dict[tuple[type, str], str | None] = {}
"""What came out, by class and configuration: weights change nothing about it."""


class Contexts(Protocol):
    """Some rows of tokens to be continued."""

    def logits(self) -> Tensor:
        """Return the next token's scores, [rows, V]."""

    def grow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """Take other rows: old ones by their place, each with one token more."""


def contexts(model: PreTrainedModel, rows: Sequence[Row]) -> Contexts:
    """Return contexts in the way that a model's architecture allows.

    Args:
        model: in eval mode.
        rows: token ids, at least one each.

    Raises:
        ConfigError: the model cannot be a policy; the line says why.
    """
    name = cache_name(model)
    return ReadAnew(model, rows) if name is None else Cached(model, rows, name)


class Cached:
    """Rows padded on the left, whose past is in a cache."""

    def __init__(self, model: PreTrainedModel, rows: Sequence[Row], name: str) -> None:
        self.model, self.name = model, name
        self.cache = DynamicCache(config=model.config)
        self.ids, self.mask = left_padded(rows, model.device)

    def logits(self) -> Tensor:
        """Read what is new."""
        # A state holds no padding any more, and some models want no mask for it.
        whole = self.name != STATE or self.ids.shape == self.mask.shape
        out = self.model(
            input_ids=self.ids,
            attention_mask=self.mask if whole else None,
            position_ids=positions(self.mask)[:, -self.ids.shape[1] :],
            use_cache=True,
            logits_to_keep=1,
            **{self.name: self.cache},
        )
        return cast("Tensor", out.logits)[:, -1]

    def grow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """Pick rows of the cache; of the ways to do that, the one that every layer has."""
        if list(parents) != list(range(len(self.mask))):
            index = torch.tensor(parents, device=self.model.device)
            self.cache.reorder_cache(cast("torch.LongTensor", index))
            self.mask = self.mask[index]
        grown = self.mask.new_ones((len(parents), 1))
        self.mask = torch.cat([self.mask, grown], dim=1)
        self.ids = torch.tensor(tokens, device=self.model.device)[:, None]


class ReadAnew:
    """Rows that are read from their beginning for every token."""

    def __init__(self, model: PreTrainedModel, rows: Sequence[Row]) -> None:
        self.model, self.rows = model, [tuple(row) for row in rows]

    def logits(self) -> Tensor:
        """Read everything; the token that is asked for stands for the one to come."""
        spans = [Span((*row, 0), (len(row),), (len(row) + 1,)) for row in self.rows]
        return score(self.model, spans).logits(slice(None))

    def grow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """Write the tokens down."""
        self.rows = [(*self.rows[p], t) for p, t in zip(parents, tokens, strict=True)]


def cache_name(model: PreTrainedModel) -> str | None:
    """Return the name under which a model takes its cache; None where it goes without one.

    Raises:
        ConfigError: it does not read tokens alone, or is not causal, or even without a cache a
            batch does not give what single sequences give.
    """
    if model not in _OF_MODEL:
        architecture = (type(model), str(model.config.to_dict()))
        if architecture not in _OF_ARCHITECTURE:
            _OF_ARCHITECTURE[architecture] = _tried(model)
        _OF_MODEL[model] = _OF_ARCHITECTURE[architecture]
    return _OF_MODEL[model]


@torch.no_grad()
def _tried(model: PreTrainedModel) -> str | None:
    refused = f"a {model.config.model_type} model cannot be a policy: "
    rows = _trial(model)
    try:
        whole, before = _alone(model, (*rows[0], rows[0][0])), _alone(model, rows[0])
        if bool(whole.isnan().any()):
            raise UndefinedError("the model's next-token scores are not numbers")
        wanted = _reference(model, rows)
    except CoevoError:
        raise
    except Exception as error:  # architectures that want more than tokens say so in many ways
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ConfigError(f"{refused}it does not read plain token ids: {reason}") from None
    if not close(before, whole[: len(before)]):
        raise ConfigError(f"{refused}what it says of a token depends on the tokens after it")
    if not _agree(ReadAnew(model, rows), wanted):
        raise ConfigError(f"{refused}it says other things of a sequence in a batch than alone")
    return next((name for name in CACHES if _takes(model, rows, name, wanted)), None)


def _trial(model: PreTrainedModel) -> list[Row]:
    """Return a longer and a shorter context that fit any model."""
    config = model.config.get_text_config()
    limit = getattr(config, "max_position_embeddings", None) or -1
    longest = _LONGEST if limit < 1 else max(1, min(_LONGEST, limit - len(_GROWN) - 1))
    row = [(5 + i) % config.vocab_size for i in range(longest)]
    return [row, row[1:4] or row]


def _takes(model: PreTrainedModel, rows: list[Row], name: str, wanted: Sequence[Tensor]) -> bool:
    try:
        return _agree(Cached(model, rows, name), wanted)
    except Exception:  # as above
        return False


def _agree(tried: Contexts, wanted: Sequence[Tensor]) -> bool:
    """Return whether contexts give at every step of the trial what single sequences give."""
    for step, expected in enumerate(wanted):
        if not close(tried.logits(), expected):
            return False
        if step < len(_GROWN):
            tried.grow(*_GROWN[step])
    return True


def _reference(model: PreTrainedModel, rows: list[Row]) -> list[Tensor]:
    found = []
    for parents, tokens in (*_GROWN, ((), ())):
        found.append(torch.stack([_alone(model, row)[-1] for row in rows]))
        rows = [(*rows[p], t) for p, t in zip(parents, tokens, strict=True)]
    return found


def _alone(model: PreTrainedModel, ids: Row) -> Tensor:
    """Return the scores after every token of one sequence, by one plain pass, [L, V]."""
    out = model(input_ids=torch.tensor([list(ids)], device=model.device), use_cache=False)
    return cast("Tensor", out.logits)[0]


def close(found: Tensor, expected: Tensor) -> bool:
    """Return whether scores [N, V] give the same log-probabilities within `TOLERANCE`."""
    if found.shape != expected.shape:
        return False
    one, other = (t.float().log_softmax(-1) for t in (found, expected))
    gap = (one - other).abs()[one.isfinite() | other.isfinite()]
    half = 1 if expected.dtype == torch.float32 else 16
    size = max(1.0, float(expected[expected.isfinite()].abs().max()))
    return bool((gap < TOLERANCE * half * size).all())
