"""Our half of `trl_crosscheck`: advantages, loss and gradient of a case on the recorded batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from trl_batch import END, Batch, Case

from coevo.trainers.advantage import advantages
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import algorithm
from coevo.trainers.batch import Batch as OurBatch
from coevo.trainers.components import exact_entropy
from coevo.trainers.components.base import Denominators
from coevo.trainers.items import Items
from coevo.trainers.loss import LossConfig, batch_statistics, kept_mask, policy_loss
from coevo.trainers.losses import ItemLoss


@dataclass(frozen=True)
class Answer:
    """What one side computes for a case."""

    loss: float
    """Loss of the first optimiser step."""
    gradient_BLV: Tensor
    """Its gradient with respect to the logits of the batch."""
    advantage_B: Tensor
    """Advantage of every row."""


def ours(case: Case, batch: Batch, same: bool) -> Answer:
    """Compute a case.

    Args:
        case: what to compute.
        batch: the recorded replies.
        same: with what TRL does differently, or only what was asked for.
    """
    if case.pairs:
        return _of_pairs((same and case.pairs_same) or case.pairs, batch)
    changes = {**case.asked, **(case.same if same else {})}
    record = algorithm(case.record, None, changes)
    row_B = advantages(record.advantage, trajectories(case, batch))[0].advantage_CL[:, 0]
    loss, gradient_BLV = _step(case, batch, record, row_B, same)
    if same and case.value:
        other = algorithm(case.record, None, {**changes, **case.value})
        loss, _ = _step(case, batch, other, row_B, same)
    return Answer(loss, gradient_BLV, row_B)


def trajectories(case: Case, batch: Batch) -> OurBatch:
    """Return the batch as what advantages read: one turn per reply, one group per prompt.

    >>> from trl_batch import make_batch
    >>> from trl_cases import CASES
    >>> trajectories(CASES[0], make_batch(0)).keys["group"].tolist()[4:8]
    [0, 0, 1, 1]
    """
    rows = len(batch.length_B)
    keys = {"group": torch.arange(rows) // batch.group_size}
    reward_BK = torch.stack([batch.rewards[name] for name in case.rewards], dim=1)
    return OurBatch.from_rewards(
        reward_BK.unsqueeze(1),
        case.rewards,
        torch.ones(rows, 1, dtype=torch.bool),
        torch.where(batch.mask_CL, 0, -1),
        keys,
        logp_old_CL=batch.logp_old_CL,
        logp_ref_CL=batch.logp_ref_CL,
    )


def inputs(case: Case, batch: Batch, advantage_B: Tensor, logits_BLV: Tensor) -> OurBatch:
    """Return the batch as what losses read, with the gradient leading to the logits."""
    log_BLV = logits_BLV.log_softmax(-1)
    mask_CL = batch.own_BL if case.holes else batch.mask_CL
    if case.silent_cut:
        mask_CL = mask_CL & ~cut_off(batch).unsqueeze(1)
    return OurBatch.from_tokens(
        log_BLV.gather(2, batch.tokens_BL.unsqueeze(2)).squeeze(2),
        advantage_B,
        batch.logp_CL if case.fresh else batch.logp_old_CL,
        mask_CL=mask_CL,
        logp_behaviour_CL=batch.logp_behaviour_CL,
        logp_ref_CL=batch.logp_ref_CL,
        entropy_CL=exact_entropy(log_BLV),
    )


def cut_off(batch: Batch) -> Tensor:
    """Mark the replies that do not end with the end token, [B].

    >>> from trl_batch import make_batch
    >>> cut_off(make_batch(0)).sum().item()
    1
    """
    last_B1 = batch.length_B.unsqueeze(1) - 1
    return batch.tokens_BL.gather(1, last_B1).squeeze(1) != END


def part_of(x: OurBatch, rows: slice) -> OurBatch:
    """Take some rows."""
    part = x.chosen(torch.arange(len(x))[rows])
    return replace(part, statistics={n: t[rows] for n, t in x.statistics.items()})


def _step(
    case: Case, batch: Batch, record: Algorithm, advantage_B: Tensor, same: bool
) -> tuple[float, Tensor]:
    """Return the loss of the first optimiser step and its gradient, micro-batch by micro-batch."""
    leaf_BLV = batch.logits_BLV.clone().requires_grad_()
    rows = len(batch.length_B)
    whole = inputs(case, batch, advantage_B, leaf_BLV)
    spec = record.loss
    first = part_of(whole, slice(0, rows // case.windows))
    if spec.needs_batch_statistics:
        first = replace(first, statistics=batch_statistics(spec, first))
    total, size = leaf_BLV.new_zeros(()), rows // case.micro_batches
    for start in range(0, rows // case.windows, size):
        part = part_of(first, slice(start, start + size))
        denom, share = _denominators(case, batch, spec, whole, part, same)
        loss = policy_loss(spec, part, denom)[0]
        total = total + loss * share
    (gradient_BLV,) = torch.autograd.grad(total, leaf_BLV)
    return float(total.detach()), gradient_BLV


def _denominators(
    case: Case, batch: Batch, spec: LossConfig, whole: OurBatch, part: OurBatch, same: bool
) -> tuple[Denominators, float]:
    """Count as our learner does, or as TRL; and give the weight of a micro-batch."""
    kept_BL = kept_mask(spec, whole.logp_old_CL, whole.logp_behaviour_CL, whole.mask_CL)
    counts = {
        "ours": Denominators.of(kept_BL, batch.max_length),
        "raw": Denominators.of(whole.mask_CL, batch.max_length),
        "rows": replace(Denominators.of(kept_BL, batch.max_length), rows=len(kept_BL)),
        "each": Denominators.of(part.mask_CL, batch.max_length),
    }
    way = case.counts if same else "ours"
    found = counts[way]
    if way == "each":
        return found, case.windows / case.micro_batches
    steps = case.windows
    return replace(found, tokens=found.tokens / steps, rows=found.rows / steps), 1.0


def _of_pairs(losses: Sequence[ItemLoss], batch: Batch) -> Answer:
    """Return the sum of losses on neighbouring rows, each over its own denominator."""
    leaf_BLV = batch.logits_BLV.clone().requires_grad_()
    log_BLV = leaf_BLV.log_softmax(-1)
    logp_CL = log_BLV.gather(2, batch.tokens_BL.unsqueeze(2)).squeeze(2)
    total = leaf_BLV.new_zeros(())
    for loss in losses:
        items = _items(batch, loss.kind)
        x = items.inputs(logp_CL, loss.of_tokens)
        total = total + loss.weight * loss(x).sum() / loss.size(x).sum()
    (gradient_BLV,) = torch.autograd.grad(total, leaf_BLV)
    return Answer(float(total.detach()), gradient_BLV, torch.zeros(len(batch.length_B)))


def _items(batch: Batch, kind: str) -> Items:
    """Return pairs of rows, or the preferred one of each pair, as losses read them."""
    rows = len(batch.length_B)
    row_B = torch.arange(rows)
    whole = OurBatch.from_tokens(
        batch.logp_CL, mask_CL=batch.mask_CL, logp_ref_CL=batch.logp_ref_CL
    )
    pair_N2 = row_B.reshape(-1, 2)
    at_NK = pair_N2 if kind == "pairs" else pair_N2[:, :1]
    return Items(whole, at_NK, torch.zeros(at_NK.shape))
