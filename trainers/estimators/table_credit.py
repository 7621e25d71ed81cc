"""A critic without parameters: the value of every state that was seen, kept in a table."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import config, real
from coevo.trainers.estimators.component import AdvantageComponent
from coevo.trainers.estimators.critic_credit import gae_recursion
from coevo.trainers.estimators.rewards import Credited, Rewards, on_turns
from coevo.trainers.estimators.trajectories import Trajectories


@config
class TdTable(AdvantageComponent):
    """TD errors over turns against a table of state values: A_t = delta_t + gamma lam A_{t+1}.

    delta_t = r_t + gamma V(s_{t+1}) - V(s_t), where s_t is what the seat saw before turn t, V of a
    state that was never seen is 0 and the value after the last turn is 0. After the batch a state
    that n turns saw moves by 1 - (1 - rate)^n towards the mean of their targets A_t + V(s_t).
    lam = 1 is the return less the value. For games that are small enough for states to come back,
    such as tic-tac-toe: a turn is then judged by what it leads to, and not by what either player
    does later. Nothing needs a baseline: use `center=none`.
    Source: TD(lambda), Sutton & Barto 2018, chapters 6 and 12, with V as a table.
    State: `td_table/<agent>/<state>`, one value each.

    Raises:
        ConfigError: The batch has no state_BT.

    >>> from dataclasses import replace
    >>> from coevo.trainers.estimators import from_lists
    >>> batch = replace(from_lists([[0.0, 1.0]]), state_BT=torch.tensor([[7, 8]]))
    >>> turns = Rewards(batch.reward_BTK.squeeze(-1))
    >>> first = TdTable(rate=0.5)(turns, batch)
    >>> first.y.tolist(), first.state
    ([[0.0, 1.0]], {'td_table/0/7': 0.0, 'td_table/0/8': 0.5})
    >>> TdTable()(turns._replace(state=first.state), batch).y.tolist()
    [[0.5, 0.5]]
    """

    of_one_reward = True
    name: Literal["td_table"] = "td_table"
    gamma: Annotated[float, real(0, 1)] = 1.0
    lam: Annotated[float, real(0, 1)] = 0.0
    rate: Annotated[float, real(0, 1)] = 0.2

    def __call__(self, rewards: Rewards, batch: Trajectories) -> Credited:
        mask_BT = batch.turn_mask_BT
        names_BT = _names(batch)
        known = dict(rewards.state)
        value_BT = torch.tensor(
            [[known.get(name, 0.0) for name in row] for row in names_BT], dtype=torch.float64
        )
        a_BT, target_BT = gae_recursion(
            on_turns(rewards, batch), value_BT, mask_BT, self.gamma, self.lam
        )
        _move(known, names_BT, target_BT, mask_BT, self.rate)
        return Credited(a_BT, "turn", state=known)


def _names(batch: Trajectories) -> list[list[str]]:
    """Name the state of every turn: who was to move, and what it saw."""
    state_BT = batch.needed("state_BT", "td_table")
    agents = batch.key_of("agent").tolist()
    return [
        [f"td_table/{agent}/{state}" for state in row]
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
