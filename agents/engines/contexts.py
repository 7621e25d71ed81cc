"""Growing contexts of a language model, computed in the way that its architecture allows.

Most architectures continue a padded batch from keys and values, which also go on in later calls.
Some have other states beside them, which only serve the batch that made them. Some take their cache
under another name, count positions from the padding on, or keep a state of their own that cannot be
picked apart; those read every context anew for each token, which is slow and right. There is no
list of names: every model is tried once against its own scores of single sequences.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from coevo.agents.engines.prefix_cache import SPARE, PrefixCache
from coevo.agents.engines.scoring import Span, context_of, left_padded, positions, score
from coevo.envs.core.errors import CoevoError, ConfigError, UndefinedError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from coevo.agents.engines.growing_layer import GrowingLayer

Row = tuple[int, ...]

STATE = "cache_params"
"""Name of the cache of models that have states and no attention."""
CACHES = ("past_key_values", STATE)
"""Names under which models take their cache, in the order in which they are tried."""
TOLERANCE = 2e-4
"""Of a log-probability in float32, relative to the largest logit above 1; what is wrong differs by
far more."""
SHAKE, SHAKES = 1e-5, 3
"""Relative change of embeddings, about a hundred roundings, and how often it is tried."""
_NOTHING = np.zeros(0, dtype=np.int64)
_LONGEST = 20
"""Tokens of the longer context of the trial."""
_GROWN = (([0, 0, 1], [7, 8, 9]), ([2, 0, 1], [5, 6, 7]), ([1, 2], [10, 11]))
"""How the trial continues its contexts: of which row each new row is, and its token."""


class _Wanted(NamedTuple):
    """A step of the trial."""

    rows: Sequence[Row]
    scores: Tensor
    """Of their next tokens, [rows, V]."""


class Way(NamedTuple):
    """How a model's contexts are computed."""

    cache: str | None
    """Name under which it takes its cache; None goes without one."""
    goes_on: bool = False
    """Whether keys and values are all that the cache holds, so that later calls go on from them."""


_OF_MODEL: weakref.WeakKeyDictionary[PreTrainedModel, Way] = weakref.WeakKeyDictionary()
_OF_ARCHITECTURE: dict[tuple[type, str], Way] = {}
"""What came out, by class and configuration: weights change nothing about it."""


class Contexts(Protocol):
    """Some rows of tokens to be continued."""

    def logits(self) -> Tensor:
        """Return the next token's scores, [rows, V]."""

    def grow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """Take other rows: old ones by their place, each with one token more."""

    def keep(self, rows: Mapping[int, Row]) -> None:
        """Remember rows for contexts that go on from them.

        Args:
            rows: place -> ids, all of which were read.
        """


class Past(NamedTuple):
    """What is known of rows."""

    cache: PrefixCache
    slots: Sequence[np.ndarray]
    """Of the beginning of each row, its last token excluded."""


def contexts(model: PreTrainedModel, rows: Sequence[Row], past: Past | None = None) -> Contexts:
    """Return contexts in the way that a model's architecture allows.

    Args:
        model: in eval mode.
        rows: token ids, at least one each.
        past: what need not be read again, for models whose way goes on.

    Raises:
        ConfigError: the model cannot be a policy; the line says why.
    """
    way = way_of(model)
    return ReadAnew(model, rows) if way.cache is None else Cached(model, rows, way, past)


