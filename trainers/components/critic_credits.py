"""Credits that read values: a critic's over tokens and turns, double critics', a table's."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.trainers.batch import Batch
from coevo.trainers.components.base import Credit
from coevo.trainers.estimate import (
    Estimate,
    on_tokens,
    on_turns,
    require_tokens,
    turn_ends,
    turn_starts,
)
from coevo.trainers.tensors import (
    backward_sums,
    discounted,
    expand_turns,
    has_holes,
    sum_turns,
    wide,
)


@config
class Gae(Credit):
    """Generalised advantage estimate against the critic's values, over tokens or over turns.

    At turn level V_k is the value before the first policy token of turn k (the history up to
    the turn) and every token of the turn gets A_k. The value after the last entry is 0.
    `bilevel` (VAGEN, released code): a recursion over turns with `gamma_turn`, where V_k is the
    value at the last token of turn k, gives that token A_k; from there a recursion over the
    tokens of the turn, with gamma, runs back to the turn's first token, and stops there. With
    gamma = gamma_turn = lam = 1 it is `token`. `gamma_turn` is read at this level only.
    `team` (MARFT, released code) is `turn` over the turns of all seats of an episode in the order
    in which they came: what follows a turn is the next turn of whoever moves. So a seat is credited
    with what others earn later; pay a team once, not each of its seats.

    Raises:
        ConfigError: The batch has no value_CL, or for teams no place_BT.

    >>> turns = Estimate.of([[0.0, 1.0]], value_CL=torch.tensor([[0.5, 0.75]]))
    >>> Gae(lam=1.0)(turns).y.tolist()
    [[0.5, 0.25]]
    >>> both = {"episode": [0, 0], "place_BT": torch.tensor([[0], [1]])}
    >>> seats = Estimate.of([[0.0], [1.0]], value_CL=torch.tensor([[0.25], [0.5]]), **both)
    >>> Gae(level="team", lam=1.0)(seats).y.tolist()
    [[0.75], [0.5]]
    """

    of_one_reward = True
    reads = "value_CL"
    name: Literal["gae"] = "gae"
    level: Literal["token", "turn", "bilevel", "team"] = "token"
    gamma: Annotated[float, real(0, 1)] = 1.0
    lam: Annotated[float, real(0, 1)] = 0.95
    gamma_turn: Annotated[float, real(0, 1)] = 0.99

    def __call__(self, e: Estimate) -> Estimate:
        batch = e.batch
        value_BS = wide(batch.joined(batch.needed("value_CL", "credit gae")))
        mask_BS = batch.token_mask_BS
        if self.level in ("turn", "team"):
            joint = self.level == "team"
            return _gae_of_turns(e, value_BS, self.gamma, self.lam, joint)
        reward_BS = on_tokens(e)
        if self.level == "token":
            a_BS, return_BS = gae_recursion(reward_BS, value_BS, mask_BS, self.gamma, self.lam)
        else:
            ends_BS = turn_ends(batch)
            last_BT, value_BT = (_per_turn(x_BS, ends_BS, batch) for x_BS in (reward_BS, value_BS))
            seed_BT, _ = gae_recursion(
                last_BT, value_BT, batch.turn_mask_BT, self.gamma_turn, self.lam
            )
            seed_BS = expand_turns(seed_BT, batch.turn_of_BS)
            a_BS = _within_turns(
                reward_BS, value_BS, seed_BS, ends_BS, mask_BS, self.gamma, self.lam
            )
            return_BS = torch.where(mask_BS, a_BS + value_BS, 0.0)
        return e.to(a_BS, "token", return_BS=return_BS, return_mask_BS=mask_BS)


def gae_recursion(
    reward_BL: Tensor, value_BL: Tensor, mask_BL: Tensor, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Compute A_t = delta_t + gamma lam A_next, delta_t = r_t + gamma V_next - V_t, and A + V.

    "next" is the next position inside the mask, so nothing bootstraps from an observation.
    lam = 1 is the return minus the value; lam = 0 is the one-step error. Both results are 0
    outside the mask.

    >>> ones_BL = torch.ones(1, 2)
    >>> a_BL, return_BL = gae_recursion(ones_BL, 0.5 * ones_BL, ones_BL.bool(), 1.0, 0.0)
    >>> a_BL.tolist(), return_BL.tolist()
    ([[1.0, 0.5]], [[1.5, 1.0]])
    """
    value_BL = torch.where(mask_BL, value_BL, 0.0)
    delta_BL = reward_BL + gamma * _next_value(value_BL, mask_BL) - value_BL
    a_BL = discounted(delta_BL, mask_BL, gamma * lam)
    return a_BL, a_BL + value_BL


