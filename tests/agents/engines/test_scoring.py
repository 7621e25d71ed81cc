from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from coevo.agents.engines import scoring
from coevo.agents.engines.logit_processors import GuidedChoice
from coevo.agents.engines.scoring import (
    Span,
    chosen,
    left_padded,
    micro_batches,
    positions,
    score,
)

SPANS = [
    Span((5, 6, 7, 8, 9), (2,), (5,)),
    Span((5, 6), (1,), (2,)),
    Span((9, 8, 7, 6, 5, 4, 20, 21, 22), (2, 6), (4, 9)),
]


def alone(model, span, temperature):
    with torch.no_grad():
        out = model(torch.tensor([span.ids]), output_hidden_states=True)
    logp = (out.logits[0] / temperature).log_softmax(-1)
    at = span.positions()
    return (
        [float(logp[i - 1, span.ids[i]]) for i in at],
        torch.stack([out.hidden_states[-1][0, i - 1] for i in at]),
    )


def test_a_padded_batch_scores_like_each_sequence_alone(llama):
    with torch.no_grad():
        scored = score(llama, SPANS, temperature=0.5, hidden=True)
    each = [alone(llama, s, 0.5) for s in SPANS]
    assert scored.ids_N.tolist() == [s.ids[i] for s in SPANS for i in s.positions()]
    assert scored.logp_N().tolist() == pytest.approx([x for lp, _ in each for x in lp], abs=1e-5)
    assert torch.allclose(scored.hidden_NH, torch.cat([h for _, h in each]), atol=1e-5)


@torch.no_grad()
def distributions(scored):
    return scored.logits(slice(None)).log_softmax(-1), torch.cat(
        [scored._logp(slice(i, i + 1)) for i in range(len(scored.ids_N))]
    )


def test_a_processor_renormalises_over_what_it_leaves(llama):
    choices = ((7, 8, 9), (7, 30, 9), (40,))
    places = SPANS[0].places([choices])
    with torch.no_grad():
        guided = score(llama, SPANS[:1], 0.5)
        guided = replace(guided, processors=(GuidedChoice(),), places=places)
    free, closed = distributions(guided)
    for step, ids in enumerate(([7, 40], [8, 30])):
        one, other = ids
        gap = (free[step, one] - free[step, other]) / 0.5
        assert closed[step, ids].logsumexp(0).item() == pytest.approx(0, abs=1e-6)
        assert float(closed[step, one] - closed[step, other]) == pytest.approx(float(gap), abs=1e-5)
    assert guided.logp_N()[2].item() == 0
    assert closed.exp()[0].count_nonzero() == 2 and bool(closed.isfinite().all())


def entropy(ids_N, logp_NV):
    return chosen(logp_NV, ids_N), -(logp_NV.exp() * logp_NV).sum(-1)


@pytest.mark.parametrize("kept", [0, scoring.KEPT])
@pytest.mark.parametrize("piece", [1, 2, 100])
def test_pieces_change_neither_value_nor_gradient(llama, monkeypatch, piece, kept):
    monkeypatch.setattr(scoring, "KEPT", kept)
    found = []
    for size in (None, piece):
        llama.zero_grad()
        logp_N, entropy_N = score(llama, SPANS, 0.7).reduce(entropy, piece=size)
        (logp_N.sum() + 2 * entropy_N.sum()).backward()
        grads = [p.grad.clone() for p in llama.parameters() if p.grad is not None]
        found.append([logp_N.detach(), entropy_N.detach(), *grads])
    llama.zero_grad(set_to_none=True)
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize(("spare", "times"), [(0, 1), (-1, 2)])
def test_pieces_are_made_again_for_the_gradient_where_they_are_too_much_to_keep(
    llama, monkeypatch, spare, times
):
    scored, made = score(llama, SPANS), []
    size = len(scored.ids_N) * llama.config.vocab_size
    monkeypatch.setattr(scoring, "KEPT", size + spare)

    def read(ids_N, logp_NV):
        made.append(len(ids_N))
        return (chosen(logp_NV, ids_N),)

    scored.reduce(read, piece=2)[0].sum().backward()
    llama.zero_grad(set_to_none=True)
    assert sum(made) == times * len(scored.ids_N)


class Widest(TorchDispatchMode):
    """Notes the most rows of a matrix [tokens, vocabulary]; [hidden, vocabulary] is the weights."""

    def __init__(self, config):
        super().__init__()
        self.vocabulary, self.hidden, self.most = config.vocab_size, config.hidden_size, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for t in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(t, torch.Tensor) and t.dim() > 1 and t.shape[-1] == self.vocabulary:
                rows = t.numel() // self.vocabulary
                self.most = max(self.most, rows if rows != self.hidden else 0)
        return out


def test_tokens_by_vocabulary_never_exist_whole(llama, monkeypatch):
    monkeypatch.setattr(scoring, "KEPT", 0)
    with Widest(llama.config) as seen:
        logp_N, entropy_N = score(llama, SPANS).reduce(entropy, piece=2)
        (logp_N + entropy_N).sum().backward()
    llama.zero_grad(set_to_none=True)
    assert len(logp_N) > seen.most == 2


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(1, 100))
def test_micro_batches_hold_every_row_once_within_the_budget(lengths, budget):
    parts = list(micro_batches(lengths, budget))
    assert sorted(i for part in parts for i in part) == list(range(len(lengths)))
    for part in parts:
        assert len(part) == 1 or len(part) * max(lengths[i] for i in part) <= budget


def test_padding_is_on_the_left_and_takes_no_position():
    ids, mask = left_padded([[5, 6, 7], [8]], torch.device("cpu"))
    assert ids.tolist() == [[5, 6, 7], [0, 0, 8]]
    assert positions(mask).tolist() == [[0, 1, 2], [0, 0, 0]]