class Cached:
    """Rows padded on the left, whose past is in a cache.

    All rows read equally many tokens, as many as the one that most is new of, so that no row has
    padding in its middle: some of what is known of the others is read again.
    """

    def __init__(
        self, model: PreTrainedModel, rows: Sequence[Row], way: Way, past: Past | None = None
    ) -> None:
        from transformers import DynamicCache

        from coevo.agents.engines.growing_layer import in_place

        self.model, self.name = model, str(way.cache)
        self.past = past if way.goes_on else None
        self.cache = DynamicCache(config=model.config)
        if way.goes_on:
            self.cache.layers = in_place(self.cache.layers)
        self.ids, self.mask = left_padded(rows, model.device)
        if self.past is not None:
            self._take_up(self.past, [len(row) for row in rows])

    def _take_up(self, past: Past, lengths: Sequence[int]) -> None:
        """Put what is known before what is read."""
        read = max(n - len(slots) for n, slots in zip(lengths, past.slots, strict=True))
        before = [past.slots[i][: max(0, n - read)] for i, n in enumerate(lengths)]
        longest = max(map(len, before))
        if not longest:
            return
        slots_BC = np.zeros((len(before), longest + read + SPARE), dtype=np.int64)
        for row, slots in enumerate(before):
            slots_BC[row, longest - len(slots) : longest] = slots
        layers = cast("list[GrowingLayer]", self.cache.layers)
        for layer, (keys, values) in zip(layers, past.cache.read(slots_BC), strict=True):
            layer.begin(keys, values, longest)
        self.ids = self.ids[:, -read:]

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

    def keep(self, rows: Mapping[int, Row]) -> None:
        """Copy their keys and values to where others find them."""
        if self.past is not None:
            layers = cast("list[GrowingLayer]", self.cache.layers)
            self.past.cache.keep(rows, [layer.held() for layer in layers])


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

    def keep(self, rows: Mapping[int, Row]) -> None:
        """Remember nothing."""


def way_of(model: PreTrainedModel) -> Way:
    """Return how a model's contexts are computed.

    Raises:
        ConfigError: it does not read tokens alone, or is not causal, or even without a cache a
            batch does not give what single sequences give.
    """
    if model not in _OF_MODEL:
        architecture = (type(model), str(model.config.to_dict()))
        if architecture not in _OF_ARCHITECTURE:
            with single_precision(model):
                _OF_ARCHITECTURE[architecture] = _tried(model)
        _OF_MODEL[model] = _OF_ARCHITECTURE[architecture]
    return _OF_MODEL[model]


@contextlib.contextmanager
def single_precision(model: nn.Module) -> Iterator[None]:
    """Hold the weights in float32, so that rounding hides no error of a trial."""
    floats = (t for t in (*model.parameters(), *model.buffers()) if t.is_floating_point())
    halves = [(t, t.data) for t in floats if t.element_size() < 4]
    for tensor, data in halves:
        tensor.data = data.float()
    try:
        yield
    finally:
        for tensor, data in halves:
            tensor.data = data


@torch.no_grad()
def _tried(model: PreTrainedModel) -> Way:
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
    if not same(model, whole[: len(before)], before, lambda: _alone(model, rows[0])):
        raise ConfigError(f"{refused}what it says of a token depends on the tokens after it")
    if not _agree(model, ReadAnew(model, rows), wanted):
        raise ConfigError(f"{refused}it says other things of a sequence in a batch than alone")
    if _goes_on(model, rows, wanted):
        return Way(CACHES[0], goes_on=True)
    ways = (Way(name) for name in CACHES)
    return next((way for way in ways if _takes(model, rows, way, wanted)), Way(None))


def _trial(model: PreTrainedModel) -> list[Row]:
    """Return a longer and a shorter context that fit any model."""
    config = model.config.get_text_config()
    limit = context_of(model) or sys.maxsize
    longest = max(1, min(_LONGEST, limit - len(_GROWN) - 1))
    row = tuple((5 + i) % config.vocab_size for i in range(longest))
    return [row, row[1:4] or row]


def _takes(
    model: PreTrainedModel,
    rows: list[Row],
    way: Way,
    wanted: Sequence[_Wanted],
    past: Past | None = None,
) -> bool:
    try:
        return _agree(model, Cached(model, rows, way, past), wanted)
    except Exception:  # as above
        return False


