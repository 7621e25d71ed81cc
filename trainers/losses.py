"""Losses of what an update learns from, mixed at will in the step `update`.

`Policy` reads the algorithm's setting `loss`, whose components are in `coevo.trainers.components`.
The others read items: pairs, demonstrations and failures; what a reward head is fitted to. A loss
gives one number per item, and what those numbers are divided by.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

from coevo.agents.engines.scoring import InnerLayer
from coevo.envs.core.config import choice, config, real, whole
from coevo.trainers.items import ItemInputs


@config
class ItemLoss:
    """Base of the losses of items; subclasses give `kind`, a name and the formula."""

    kind: ClassVar[str] = ""
    """Which items it learns from."""
    needs_reference: ClassVar[bool] = False
    """Whether it reads log-probabilities of the reference policy."""
    moves_policy: ClassVar[bool] = True
    """Whether the policy learns from it."""
    reads_rewards: ClassVar[bool] = False
    """Whether it reads what the reward head says of a reply, not how likely the reply is."""
    weight: Annotated[float, real(above=0)] = 1.0
    """Factor on the loss, where an update mixes several."""

    @property
    def inner(self) -> InnerLayer | None:
        """Layer whose policy learns from it; None for the whole policy."""
        return None

    @property
    def tag(self) -> str:
        """Begins its names in the log."""
        return str(getattr(self, "name", ""))

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every item, [N]."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__")  # abstract

    def of_tokens(self, logp_CL: Tensor, logp_ref_CL: Tensor | None) -> Tensor | None:
        """Return what every token costs by itself, for losses that read `x.token_cost_NK`."""
        return None

    def size(self, x: ItemInputs) -> Tensor:
        """Return what every item counts in the denominator of the update, [N]: 1 each."""
        return torch.ones_like(x.logp_NK[:, 0])

    def stats(self, x: ItemInputs) -> dict[str, Tensor]:
        """Return what to log beside the loss: a value per item, averaged over the update."""
        return {"chosen": x.logp_NK[:, 0]}


@config
class FailureLoss(ItemLoss):
    """Base of the losses of what must not be done again."""

    kind: ClassVar[str] = "failures"

    def stats(self, x: ItemInputs) -> dict[str, Tensor]:
        """Return the log-probability of every failure."""
        return {"rejected": x.logp_NK[:, 0]}


@config
class PairLoss(ItemLoss):
    """Base of the losses of pairs: column 0 is preferred to column 1."""

    kind: ClassVar[str] = "pairs"

    def stats(self, x: ItemInputs) -> dict[str, Tensor]:
        """Return log-probabilities of both, and whether the preferred one has gained."""
        found = {"chosen": x.logp_NK[:, 0], "rejected": x.logp_NK[:, 1]}
        if x.logp_ref_NK is not None:
            gain_NK = x.log_ratio_NK
            found["accuracy"] = (gain_NK[:, 0] > gain_NK[:, 1]).to(gain_NK)
        return found


@config
class Policy(ItemLoss):
    """The policy-gradient loss of the setting `loss`, on sequences with advantages."""

    kind: ClassVar[str] = "advantages"
    name: Literal["policy"] = "policy"


@config
class InnerPolicy(Policy):
    """The policy-gradient loss on an inner layer: pi_l = softmax(E h_l), E the output layer.

    Source: bottom-up policy optimisation (BuPO), arXiv 2512.19673.

    Tokens were drawn by the whole policy; log-probabilities are those of the layer, before and
    after, so that the ratio is 1 at the one step that is taken. Layers above it get no gradient.
    """

    name: Literal["inner_policy"] = "inner_policy"  # type: ignore[assignment]
    layer: Annotated[int, whole(0)] = 1
    """Number of the layer, from 1; 0 is the whole policy."""
    norm: Literal["none", "final"] = "none"
    """Whether the model's last norm is applied to the states of the layer."""

    @property
    def inner(self) -> InnerLayer | None:
        return InnerLayer(self.layer, self.norm == "final") if self.layer else None