@config
class TdCritic(Credit):
    """Advantage of an utterance under double critics: A_t = min_c Q_tc - min_c V_tc (ArCHer).

    Reads `q_BTC` and `v_BTC`, C critics per turn, and no reward: rewards reach the policy through
    the targets of the critics. Source: ArCHer repository.

    Raises:
        ConfigError: The batch lacks q_BTC or v_BTC.

    >>> q_BTC, v_BTC = torch.tensor([[[0.75, 1.0]]]), torch.tensor([[[0.5, 0.25]]])
    >>> TdCritic()(Estimate.of([[1.0]], q_BTC=q_BTC, v_BTC=v_BTC)).y.tolist()
    [[0.5]]
    """

    of_one_reward = True
    reads = "q_BTC"
    name: Literal["td_critic"] = "td_critic"

    def __call__(self, e: Estimate) -> Estimate:
        q_BT = wide(e.batch.needed("q_BTC", self.name)).amin(-1)
        v_BT = wide(e.batch.needed("v_BTC", self.name)).amin(-1)
        return e.to(q_BT - v_BT)


def _gae_of_turns(e: Estimate, value_BS: Tensor, gamma: float, lam: float, joint: bool) -> Estimate:
    """Run over the turns of every trajectory, or `joint` over those of all seats of an episode."""
    require_tokens(e.batch)
    first_BS, mask_BT = turn_starts(e.batch), e.batch.turn_mask_BT
    value_BT, reward_BT = _per_turn(value_BS, first_BS, e.batch), on_turns(e)
    if joint:
        a_BT, return_BT = _over_teams(e.batch, reward_BT, value_BT, gamma, lam)
    else:
        a_BT, return_BT = gae_recursion(reward_BT, value_BT, mask_BT, gamma, lam)
    return_BS = expand_turns(return_BT, e.batch.turn_of_BS)
    return e.to(a_BT, return_BS=return_BS, return_mask_BS=first_BS)