def _goes_on(model: PreTrainedModel, rows: list[Row], wanted: Sequence[_Wanted]) -> bool:
    """Return whether a model goes on, in later calls, from keys and values alone."""
    way, cache = Way(CACHES[0], goes_on=True), PrefixCache(sys.maxsize)
    begun = [row[: max(1, len(row) // 3)] for row in rows]
    try:
        first = Cached(model, begun, way, Past(cache, [_NOTHING] * len(begun)))
        first.logits()
        first.keep(dict(enumerate(begun)))
    except Exception:  # as above
        return False
    begins_alike = (*begun[0], *rows[0][: len(rows[0]) - len(begun[0]) - 3])
    # Each knows and reads another number of tokens; of one row alone, nothing is padded.
    several, one = [*rows, begins_alike], rows[:1]
    return all(
        _takes(model, some, way, expected, Past(cache, [cache.longest(r[:-1]) for r in some]))
        for some, expected in (
            (several, _reference(model, several)),
            (one, [_Wanted(one, _next(model, one))]),
        )
    ) and _takes(model, rows, way, wanted)


def _agree(model: PreTrainedModel, tried: Contexts, wanted: Sequence[_Wanted]) -> bool:
    """Return whether contexts give at every step of the trial what single sequences give."""
    for step, (rows, expected) in enumerate(wanted):
        if not same(model, tried.logits(), expected, functools.partial(_next, model, rows)):
            return False
        if step + 1 < len(wanted):
            tried.grow(*_GROWN[step])
    return True


def _reference(model: PreTrainedModel, rows: list[Row]) -> list[_Wanted]:
    found = []
    for parents, tokens in (*_GROWN, ((), ())):
        found.append(_Wanted(rows, _next(model, rows)))
        rows = [(*rows[p], t) for p, t in zip(parents, tokens, strict=True)]
    return found


def _next(model: PreTrainedModel, rows: Sequence[Row]) -> Tensor:
    """Return the next token's scores of sequences that are read one by one, [rows, V]."""
    return torch.stack([_alone(model, row)[-1] for row in rows])


def _alone(model: PreTrainedModel, ids: Row) -> Tensor:
    """Return the scores after every token of one sequence, by one plain pass, [L, V]."""
    out = model(input_ids=torch.tensor([list(ids)], device=model.device), use_cache=False)
    return cast("Tensor", out.logits)[0]


def same(
    model: PreTrainedModel, found: Tensor, expected: Tensor, again: Callable[[], Tensor]
) -> bool:
    """Return whether scores [N, V] are the expected ones, but for what rounding makes of them.

    That is `TOLERANCE`, and more in rows where the model carries a small change far: a trained one
    may do so where it reads what it has never seen.

    Args:
        model: gives the scores.
        found: those to be judged.
        expected: those that are known to be right.
        again: computes the expected ones anew.
    """
    if found.shape != expected.shape:
        return False
    size = max(1.0, float(expected[expected.isfinite()].abs().max()))
    gap_N = _gaps(found, expected)
    if bool((gap_N < TOLERANCE * size).all()):
        return True
    carried_N = torch.zeros_like(gap_N)
    for seed in range(SHAKES):
        with _shaken(model, seed):
            carried_N = torch.maximum(carried_N, _gaps(again(), expected))
    return bool((gap_N < TOLERANCE * size + carried_N).all())


def _gaps(found: Tensor, expected: Tensor) -> Tensor:
    """Return the largest difference of log-probabilities in each row, [N]; nan if one is none."""
    one, other = (t.float().log_softmax(-1) for t in (found, expected))
    gap = (one - other).abs()
    return torch.where(one.isfinite() | other.isfinite(), gap, 0.0).amax(-1)


@contextlib.contextmanager
def _shaken(model: PreTrainedModel, seed: int) -> Iterator[None]:
    """Change what the embeddings give by `SHAKE` of it."""
    rng = torch.Generator().manual_seed(seed)

    def shake(_module: nn.Module, _args: tuple[Tensor, ...], out: Tensor) -> Tensor:
        return out * (1 + SHAKE * torch.randn(out.shape, generator=rng).to(out))

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(NotImplementedError):  # a model whose embeddings are not known
            hook = model.get_input_embeddings().register_forward_hook(shake)
            stack.callback(hook.remove)
        yield