@config
class Values(ItemLoss):
    """The loss of the critic alone, on sequences with advantages; the policy stays as it is."""

    kind: ClassVar[str] = "advantages"
    moves_policy: ClassVar[bool] = False
    name: Literal["values"] = "values"


@config
class Dpo(PairLoss):
    """-log sigmoid(beta (D_w - D_l)) with D = log pi / pi_ref of a whole reply.

    Source: Rafailov et al. 2023, arXiv 2305.18290, eq. 7.

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
    >>> round(float(Dpo()(x)), 4)
    0.6931
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["dpo"] = "dpo"
    beta: Annotated[float, real(above=0)] = 0.1
    """Strength of the pull to the reference."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        d_NK = x.log_ratio_NK
        return -logsigmoid(self.beta * (d_NK[:, 0] - d_NK[:, 1]))


@config
class Ipo(PairLoss):
    """((D_w - D_l) - 1 / (2 beta))^2 with D = log pi / pi_ref.

    Source: Azar et al. 2023, arXiv 2310.12036, eq. 17.

    The paper sums over the tokens of a reply; TRL takes their mean, `per="token"`, since a gap of
    fixed size is soon reached by long replies.

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
    >>> float(Ipo(beta=0.5)(x))
    1.0
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["ipo"] = "ipo"
    beta: Annotated[float, real(above=0)] = 0.1
    """Regularisation; the gap aimed at is 1 / (2 beta)."""
    per: Literal["reply", "token"] = "reply"
    """Whether D is a sum over the reply or a mean over its tokens."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        d_NK = x.log_ratio_NK if self.per == "reply" else x.log_ratio_NK / x.tokens_NK
        return (d_NK[:, 0] - d_NK[:, 1] - 1 / (2 * self.beta)) ** 2


@config
class Rpo(PairLoss):
    """-log sigmoid(beta (D_w - D_l)) - eta beta log pi(w): DPO and imitation of what is preferred.

    Source: Liu et al. 2024, arXiv 2405.16436.

    `per="reply"` sums the log-probability over the reply, as the released code for chats has it;
    `per="token"` takes its mean, without the factor beta, as OpenRLHF and Optima have it: one eta
    does not fit both, they differ by about beta times the length of a reply.

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
    >>> round(float(Rpo()(x)), 4)
    0.6931
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["rpo"] = "rpo"
    beta: Annotated[float, real(above=0)] = 0.1
    """Strength of the pull to the reference."""
    eta: Annotated[float, real(0)] = 0.005
    """Weight of imitation; 0 is DPO."""
    per: Literal["reply", "token"] = "reply"
    """What is imitated: the reply as a whole, or its mean token."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        d_NK = x.log_ratio_NK
        nll_N = -self.beta * x.logp_NK[:, 0]
        if self.per == "token":
            nll_N = -x.logp_NK[:, 0] / x.tokens_NK[:, 0]
        return -logsigmoid(self.beta * (d_NK[:, 0] - d_NK[:, 1])) + self.eta * nll_N