def _over_teams(
    batch: Batch, reward_BT: Tensor, value_BT: Tensor, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Compute the recursion over rows of whole episodes, [E, P], and put it back, [B, T]."""
    mask_BT, place_BT = batch.turn_mask_BT, batch.needed("place_BT", "credit gae over teams")
    episode_BT = batch.key_B("episode").unsqueeze(1).expand_as(place_BT)
    at = episode_BT[mask_BT], place_BT[mask_BT]
    shape = [int(index_N.max()) + 1 if len(index_N) else 0 for index_N in at]

    def joined(x_BT: Tensor) -> Tensor:
        x_EP = x_BT.new_zeros(shape)
        x_EP[at] = x_BT[mask_BT]
        return x_EP

    rows = joined(reward_BT), joined(value_BT), joined(mask_BT)
    a_EP, return_EP = gae_recursion(*rows, gamma, lam)
    a_BT, return_BT = torch.zeros_like(value_BT), torch.zeros_like(value_BT)
    a_BT[mask_BT], return_BT[mask_BT] = a_EP[at], return_EP[at]
    return a_BT, return_BT


def _within_turns(
    reward_BS: Tensor,
    value_BS: Tensor,
    seed_BS: Tensor,
    ends_BS: Tensor,
    mask_BS: Tensor,
    gamma: float,
    lam: float,
) -> Tensor:
    """Run the token recursion from the seed at each turn's end to the turn's first token."""
    value_BS = torch.where(mask_BS, value_BS, 0.0)
    delta_BS = reward_BS + gamma * _next_value(value_BS, mask_BS) - value_BS
    start_BS = torch.where(ends_BS, seed_BS, torch.where(mask_BS, delta_BS, 0.0))
    decay_BS = torch.where(ends_BS, 0.0, torch.full_like(start_BS, gamma * lam))
    return torch.where(mask_BS, backward_sums(start_BS, decay_BS), 0.0)


def _per_turn(y_BS: Tensor, at_BS: Tensor, batch: Batch) -> Tensor:
    """Return what stands on one marked token of every turn, [B, T]."""
    turns = batch.turn_mask_BT.shape[1]
    return sum_turns(torch.where(at_BS, y_BS, 0.0), batch.turn_of_BS, turns)


def _next_value(value_BL: Tensor, mask_BL: Tensor) -> Tensor:
    """Return V at the next position inside the mask, 0 where there is none."""
    carried_BL = value_BL
    if has_holes(mask_BL):
        carried_BL = backward_sums(value_BL, (~mask_BL).to(value_BL.dtype))
    return torch.cat([carried_BL[:, 1:], torch.zeros_like(carried_BL[:, :1])], dim=1)


@config
class TdTable(Credit):
    """TD errors over turns against a table of state values: A_t = delta_t + gamma lam A_{t+1}.

    delta_t = r_t + gamma V(s_{t+1}) - V(s_t), where s_t is what the seat saw before turn t, V of a
    state that was never seen is 0 and the value after the last turn is 0. After the batch a state
    that n turns saw moves by 1 - (1 - rate)^n towards the mean of their targets A_t + V(s_t).
    lam = 1 is the return less the value. For games that are small enough for states to come back,
    such as tic-tac-toe: a turn is then judged by what it leads to, and not by what either player
    does later. Nothing needs a baseline: use `no_baseline`.
    Rewards that are kept apart have a table each.
    Source: TD(lambda), Sutton & Barto 2018, chapters 6 and 12, with V as a table.
    State: `td_table/<agent>/<state>`, one value each, with the component before the agent where
    there are several.

    Raises:
        ConfigError: The batch has no state_BT.

    >>> turns = Estimate.of([[0.0, 1.0]], state_BT=torch.tensor([[7, 8]]))
    >>> first = TdTable(rate=0.5)(turns)
    >>> first.y.tolist(), first.state
    ([[0.0, 1.0]], {'td_table/0/7': 0.0, 'td_table/0/8': 0.5})
    >>> TdTable()(first.to(turns.y)).y.tolist()
    [[0.5, 0.5]]
    """

    name: Literal["td_table"] = "td_table"
    gamma: Annotated[float, real(0, 1)] = 1.0
    lam: Annotated[float, real(0, 1)] = 0.0
    rate: Annotated[float, real(0, 1)] = 0.2

    def __call__(self, e: Estimate) -> Estimate:
        mask_BT, names_BT = e.batch.turn_mask_BT, _names(e)
        known = dict(e.state)
        value_BT = torch.tensor(
            [[known.get(name, 0.0) for name in row] for row in names_BT], dtype=torch.float64
        )
        a_BT, target_BT = gae_recursion(on_turns(e), value_BT, mask_BT, self.gamma, self.lam)
        _move(known, names_BT, target_BT, mask_BT, self.rate)
        return e.to(a_BT, state=known)


def _names(e: Estimate) -> list[list[str]]:
    """Name the state of every turn: which reward, who was to move, and what it saw."""
    state_BT = e.batch.needed("state_BT", "td_table")
    agents = e.batch.key_of("agent").tolist()
    table = f"td_table/{e.component}" if e.component else "td_table"
    return [
        [f"{table}/{agent}/{state}" for state in row]
        for agent, row in zip(agents, state_BT.tolist(), strict=True)
    ]


def _move(
    known: dict[str, float],
    names_BT: list[list[str]],
    target_BT: Tensor,
    mask_BT: Tensor,
    rate: float,
) -> None:
    """Move every visited state towards the mean of its targets; the order of rows is nothing."""
    found: dict[str, list[float]] = {}
    for names, targets, there in zip(names_BT, target_BT.tolist(), mask_BT.tolist(), strict=True):
        for name, target, counts in zip(names, targets, there, strict=True):
            if counts:
                found.setdefault(name, []).append(target)
    for name, targets in found.items():
        share = 1.0 - (1.0 - rate) ** len(targets)
        old = known.get(name, 0.0)
        known[name] = old + share * (sum(targets) / len(targets) - old)
