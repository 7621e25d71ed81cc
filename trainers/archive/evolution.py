"""Evolution strategies: points around a mean are tried, and the mean moves to where it went well.

A strategy is pure: its state is a table of tensors, which lies in the archive as a genome.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from coevo.envs.core.config import choice, config, real

State = dict[str, Tensor]
"""`mean_D`, `sigma`, `generation`, and what else a strategy remembers."""


@config
class Antithetic:
    """Plain evolution strategy: mean <- mean + rate / N sum_i z(R_i) eps_i, eps in pairs +-.

    z is the fitness of a generation, minus its mean, over its deviation (Salimans et al. 2017,
    arXiv 1703.03864; as in Qiu et al. 2025, arXiv 2509.24372).
    """

    name: Literal["antithetic"] = "antithetic"
    sigma: Annotated[float, real(above=0)] = 0.1
    """Deviation of the points from the mean."""
    rate: Annotated[float, real(above=0)] = 0.1
    """Length of a step."""

    def begin(self, mean_D: Tensor) -> State:
        """Return the state before the first generation."""
        return {"mean_D": mean_D, "sigma": torch.tensor(self.sigma, dtype=mean_D.dtype)}

    def ask(self, state: Mapping[str, Tensor], count: int, draw: torch.Generator) -> Tensor:
        """Return the points of a generation, [N, D]."""
        shape = (math.ceil(count / 2), len(state["mean_D"]))
        half_ND = torch.randn(shape, generator=draw, dtype=state["mean_D"].dtype)
        eps_ND = torch.stack([half_ND, -half_ND], 1).flatten(0, 1)[:count]
        return state["mean_D"] + state["sigma"] * eps_ND

    def tell(self, state: Mapping[str, Tensor], x_ND: Tensor, fitness_N: Tensor) -> State:
        spread = fitness_N.std(correction=0)
        if spread == 0:
            return dict(state)
        z_N = (fitness_N - fitness_N.mean()) / spread
        eps_ND = (x_ND - state["mean_D"]) / state["sigma"]
        return {**state, "mean_D": state["mean_D"] + self.rate * (z_N @ eps_ND) / len(z_N)}


@config
class CmaEs:
    """CMA-ES (Hansen 2016, arXiv 1604.00772, figure 6), positive weights only.

    It learns the covariance and the length of its steps. The covariance is a full matrix: for
    genomes of up to some thousand numbers.
    """

    name: Literal["cma_es"] = "cma_es"
    sigma: Annotated[float, real(above=0)] = 0.1
    """Length of the first steps."""

    def begin(self, mean_D: Tensor) -> State:
        zero_D, dtype = torch.zeros_like(mean_D), mean_D.dtype
        return {
            "mean_D": mean_D,
            "sigma": torch.tensor(self.sigma, dtype=dtype),
            "covariance_DD": torch.eye(len(mean_D), dtype=dtype),
            "path_D": zero_D,
            "path_sigma_D": zero_D.clone(),
            "generation": torch.tensor(0.0, dtype=dtype),
        }

    def ask(self, state: Mapping[str, Tensor], count: int, draw: torch.Generator) -> Tensor:
        basis_DD, scale_D = _axes(state["covariance_DD"])
        z_ND = torch.randn(count, len(scale_D), generator=draw, dtype=scale_D.dtype)
        return state["mean_D"] + state["sigma"] * (z_ND * scale_D) @ basis_DD.T

    def tell(self, state: Mapping[str, Tensor], x_ND: Tensor, fitness_N: Tensor) -> State:
        """Return the state after a generation; equal fitness everywhere teaches nothing."""
        if fitness_N.max() == fitness_N.min():
            return dict(state)
        d, count = len(state["mean_D"]), len(fitness_N)
        weight_M, mu = _weights(count, x_ND.dtype)
        c_sigma = (mu + 2) / (d + mu + 5)
        damping = 1 + 2 * max(0.0, math.sqrt((mu - 1) / (d + 1)) - 1) + c_sigma
        c_c = (4 + mu / d) / (d + 4 + 2 * mu / d)
        c_1 = 2 / ((d + 1.3) ** 2 + mu)
        c_mu = min(1 - c_1, 2 * (mu - 2 + 1 / mu) / ((d + 2) ** 2 + mu))
        length = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))  # E |N(0, I)|
        best_M = fitness_N.argsort(descending=True, stable=True)[: len(weight_M)]
        y_MD = (x_ND[best_M] - state["mean_D"]) / state["sigma"]
        y_D = weight_M @ y_MD
        basis_DD, scale_D = _axes(state["covariance_DD"])
        white_D = basis_DD @ ((basis_DD.T @ y_D) / scale_D)
        path_sigma_D = (1 - c_sigma) * state["path_sigma_D"]
        path_sigma_D = path_sigma_D + math.sqrt(c_sigma * (2 - c_sigma) * mu) * white_D
        generation = float(state["generation"]) + 1
        grown = math.sqrt(1 - (1 - c_sigma) ** (2 * generation))
        walks = float(path_sigma_D.norm()) / grown < (1.4 + 2 / (d + 1)) * length
        path_D = (1 - c_c) * state["path_D"] + walks * math.sqrt(c_c * (2 - c_c) * mu) * y_D
        kept = 1 - c_1 - c_mu + (0.0 if walks else c_1 * c_c * (2 - c_c))
        covariance_DD = kept * state["covariance_DD"] + c_1 * path_D.outer(path_D)
        covariance_DD = covariance_DD + c_mu * (y_MD.T * weight_M) @ y_MD
        grows = (c_sigma / damping) * (path_sigma_D.norm() / length - 1)
        return {
            "mean_D": state["mean_D"] + state["sigma"] * y_D,
            "sigma": state["sigma"] * grows.exp(),
            "covariance_DD": (covariance_DD + covariance_DD.T) / 2,
            "path_D": path_D,
            "path_sigma_D": path_sigma_D,
            "generation": torch.tensor(generation, dtype=x_ND.dtype),
        }


def _weights(count: int, dtype: torch.dtype) -> tuple[Tensor, float]:
    """Return the weights of the better half, the best first, and their effective number."""
    rank_M = torch.arange(1, max(count // 2, 1) + 1, dtype=dtype)
    weight_M = math.log((count + 1) / 2) - rank_M.log()
    weight_M = weight_M / weight_M.sum() if len(weight_M) > 1 else torch.ones(1, dtype=dtype)
    return weight_M, float(1 / weight_M.square().sum())


def _axes(covariance_DD: Tensor) -> tuple[Tensor, Tensor]:
    """Return the axes of a covariance as columns, and the deviations along them."""
    value_D, basis_DD = torch.linalg.eigh(covariance_DD)
    return basis_DD, value_D.clamp(min=1e-20).sqrt()


Strategy = Annotated[CmaEs | Antithetic, choice()]
