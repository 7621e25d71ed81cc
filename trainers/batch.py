"""One batch: the episodes of an update as one frozen struct of tensors.

B  trajectories: what one seat did in one episode; T time-steps of it, K reward components
S  response tokens of a trajectory, joined over its turns
C  contexts: token sequences as a model reads them. A chat that grew by appending is one context
   with several turns, a fresh prompt per turn gives one context per turn
L  response tokens of a context: a slice of the S tokens of its trajectory

Everything is padded on the right: `turn_mask_BT` and `mask_CL` are False and `turn_of_BS` is -1
there, and what a padded cell holds is never read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from coevo.agents.engines.scoring import Span
from coevo.agents.sampling import Ids
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError, unknown
from coevo.trainers.tensors import combined

LATER: Any = None
"""Default of what a later stage fills in and everything after it may rely on."""
KEYS = ("group", "trajectory", "seat", "game", "agent", "policy")
"""Keys that every batch has."""


@dataclass(frozen=True)
class Batch:
    """Trajectories with their rewards and keys, and the contexts that their tokens stand in."""

    # ---- Trajectories
    reward_BTK: Tensor
    """Reward of every time-step and component, in the units of the environment; any float type."""
    components: tuple[str, ...]
    """Names of the K reward components."""
    turn_mask_BT: Tensor
    """True where the trajectory has this time-step."""
    turn_of_BS: Tensor
    """Time-step that a response token belongs to, never decreasing; -1 is padding."""
    keys: Mapping[str, Tensor]
    """int64 [B] identities. `group`: same task; `agent`: game and seat.

    Optional ones that some components read: `answer` (the last move), `first_move`, `branch`
    (trajectories of a seat that begin with the same move), `set`, `episode` (the seats of one
    episode), `role`.
    """
    origin_B: tuple[tuple[int, str], ...]
    """Place of the episode, and the seat."""
    turns_B: tuple[tuple[Turn, ...], ...]

    # ---- Contexts
    spans: tuple[Span, ...]
    """The distinct token sequences; contexts that share one are computed once."""
    reference_spans: tuple[Span, ...]
    """Per span: the same replies in the prompts that the reference reads."""
    choices: tuple[tuple[tuple[Ids, ...], ...], ...]
    """Per span and reply, for guided choice: the replies that were allowed; () where any was."""
    span_C: Tensor
    """Index into `spans`."""
    trajectory_C: Tensor
    """Index of the trajectory that the context belongs to."""
    offset_C: Tensor
    """Where its response tokens begin among those of the trajectory."""
    policy_C: tuple[str, ...]
    """Parameter set that wrote in the context."""
    mask_CL: Tensor
    """True at response tokens that are learnt from."""
    turn_CL: Tensor
    """Time-step that a token belongs to (int64); -1 is padding."""
    role_CL: Tensor
    """Index into `roles` of the role that a token was written in; -1 is padding."""
    roles: tuple[str, ...]
    """What follows a slash in a role separates what must not be compared; it is one role here."""
    logp_behaviour_CL: Tensor | None = None
    """Log-probability that the sampler reported, in nats."""

    # ---- What some components read of trajectories
    baseline_B: Tensor | None = None
    """Outcome of a greedy episode of the same task by the same seat."""
    state_BT: Tensor | None = None
    """What the seat saw before each time-step (int64): equal numbers are equal observations."""
    role_BT: Tensor | None = None
    """What the seat was in each time-step (int64), such as solver or scorer."""
    action_BT: Tensor | None = None
    """What it did there (int64): equal numbers are equal moves."""
    place_BT: Tensor | None = None
    """Where in its episode it came, among the turns of all seats (int64)."""
    mark_BTM: Tensor | None = None
    """What was said of every time-step, NaN where nothing was; None where nothing was marked."""
    marks: tuple[str, ...] = ()
    """Names of the M marks."""
    q_BTC: Tensor | None = None
    """Value of what was said in every time-step, by C critics."""
    v_BTC: Tensor | None = None
    """Value before every time-step, by as many critics."""
    least_B: Tensor | None = None
    """The least that the environment of the trajectory can pay, NaN where that is not known; None
    where nothing is known of any."""
    most_B: Tensor | None = None
    """The most that it can pay."""
    valid_B: Tensor | None = None
    """False where no reward could be found: compared with nothing; None where all are valid."""

    # ---- What passes without gradient give
    logp_old_CL: Tensor = LATER
    """Log-probability before the update, by the trainer; None takes the current pass."""
    logp_ref_CL: Tensor | None = None
    """Log-probability under the reference policy."""
    value_CL: Tensor | None = None
    """Value of the critic before each token."""

    # ---- What `advantages` gives
    advantage_CL: Tensor = LATER
    """Advantage of each token, a constant."""
    return_CL: Tensor | None = None
    """Target of the critic."""
    return_mask_CL: Tensor | None = None
    """Where the critic has a target."""

    # ---- What the pass with gradient gives, of a micro-batch
    logp_CL: Tensor = LATER
    """Log-probability of each token now."""
    entropy_CL: Tensor | None = None
    """Entropy at each token."""
    kl_magnet_CL: Tensor | None = None
    """Exact KL to the magnet at each token."""
    kl_reference_CL: Tensor | None = None
    """KL of whole distributions to the reference at each token."""
    statistics: Mapping[str, Tensor] = field(default_factory=dict)
    """Component of the loss -> what it found over the whole mini-batch, [C, L]."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """What components of the loss keep from update to update."""

    def __len__(self) -> int:
        """Return the number of contexts."""
        return len(self.policy_C)

    # ---- By hand

    @classmethod
    def from_lists(
        cls,
        rewards: Sequence[Sequence[float]],
        tokens: Sequence[Sequence[int]] | None = None,
        **keys: Sequence[int],
    ) -> Batch:
        """Build a batch with one reward component from a list of turn rewards per trajectory.

        `tokens` counts the response tokens of every turn, one each if not given. Missing keys are
        0, except `trajectory`, which counts up, and `agent`, which follows `seat`.

        Raises:
            ConfigError: The lists have different lengths.

        >>> batch = Batch.from_lists([[0.1, 1.0], [0.5]], tokens=[[2, 1], [3]])
        >>> batch.turn_of_BS.tolist()
        [[0, 0, 1], [0, 0, 0]]
        """
        tokens = [[1] * len(row) for row in rewards] if tokens is None else tokens
        if [len(row) for row in tokens] != [len(row) for row in rewards]:
            raise ConfigError("tokens must give one count for every turn reward")
        turn_of = [[t for t, n in enumerate(row) for _ in range(n)] for row in tokens]
        return cls.from_rewards(
            _filled(rewards, 0.0, torch.float64).unsqueeze(-1),
            ("reward",),
            _filled([[True] * len(row) for row in rewards], False, torch.bool),
            _filled(turn_of, -1, torch.int64),
            {name: torch.as_tensor(value, dtype=torch.int64) for name, value in keys.items()},
        )

    @classmethod
    def from_rewards(
        cls,
        reward_BTK: Tensor,
        components: tuple[str, ...],
        turn_mask_BT: Tensor,
        turn_of_BS: Tensor,
        keys: Mapping[str, Tensor],
        **rest: Any,
    ) -> Batch:
        """Build a batch in which every trajectory is one context; `rest` are further fields.

        Missing keys are 0, except `trajectory` and `agent`, see `Batch.from_lists`.
        """
        rows, mask_BS = len(reward_BTK), turn_of_BS >= 0
        every = {name: torch.zeros(rows, dtype=torch.int64) for name in KEYS}
        every["trajectory"] = torch.arange(rows)
        every |= keys
        return cls(
            reward_BTK=reward_BTK,
            components=components,
            turn_mask_BT=turn_mask_BT,
            turn_of_BS=turn_of_BS,
            keys=every if "agent" in keys else every | {"agent": every["seat"]},
            origin_B=tuple((b, "") for b in range(rows)),
            turns_B=((),) * rows,
            spans=(Span((), (), ()),) * rows,
            reference_spans=(Span((), (), ()),) * rows,
            choices=((),) * rows,
            span_C=torch.arange(rows),
            trajectory_C=torch.arange(rows),
            offset_C=torch.zeros(rows, dtype=torch.int64),
            policy_C=("",) * rows,
            mask_CL=mask_BS,
            turn_CL=turn_of_BS,
            role_CL=torch.where(mask_BS, 0, -1),
            roles=("",),
            **rest,
        )

    @classmethod
    def from_tokens(
        cls,
        logp: Sequence[Sequence[float]] | Tensor,
        advantage: Sequence[float] | Tensor | None = None,
        old: Sequence[Sequence[float]] | Tensor | None = None,
        **rest: Any,
    ) -> Batch:
        """Build a micro-batch of log-probabilities [C, L], to try a loss; `rest` are other fields.

        An advantage is one per context or per token, 1 where not given. `old` is as now where not
        given, the mask full, and there is one turn.

        >>> x = Batch.from_tokens([[-1.0, -2.0]], advantage=[0.5])
        >>> x.advantage_CL.tolist(), x.mask_CL.tolist()
        ([[0.5, 0.5]], [[True, True]])
        """
        logp_CL = torch.as_tensor(logp)
        old_CL = logp_CL.detach() if old is None else torch.as_tensor(old)
        a_CL = torch.ones(len(logp_CL)) if advantage is None else torch.as_tensor(advantage)
        if a_CL.ndim == 1:
            a_CL = a_CL.unsqueeze(1).expand_as(logp_CL)
        mask_CL = rest.pop("mask_CL", torch.ones_like(logp_CL, dtype=torch.bool))
        turn_CL = rest.pop("turn_CL", torch.where(mask_CL.bool(), 0, -1))
        rows = cls.from_rewards(
            torch.zeros(len(logp_CL), 1, 1),
            ("reward",),
            torch.ones(len(logp_CL), 1, dtype=torch.bool),
            turn_CL,
            {},
        )
        given = {
            "mask_CL": mask_CL,
            "logp_CL": logp_CL,
            "logp_old_CL": old_CL,
            "advantage_CL": a_CL,
        }
        return replace(rows, **given, **rest)

    # ---- Trajectories

    @property
    def token_mask_BS(self) -> Tensor:
        """True at response tokens, False at padding."""
        return self.turn_of_BS >= 0

    @property
    def real_B(self) -> Tensor:
        """True where a trajectory has a time-step."""
        return self.turn_mask_BT.any(1)

    def key_B(self, by: str) -> Tensor:
        """Return one int64 identity per trajectory; names joined by `+` give their combinations.

        Raises:
            UnknownNameError: There is no such key.

        >>> batch = Batch.from_lists([[1.0], [0.0], [1.0]], group=[7, 7, 8], seat=[0, 1, 0])
        >>> batch.key_B("group").tolist(), batch.key_B("group+seat").tolist()
        ([0, 0, 1], [0, 1, 2])
        """
        return combined(*(self.key_of(name) for name in by.split("+")))

    def key_of(self, name: str) -> Tensor:
        """Return one key as it is, not renumbered."""
        if name not in self.keys:
            raise unknown("trajectory key", name, self.keys)
        return self.keys[name]

    def component(self, name: str) -> int:
        """Return the place of a reward component among the K."""
        if name not in self.components:
            raise unknown("reward component", name, self.components)
        return self.components.index(name)

    def mark_BT(self, name: str) -> Tensor:
        """Return a mark of every time-step, NaN where it was not given.

        >>> Batch.from_lists([[1.0, 0.0]]).mark_BT("good").tolist()
        [[nan, nan]]
        """
        if self.mark_BTM is None or name not in self.marks:
            return torch.full(self.turn_mask_BT.shape, float("nan"), dtype=torch.float64)
        return self.mark_BTM[..., self.marks.index(name)]

    def rows(self, keep_B: Tensor) -> Batch:
        """Return some trajectories, with their contexts.

        >>> Batch.from_lists([[1.0], [0.0]]).rows(torch.tensor([False, True])).reward_BTK.flatten()
        tensor([0.], dtype=torch.float64)
        """
        of_C = keep_B[self.trajectory_C].nonzero().squeeze(-1)
        kept = replace(self.chosen(of_C), **self._cut("B", keep_B.nonzero().squeeze(-1)))
        number_B = keep_B.cumsum(0) - 1
        return replace(kept, trajectory_C=number_B[kept.trajectory_C])

    # ---- Contexts

    def written_by(self, policy: str) -> tuple[Batch, Tensor]:
        """Return the contexts of one parameter set, and their indices."""
        at = torch.tensor([i for i, p in enumerate(self.policy_C) if p == policy]).long()
        return (self if len(at) == len(self) else self.chosen(at)), at

    def said_as(self, roles: Collection[str]) -> Batch:
        """Return what was said in some roles: their contexts, with no other token to learn from."""
        wanted = [i for i, role in enumerate(self.roles) if role in roles]
        mask_CL = self.mask_CL & torch.isin(self.role_CL, torch.tensor(wanted, dtype=torch.int64))
        if torch.equal(mask_CL, self.mask_CL):
            return self
        return_mask_CL = None if self.return_mask_CL is None else self.return_mask_CL & mask_CL
        masked = replace(self, mask_CL=mask_CL, return_mask_CL=return_mask_CL)
        return masked.chosen(mask_CL.any(1).nonzero().squeeze(-1))

    def chosen(self, at: Tensor) -> Batch:
        """Return some contexts, in the order of their indices; trajectories stay as they are."""
        used, local = self.span_C[at].unique(return_inverse=True)
        of_spans = {n: tuple(getattr(self, n)[i] for i in used.tolist()) for n in _OF_SPANS}
        return replace(self, **self._cut("C", at) | of_spans | {"span_C": local})

    def as_reference_reads(self) -> Batch:
        """Return the same replies in the prompts that the reference reads."""
        return replace(self, spans=self.reference_spans)

    def micro(self, at: Tensor, logp_CL: Tensor, **given: Any) -> Batch:
        """Return contexts of a pass with its numbers: on its device, floats in its precision."""

        def moved(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            return value.to(logp_CL if value.is_floating_point() else logp_CL.device)

        cut = {name: moved(value) for name, value in self._cut("C", at).items()}
        return replace(self, **cut | {"logp_CL": logp_CL} | given)

    def by_turn(self) -> tuple[Batch, Tensor]:
        """Return the batch with every time-step as a trajectory of its own, and what each was.

        That is the old trajectory and its time-step, [U, 2]. Which of the S tokens of a trajectory
        are whose is not known of the batch: S is 0.
        """
        at_N, place_N = self.mask_CL.nonzero(as_tuple=True)
        turn_N = self.turn_CL[at_N, place_N]
        at_C, turn_C = torch.stack([at_N, turn_N], 1).unique(dim=0).unbind(1)
        apart = self.chosen(at_C)
        both_C2 = torch.stack([apart.trajectory_C, turn_C], 1)
        of_U2, trajectory_C = both_C2.unique(dim=0, return_inverse=True)
        mask_CL = apart.mask_CL & (apart.turn_CL == turn_C.unsqueeze(1))
        old_U, step_U = of_U2.unbind(1)
        alone = {
            name: value[torch.arange(len(of_U2)), step_U].unsqueeze(1)
            for name, value in self._cut("B", old_U).items()
            if name.rpartition("_")[2].startswith("BT")
        }
        rows = self._cut("B", old_U) | alone | {"turn_of_BS": old_U.new_zeros(len(of_U2), 0)}
        return replace(apart, **rows, mask_CL=mask_CL, trajectory_C=trajectory_C), of_U2

    def cut(self, value_BS: Tensor) -> Tensor:
        """Cut values of trajectories into contexts: [B, S] -> [C, L], 0 at padding."""
        length = self.mask_CL.shape[1]
        at_CL = self.offset_C[:, None] + torch.arange(length)
        at_CL = at_CL.clamp(max=value_BS.shape[1] - 1)
        return value_BS[self.trajectory_C[:, None], at_CL] * self.mask_CL

    def joined(self, value_CL: Tensor) -> Tensor:
        """Undo `cut`: [C, L] -> [B, S]; 0 for trajectories without contexts."""
        value_BS = value_CL.new_zeros(self.turn_of_BS.shape)
        at_CL = self.offset_C[:, None] + torch.arange(value_CL.shape[1])
        trajectory_CL = self.trajectory_C[:, None].expand_as(at_CL)
        mask_CL = self.mask_CL
        value_BS[trajectory_CL[mask_CL], at_CL[mask_CL]] = value_CL[mask_CL]
        return value_BS

    def logp_start_CL(self, option: str = "policy_loss") -> Tensor:
        """Return the log-probability before the update: the trainer's own, else the sampler's."""
        if self.logp_old_CL is None and self.logp_behaviour_CL is not None:
            return self.logp_behaviour_CL
        return self.needed("logp_old_CL", option)

    # ---- Checks

    def needed(self, name: str, option: str) -> Tensor:
        """Return an optional field; ConfigError where it is None and a component needs it."""
        tensor: Tensor | None = getattr(self, name)
        if tensor is None:
            raise ConfigError(f"{option!r} needs {name} in the batch")
        return tensor

    def checked(self) -> Batch:
        """Return the batch after a look at what advantages are made of.

        Raises:
            ConfigError: A shape or a dtype disagrees, a key is missing, padding is not on the
                right, or the reward of a real time-step is not finite.
        """
        _check_shapes(self)
        _check_keys(self)
        _check_turns(self)
        _check_rewards(self)
        return self

    def _cut(self, of: str, at: Tensor) -> dict[str, Any]:
        """Return the fields with an entry per trajectory (B) or per context (C), at some."""
        found: dict[str, Any] = {}
        for name, value in vars(self).items():
            if not name.rpartition("_")[2].startswith(of) or value is None:
                continue
            tensor = isinstance(value, Tensor)
            found[name] = value[at] if tensor else tuple(value[i] for i in at.tolist())
        if of == "B":
            found["keys"] = {name: key_B[at] for name, key_B in self.keys.items()}
        return found


_OF_SPANS = ("spans", "reference_spans", "choices")


def _filled(rows: Sequence[Sequence[Any]], fill: Any, dtype: torch.dtype) -> Tensor:
    width = max((len(row) for row in rows), default=0)
    table = [[*row, *[fill] * (width - len(row))] for row in rows]
    return torch.tensor(table, dtype=dtype).reshape(len(rows), width)


# ---- Checks ----------------------------------------------------------------------------------


def _check_shapes(batch: Batch) -> None:
    if batch.reward_BTK.ndim != 3 or batch.turn_of_BS.ndim != 2:
        raise ConfigError(
            f"reward_BTK has shape {tuple(batch.reward_BTK.shape)}, expected [B, T, K]; "
            f"turn_of_BS has shape {tuple(batch.turn_of_BS.shape)}, expected [B, S]"
        )
    rows, turns, _ = batch.reward_BTK.shape
    _expect("reward_BTK", batch.reward_BTK, (rows, turns, len(batch.components)), "float")
    _expect("turn_mask_BT", batch.turn_mask_BT, (rows, turns), "bool")
    _expect("turn_of_BS", batch.turn_of_BS, (rows, batch.turn_of_BS.shape[1]), "int64")
    for name in ("value_CL", "logp_old_CL", "logp_ref_CL"):
        _expect(name, getattr(batch, name), tuple(batch.mask_CL.shape), "float")
    _expect("baseline_B", batch.baseline_B, (rows,), "float")
    _expect("least_B", batch.least_B, (rows,), "float")
    _expect("most_B", batch.most_B, (rows,), "float")
    _expect("valid_B", batch.valid_B, (rows,), "bool")
    for name in ("state_BT", "action_BT", "role_BT", "place_BT"):
        _expect(name, getattr(batch, name), (rows, turns), "int64")
    _expect("mark_BTM", batch.mark_BTM, (rows, turns, len(batch.marks)), "float")
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


def _check_keys(batch: Batch) -> None:
    missing = sorted(set(KEYS) - set(batch.keys))
    if missing:
        raise ConfigError(f"keys lacks {', '.join(missing)}; every batch has {', '.join(KEYS)}")
    for name, key_B in batch.keys.items():
        _expect(f"keys[{name!r}]", key_B, (batch.reward_BTK.shape[0],), "int64")


def _check_turns(batch: Batch) -> None:
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


def _check_rewards(batch: Batch) -> None:
    bad_BTK = ~batch.reward_BTK.isfinite() & batch.turn_mask_BT.unsqueeze(-1)
    if not bool(bad_BTK.any()):
        return
    row, turn, component = (int(i) for i in bad_BTK.nonzero()[0])
    raise ConfigError(
        f"reward {batch.components[component]!r} of trajectory "
        f"{int(batch.keys['trajectory'][row])} (row {row}), turn {turn} is "
        f"{float(batch.reward_BTK[row, turn, component])}; rewards must be finite"
    )
