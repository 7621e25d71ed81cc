"""Makes the policies of a run from start models, each of which is loaded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import nn

from coevo.agents.engines.engine import Engine
from coevo.agents.engines.settings import EngineConfig, Torch
from coevo.agents.engines.torch_engine import TorchEngine
from coevo.agents.engines.vllm_engine import VllmEngine
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_model
from coevo.agents.models.adapters import Adapter, adapted
from coevo.agents.models.copies import shared_copy
from coevo.agents.models.folders import STARTER_MODEL, base_model, is_made, whole_model
from coevo.agents.models.nets import Net, NetShape, is_net, net_settings
from coevo.agents.net_policy import NetPolicy
from coevo.agents.policy import Policy
from coevo.agents.sampling import SamplingConfig
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.envs.core.errors import ConfigError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class PolicyMaker:
    """Gives policies with start weights under a name.

    Args:
        source: start model where no other is named; `table` is an empty table of logits, `net` a
            small network over arrays.
        sampling: of every policy.
        seed: of the start weights of adapters and networks.
        device: where models are.
        trust_remote_code: run code that comes with a model.
        engine: where tokens come from; None runs the models themselves.
        dtype: of the weights.
        shape: returns what a network reads and says; None where no environment is known.
    """

    def __init__(
        self,
        source: str,
        *,
        sampling: SamplingConfig | None = None,
        seed: int = 0,
        device: str = "auto",
        trust_remote_code: bool = False,
        engine: EngineConfig | None = None,
        dtype: str = "float32",
        shape: Callable[[], NetShape] | None = None,
    ) -> None:
        self.dtype: torch.dtype = getattr(torch, dtype)
        self.source, self.sampling, self.seed = source, sampling, seed
        self.device, self.trust = device, trust_remote_code
        self.engine = engine or Torch()
        self._engines: dict[str, Engine] = {}
        self._rows, self._shape = Rows(), shape
        self._loaded: dict[str, tuple[PreTrainedModel, PreTrainedTokenizerBase]] = {}

    def __call__(
        self,
        name: str,
        *,
        model: str | None = None,
        adapter: Adapter | None = None,
        learns: bool = True,
        plays: bool = True,
    ) -> Policy:
        """Make a policy, of another start model than the run's where one is given.

        With an adapter that alone is trained, and the start model is shared; without one a copy is
        trained, or with `learns=False` the start model is shared as it is. With `plays=False` it
        scores and is never asked, so that it needs no server.
        """
        source = model or self.source
        if is_made(source):
            if adapter is not None:
                raise ConfigError(f"a {source} takes no adapter; leave population.adapters out")
            if not isinstance(self.engine, Torch):
                raise ConfigError(f"engine={self.engine.name!r} runs no {source}; leave it out")
            return self._made(source, name)
        start, tokenizer = self._start(source)
        if not learns:
            own = start
        elif adapter is None:
            own = shared_copy(start)
        else:
            place = str(STARTER_MODEL) if source == "starter" else base_model(source).source
            own = adapted(start, adapter, name=name, seed=self.seed, source=place)
        engine = self._engine(source) if plays else None
        agent = LanguageModelAgent(own, tokenizer, name=name, sampling=self.sampling, engine=engine)
        if adapter is not None or not learns:
            agent.weights.base = base_model(source)
        return agent

    def _made(self, source: str, name: str) -> Policy:
        """Return a table, or a network as all of its name start in this run."""
        if not is_net(source):
            return TabularPolicy(Table(), self._rows, name=name, sampling=self.sampling)
        if self._shape is None:
            raise ConfigError(f"{source!r} is made for an environment, and none is known here")
        net = Net(net_settings(source), self._shape(), self.seed)
        return NetPolicy(net, name=name, sampling=self.sampling)

    def _engine(self, source: str) -> Engine:
        """Return the engine of a policy; vLLM is shared by those of one start model."""
        if isinstance(self.engine, Torch):
            return TorchEngine(self.engine)
        if source not in self._engines:
            if self._engines and self.engine.gives_way and not self.engine.own_process:
                raise ConfigError(
                    f"engine.{self.engine.gives_way}: start models {next(iter(self._engines))} and "
                    f"{source} have an engine each, and only one in a process can sleep; set "
                    "engine.own_process=true"
                )
            self._engines[source] = VllmEngine(whole_model(source), self.engine)
        return self._engines[source]

    def _start(self, source: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        if source not in self._loaded:
            model, tokenizer = load_model(source, device=self.device, trust_remote_code=self.trust)
            module: nn.Module = model  # whose `to` takes a type, says mypy
            module.to(self.dtype)
            self._loaded[source] = model, tokenizer
        return self._loaded[source]
