"""Which architectures can compute shared prefixes once without changing any result.

A row with several sequences needs a mask and positions of its own. Some architectures have states
that pass from token to token, count positions themselves, or see a window only. There is no list
of names: every model is tried once against rows of one sequence each.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from coevo.agents.engines.contexts import same, single_precision
from coevo.agents.engines.prefix_tree import LONGEST, Row, laid_out, shared_rows
from coevo.agents.engines.scoring import Span, context_of, score

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ATTENTION = ("sdpa", "eager")
"""Implementations that take any mask."""
WINDOWS = ("sliding_window", "window_size", "attention_chunk_size", "keep_window_size")
"""Names under which configurations limit what a token sees."""
_LONGEST = 12
"""Tokens of the longest sequence of the trial."""
_OF_MODEL: weakref.WeakKeyDictionary[nn.Module, bool] = weakref.WeakKeyDictionary()
_OF_ARCHITECTURE: dict[tuple[type, str], bool] = {}
"""What came out, by class and configuration: weights change nothing about it."""


def rows_of(model: PreTrainedModel, spans: Sequence[Span], longest: int = LONGEST) -> list[Row]:
    """Return which sequences are to be computed in one row; each alone if a model cannot share.

    Args:
        model: in eval mode.
        spans: sequences.
        longest: tokens of a row with several sequences, at most.
    """
    sequences = [s.ids for s in spans]
    if len(spans) > 1 and shares_prefixes(model):
        return shared_rows(sequences, longest)
    return [Row((i,), len(ids)) for i, ids in enumerate(sequences)]


def shares_prefixes(model: PreTrainedModel) -> bool:
    """Return whether a model says the same of sequences in one row as of each in its own."""
    if model not in _OF_MODEL:
        architecture = (type(model), str(model.config.to_dict()))
        if architecture not in _OF_ARCHITECTURE:
            with single_precision(model):
                _OF_ARCHITECTURE[architecture] = _sees_all(model) and _agrees(model)
        _OF_MODEL[model] = _OF_ARCHITECTURE[architecture]
    return _OF_MODEL[model]


def _sees_all(model: PreTrainedModel) -> bool:
    """Return whether every token sees all before it, however long a sequence is."""
    config: Any = model.config.get_text_config()
    full = all(t == "full_attention" for t in getattr(config, "layer_types", None) or ())
    windows = any(getattr(config, name, None) for name in WINDOWS)
    return full and not windows and config._attn_implementation in ATTENTION


@torch.no_grad()
def _agrees(model: PreTrainedModel) -> bool:
    spans = [Span(ids, (1,), (len(ids),)) for ids in _trial(model)]
    rows = [(0, 1, 2), (3,)]
    masks = _Masks(laid_out([s.ids for s in spans], rows).seen_BLL().unsqueeze(1))

    def alone() -> Tensor:
        return score(model, spans).logits(slice(None))

    try:
        expected = alone()
        with masks:
            together = score(model, spans, rows=rows).logits(slice(None))
    except Exception:  # architectures that take no such mask say so in many ways
        return False
    return masks.kept and same(model, together, expected, alone)


class _Masks(TorchFunctionMode):
    """Notices attention by another mask than the one that was given.

    An architecture that makes one of its own may narrow it in rows longer than those of the trial.

    Args:
        seen_B1LL: which tokens each one sees.
    """

    def __init__(self, seen_B1LL: Tensor) -> None:
        super().__init__()
        self.seen_B1LL, self.kept = seen_B1LL, True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Look at every call of attention."""
        kwargs = kwargs or {}
        if func is scaled_dot_product_attention:
            mask = kwargs.get("attn_mask", args[3] if len(args) > 3 else None)
            self.kept = self.kept and self._is_given(mask)
        return func(*args, **kwargs)

    def _is_given(self, mask: Tensor | None) -> bool:
        if mask is None:
            return False
        open_BHLL = mask if mask.dtype == torch.bool else mask == 0
        seen_BHLL = self.seen_B1LL.to(mask.device).expand_as(open_BHLL)
        return torch.equal(open_BHLL, seen_BHLL)


def _trial(model: PreTrainedModel) -> list[tuple[int, ...]]:
    """Return a beginning, two ways on from it, and another sequence, which fit any model."""
    config = model.config.get_text_config()
    longest = min(_LONGEST, context_of(model) or _LONGEST)
    ids = tuple((5 + i) % config.vocab_size for i in range(longest))
    begun = ids[: max(2, longest // 2)]
    return [begun, ids, (*begun, *ids[: longest - len(begun)]), ids[1:4]]