@config
class Simpo(PairLoss):
    """-log sigmoid(beta (log pi(w) / |w| - log pi(l) / |l|) - margin), |y| tokens of y.

    Source: Meng et al. 2024, arXiv 2405.14734, eq. 6.

    >>> import torch
    >>> x = ItemInputs(torch.tensor([[-2.0, -4.0]]), torch.tensor([[1.0, 2.0]]), torch.zeros(1, 2))
    >>> round(float(Simpo(margin=0.0)(x)), 4)
    0.6931
    """

    name: Literal["simpo"] = "simpo"
    beta: Annotated[float, real(above=0)] = 2.0
    """Scale of the difference of the means."""
    margin: Annotated[float, real(0)] = 1.0
    """By how much, after scaling, the preferred reply is to be ahead (published: 0.5 to 1.6)."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        mean_NK = x.logp_NK / x.tokens_NK
        return -logsigmoid(self.beta * (mean_NK[:, 0] - mean_NK[:, 1]) - self.margin)


@config
class Sppo(PairLoss):
    """1/2 sum over both replies of (D - (P - 1/2) / beta)^2, D = log pi / pi_t, P the win rate.

    Source: Wu et al. 2024, arXiv 2405.00675.

    pi_t is the reference: the policy that the replies were drawn from. The exponential-weights step
    pi ~ pi_t exp(P / beta) has loss 0 up to its normaliser, which is taken for exp(1 / (2 beta)).

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.ones(1, 2), torch.zeros(1, 2))
    >>> float(Sppo(beta=0.5)(x))
    1.0
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["sppo"] = "sppo"
    beta: Annotated[float, real(above=0)] = 0.01
    """1 / step size of exponential weights."""
    hard: bool = False
    """Whether the preferred reply counts as winning always (P = 1), the other as never (P = 0)."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        p_NK = torch.tensor([1.0, 0.0]).to(x.worth_NK) if self.hard else x.worth_NK
        return ((x.log_ratio_NK - (p_NK - 0.5) / self.beta) ** 2).sum(1) / 2


@config
class Dno(PairLoss):
    """-p log sigmoid(d) - (1 - p) log sigmoid(-d): regression on win rates, by cross entropy.

    Source: Rosset et al. 2024, arXiv 2404.03715, algorithm 1.

    d = eta (D_1 - D_2) with D = log pi / pi_t, and p = sigmoid(r_1 - r_2) of the expected win rates
    r against pi_t. Where it is lowest, pi ~ pi_t exp(r / eta).

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2), torch.zeros(1, 2))
    >>> round(float(Dno()(x)), 4)
    0.6931
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["dno"] = "dno"
    eta: Annotated[float, real(above=0)] = 0.5
    """Regularisation of a step; large is slow."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        d_NK, r_NK = x.log_ratio_NK, x.worth_NK
        d_N = self.eta * (d_NK[:, 0] - d_NK[:, 1])
        p_N = (r_NK[:, 0] - r_NK[:, 1]).sigmoid()
        return -p_N * logsigmoid(d_N) - (1 - p_N) * logsigmoid(-d_N)


@config
class Sft(ItemLoss):
    """-log pi(y), over the number of tokens (`per="token"`) or of replies of the whole update.

    >>> import torch
    >>> x = ItemInputs(torch.tensor([[-3.0]]), torch.tensor([[2.0]]), torch.zeros(1, 1))
    >>> float(Sft()(x)), float(Sft().size(x)), float(Sft(per="reply").size(x))
    (3.0, 2.0, 1.0)
    """

    kind: ClassVar[str] = "demonstrations"
    name: Literal["sft"] = "sft"
    per: Literal["token", "reply"] = "token"
    """What weighs alike."""

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the negative log-likelihood of every demonstration."""
        return -x.logp_NK[:, 0]

    def size(self, x: ItemInputs) -> Tensor:
        """Return the tokens of every demonstration, or 1."""
        return x.tokens_NK[:, 0] if self.per == "token" else super().size(x)


