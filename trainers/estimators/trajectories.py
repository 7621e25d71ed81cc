"""One batch of trajectories: what the estimators read, as padded tensors with explicit keys.

Shapes   B trajectories (one per episode and seat that acted), T turns, S policy tokens of a
         trajectory joined over its turns, K reward components.
Padding  on the right; `turn_mask_BT` is False and `turn_of_BS` is -1 there. What a padded cell
         holds is never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.estimators.groups import combined

KEYS = ("group", "trajectory", "seat", "game", "agent", "policy")
FLOATS_BS = ("value_BS", "logp_old_BS", "logp_ref_BS")
"""Optional fields with one number per policy token."""


@dataclass(frozen=True)
class Trajectories:
    """A batch of trajectories with their rewards, turns, tokens and keys.

    Raises:
        ConfigError: A shape or a dtype disagrees, a key is missing, padding is not on the right,
            or the reward of a real turn is not finite.
    """

    reward_BTK: Tensor
    """Reward of every turn and component, in the units of the environment; any float type."""
    components: tuple[str, ...]
    """Names of the K reward components."""
    turn_mask_BT: Tensor
    """True where the trajectory has this turn."""
    turn_of_BS: Tensor
    """Turn that a policy token belongs to, never decreasing; -1 is padding."""
    keys: Mapping[str, Tensor]
    """int64 [B] identities. `group`: same start state or prompt; `agent`: game and seat.

    Optional ones that some options read: `answer` (the last move), `opening` (the first),
    `tree` (plays that branched from one another), `set`, `play` (trajectories of the seats that
    sat at one table), `truncated` (1 where a limit ended it).
    """
    value_BS: Tensor | None = None
    """Value that the critic gave before each policy token."""
    logp_old_BS: Tensor | None = None
    """Log-probability of each token at the start of the update, for KL in the reward."""
    logp_ref_BS: Tensor | None = None
    """Log-probability of each token under the reference policy, for KL in the reward."""
    baseline_B: Tensor | None = None
    """Outcome of a greedy play of the same start by the same seat."""
    state_BT: Tensor | None = None
    """What the seat saw before each turn (int64): equal numbers are equal observations."""
    role_BT: Tensor | None = None
    """What the seat was in each turn (int64), such as solver or scorer."""
    action_BT: Tensor | None = None
    """What it did there (int64): equal numbers are equal moves."""
    q_BTC: Tensor | None = None
    """Value of what was said in every turn, by C utterance-level critics."""
    v_BTC: Tensor | None = None
    """Value before every turn, by as many critics of what a turn is worth."""
    valid_B: Tensor | None = None
    """False where no reward could be found: compared with nothing; None where all are valid."""

    def __post_init__(self) -> None:
        _check_shapes(self)
        _check_keys(self)
        _check_turns(self)
        _check_rewards(self)

    @property
    def token_mask_BS(self) -> Tensor:
        """True at policy tokens, False at padding."""
        return self.turn_of_BS >= 0

    def key_B(self, by: str) -> Tensor:
        """Return one int64 identity per trajectory; names joined by `+` give their combinations.

        Raises:
            UnknownNameError: There is no such key.

        >>> batch = from_lists([[1.0], [0.0], [1.0]], group=[7, 7, 8], seat=[0, 1, 0])
        >>> batch.key_B("group").tolist(), batch.key_B("group+seat").tolist()
        ([0, 0, 1], [0, 1, 2])
        """
        return combined(*(self.key_of(name) for name in by.split("+")))

    def key_of(self, name: str) -> Tensor:
        """Return one key as it is, not renumbered.

        Raises:
            UnknownNameError: There is no such key.
        """
        if name not in self.keys:
            raise unknown("trajectory key", name, self.keys)
        return self.keys[name]

    def chosen(self, at_B: Tensor) -> Trajectories:
        """Return some trajectories.

        >>> from_lists([[1.0], [0.0]]).chosen(torch.tensor([False, True])).reward_BTK.flatten()
        tensor([0.], dtype=torch.float64)
        """
        cut: dict[str, Any] = {n: v[at_B] for n, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **cut, keys={name: key_B[at_B] for name, key_B in self.keys.items()})

    def needed(self, name: str, option: str) -> Tensor:
        """Return an optional field that an option cannot do without.

        Raises:
            ConfigError: The field is None.
        """
        tensor: Tensor | None = getattr(self, name)
        if tensor is None:
            raise ConfigError(f"{option!r} needs {name} in the batch")
        return tensor


def from_lists(
    rewards: Sequence[Sequence[float]],
    tokens: Sequence[Sequence[int]] | None = None,
    **keys: Sequence[int],
) -> Trajectories:
    """Build a batch with one reward component from plain lists.

    Args:
        rewards: One list of turn rewards per trajectory.
        tokens: Number of policy tokens of every turn; one each if not given.
        keys: Identities per trajectory. Missing ones are 0, except `trajectory`, which counts
            up, and `agent`, which follows `seat`.

    Raises:
        ConfigError: The lists have different lengths.

    >>> batch = from_lists([[0.1, 1.0], [0.5]], tokens=[[2, 1], [3]])
    >>> batch.turn_of_BS.tolist()
    [[0, 0, 1], [0, 0, 0]]
    """
    tokens = [[1] * len(row) for row in rewards] if tokens is None else tokens
    if [len(row) for row in tokens] != [len(row) for row in rewards]:
        raise ConfigError("tokens must give one count for every turn reward")
    turn_of = [[t for t, n in enumerate(row) for _ in range(n)] for row in tokens]
    reward_BT = _pad(rewards, 0.0, torch.float64)
    ones = [[True] * len(row) for row in rewards]
    return Trajectories(
        reward_BTK=reward_BT.unsqueeze(-1),
        components=("reward",),
        turn_mask_BT=_pad(ones, False, torch.bool),
        turn_of_BS=_pad(turn_of, -1, torch.int64),
        keys=_default_keys(len(rewards), keys),
    )


def _default_keys(rows: int, given: Mapping[str, Sequence[int]]) -> dict[str, Tensor]:
    keys = {name: torch.zeros(rows, dtype=torch.int64) for name in KEYS}
    keys["trajectory"] = torch.arange(rows)
    for name, values in given.items():
        keys[name] = torch.as_tensor(values, dtype=torch.int64)
    if "agent" not in given:
        keys["agent"] = keys["seat"]
    return keys


def _pad(rows: Sequence[Sequence[Any]], fill: Any, dtype: torch.dtype) -> Tensor:
    width = max((len(row) for row in rows), default=0)
    padded = [[*row, *[fill] * (width - len(row))] for row in rows]
    return torch.tensor(padded, dtype=dtype).reshape(len(rows), width)


def _check_shapes(batch: Trajectories) -> None:
    if batch.reward_BTK.ndim != 3 or batch.turn_of_BS.ndim != 2:
        raise ConfigError(
            f"reward_BTK has shape {tuple(batch.reward_BTK.shape)}, expected [B, T, K]; "
            f"turn_of_BS has shape {tuple(batch.turn_of_BS.shape)}, expected [B, S]"
        )
    rows, turns, _ = batch.reward_BTK.shape
    tokens = batch.turn_of_BS.shape[1]
    _expect("reward_BTK", batch.reward_BTK, (rows, turns, len(batch.components)), "float")
    _expect("turn_mask_BT", batch.turn_mask_BT, (rows, turns), "bool")
    _expect("turn_of_BS", batch.turn_of_BS, (rows, tokens), "int64")
    for name in FLOATS_BS:
        _expect(name, getattr(batch, name), (rows, tokens), "float")
    _expect("baseline_B", batch.baseline_B, (rows,), "float")
    _expect("valid_B", batch.valid_B, (rows,), "bool")
    for name in ("state_BT", "action_BT", "role_BT"):
        _expect(name, getattr(batch, name), (rows, turns), "int64")
    for name in ("q_BTC", "v_BTC"):
        critics: Tensor | None = getattr(batch, name)
        if critics is not None:
            _expect(name, critics, (rows, turns, *critics.shape[2:3]), "float")


def _expect(name: str, tensor: Tensor | None, shape: tuple[int, ...], kind: str) -> None:
    if tensor is None:
        return
    if tuple(tensor.shape) != shape:
        raise ConfigError(f"{name} has shape {tuple(tensor.shape)}, expected {shape}")
    right = tensor.is_floating_point() if kind == "float" else tensor.dtype == getattr(torch, kind)
    if not right:
        raise ConfigError(f"{name} has dtype {tensor.dtype}, expected {kind}")


def _check_keys(batch: Trajectories) -> None:
    missing = sorted(set(KEYS) - set(batch.keys))
    if missing:
        raise ConfigError(f"keys lacks {', '.join(missing)}; every batch has {', '.join(KEYS)}")
    for name, key_B in batch.keys.items():
        _expect(f"keys[{name!r}]", key_B, (batch.reward_BTK.shape[0],), "int64")


def _check_turns(batch: Trajectories) -> None:
    """Refuse holes and disorder: a token's turn must exist, and the last tokens must be padding."""
    turn_BS, mask_BS = batch.turn_of_BS, batch.token_mask_BS
    turns = batch.turn_mask_BT.shape[1]
    if turn_BS.numel() == 0:
        return
    if int(turn_BS.max()) >= turns or int(turn_BS.min()) < -1:
        raise ConfigError(f"turn_of_BS must lie between -1 and {turns - 1}")
    if bool((mask_BS[:, 1:] & (turn_BS[:, 1:] < turn_BS[:, :-1])).any()) or bool(
        (mask_BS[:, 1:] & ~mask_BS[:, :-1]).any()
    ):
        raise ConfigError("turn_of_BS must not decrease along a row, with its padding on the right")
    exists_BS = batch.turn_mask_BT.gather(1, turn_BS.clamp(min=0)) if turns else ~mask_BS
    if bool((mask_BS & ~exists_BS).any()):
        raise ConfigError("turn_of_BS names a turn that turn_mask_BT marks as padding")


def _check_rewards(batch: Trajectories) -> None:
    bad_BTK = ~batch.reward_BTK.isfinite() & batch.turn_mask_BT.unsqueeze(-1)
    if not bool(bad_BTK.any()):
        return
    row, turn, component = (int(i) for i in bad_BTK.nonzero()[0])
    raise ConfigError(
        f"reward {batch.components[component]!r} of trajectory "
        f"{int(batch.keys['trajectory'][row])} (row {row}), turn {turn} is "
        f"{float(batch.reward_BTK[row, turn, component])}; rewards must be finite"
    )
