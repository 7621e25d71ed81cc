"""What steps and learners read of an algorithm, so that they need not know its cycle."""

from __future__ import annotations

from typing import Protocol

from coevo.trainers.advantage import AdvantageConfig
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.learners.settings import Critic, Magnet, OptimConfig
from coevo.trainers.loss import LossConfig


class AlgorithmSettings(Protocol):
    """The settings of an algorithm; `Algorithm` documents each."""

    @property
    def collect(self) -> CollectConfig: ...
    @property
    def advantage(self) -> AdvantageConfig: ...
    @property
    def loss(self) -> LossConfig: ...
    @property
    def replay_loss(self) -> LossConfig | None: ...
    @property
    def magnet(self) -> Magnet | None: ...
    @property
    def ema(self) -> float: ...
    @property
    def critic(self) -> Critic | None: ...
    @property
    def optim(self) -> OptimConfig: ...
    @property
    def needs_greedy(self) -> bool: ...
    @property
    def needs_reference(self) -> bool: ...
    @property
    def moves_reference(self) -> bool: ...