@config
class Adversarial(FailureLoss):
    """-log sigmoid(-D) = log(1 + pi / pi_ref) of a failure, D = log pi / pi_ref.

    Source: Sun et al. 2025, SEAgent, arXiv 2508.04700.

    Unlike the log-likelihood it is bounded below: its slope, sigmoid(D), fades where a reply has
    become unlikely, and so does the harm to others. `per="reply"` is the formula, D that of the
    whole reply; `per="token"` is the mean over tokens of the released code (SunzeY/SEAgent at
    c8887f1, trainer/grpo_trainer.py, which by an index loses the first token). Published weight of
    the loss beside GRPO on what was good: 0.2.

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 1), torch.ones(1, 1), torch.zeros(1, 1), torch.zeros(1, 1))
    >>> round(float(Adversarial()(x)), 4)
    0.6931
    """

    needs_reference: ClassVar[bool] = True
    name: Literal["adversarial"] = "adversarial"
    per: Literal["reply", "token"] = "reply"
    """What is compared with the reference: the reply as a whole, or each token."""

    def of_tokens(self, logp_CL: Tensor, logp_ref_CL: Tensor | None) -> Tensor | None:
        """Return the loss of every token."""
        if self.per == "reply":
            return None
        assert logp_ref_CL is not None  # the loss declares that it needs a reference
        return softplus(logp_CL - logp_ref_CL)

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every failure."""
        if self.per == "token":
            return x.token_cost_NK[:, 0]
        return softplus(x.log_ratio_NK[:, 0])

    def size(self, x: ItemInputs) -> Tensor:
        """Return the tokens of every failure, or 1."""
        return x.tokens_NK[:, 0] if self.per == "token" else super().size(x)


@config
class Unlikelihood(FailureLoss):
    """-sum over tokens of log(1 - pi(y_t)), over the tokens of the whole update.

    Source: Welleck et al. 2020, arXiv 1908.04319, eq. 4.

    It needs no reference, and vanishes where every token has become unlikely. A token that was the
    only one allowed costs nothing: there was no choice.

    >>> x = ItemInputs(
    ...     *(torch.ones(1, 1) for _ in range(3)), cost_NK=torch.tensor([[1.5]])
    ... )
    >>> float(Unlikelihood()(x))
    1.5
    >>> Unlikelihood().of_tokens(torch.tensor([[0.5, 1.0]]).log(), None).tolist()
    [[0.6931471824645996, 0.0]]
    """

    name: Literal["unlikelihood"] = "unlikelihood"

    def of_tokens(self, logp_CL: Tensor, logp_ref_CL: Tensor | None) -> Tensor:
        """Return the loss of every token."""
        open_CL = logp_CL < 0
        safe_CL = torch.where(open_CL, logp_CL, -1.0)  # else the slope of what is closed is none
        return torch.where(open_CL, -(-safe_CL.expm1()).log(), 0.0)

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every failure."""
        return x.token_cost_NK[:, 0]

    def size(self, x: ItemInputs) -> Tensor:
        """Return the tokens of every failure."""
        return x.tokens_NK[:, 0]


@config
class BradleyTerry(ItemLoss):
    """-log sigmoid(f(better) - f(worse)), over the number of pairs.

    Source: Bradley & Terry 1952; Ouyang et al. 2022, eq. 1.

    >>> import torch
    >>> x = ItemInputs(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2))
    >>> round(float(BradleyTerry()(x)), 4)
    0.6931
    """

    kind: ClassVar[str] = "reward_pairs"
    reads_rewards: ClassVar[bool] = True
    name: Literal["bradley_terry"] = "bradley_terry"

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every pair."""
        return -logsigmoid(x.reward_NK[:, 0] - x.reward_NK[:, 1])

    def stats(self, x: ItemInputs) -> dict[str, Tensor]:
        """Return how far the better reply is ahead, and how often."""
        gap_N = x.reward_NK[:, 0] - x.reward_NK[:, 1]
        return {"gap": gap_N, "accuracy": (gap_N > 0).to(gap_N)}


@config
class ValueRegression(ItemLoss):
    """(f(y) - r)^2 / 2, over the number of replies; its minimum is the mean of r.

    >>> import torch
    >>> x = ItemInputs(torch.tensor([[3.0]]), torch.ones(1, 1), torch.tensor([[1.0]]))
    >>> float(ValueRegression()(x))
    2.0
    """

    kind: ClassVar[str] = "reward_targets"
    reads_rewards: ClassVar[bool] = True
    name: Literal["value_regression"] = "value_regression"

    def __call__(self, x: ItemInputs) -> Tensor:
        """Return the loss of every reply."""
        return ((x.reward_NK[:, 0] - x.worth_NK[:, 0]) ** 2) / 2

    def stats(self, x: ItemInputs) -> dict[str, Tensor]:
        """Return what the head gives and what it should."""
        return {"predicted": x.reward_NK[:, 0], "target": x.worth_NK[:, 0]}


Loss = Annotated[
    Policy
    | InnerPolicy
    | Values
    | Dpo
    | Ipo
    | Rpo
    | Simpo
    | Sppo
    | Dno
    | Sft
    | Adversarial
    | Unlikelihood
    | BradleyTerry
    | ValueRegression,
    choice(),
]
"""What an update minimises, one for each kind of items that it learns from."""
