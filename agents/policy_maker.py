"""Makes the policies of a run from start models, each of which is loaded once."""

from __future__ import annotations

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from coevo.agents.adapters import Adapter, adapted
from coevo.agents.copies import shared_copy
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import STARTER_MODEL, base_model, load_model
from coevo.agents.policy import Policy
from coevo.agents.sampling import SamplingConfig
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.envs.core.errors import ConfigError


class PolicyMaker:
    """Gives policies with start weights under a name.

    Args:
        source: start model where no other is named; `table` is an empty table of logits.
        sampling: of every policy.
        seed: of the start weights of adapters.
        device: where models are.
        trust_remote_code: run code that comes with a model.
    """

    def __init__(
        self,
        source: str,
        *,
        sampling: SamplingConfig | None = None,
        seed: int = 0,
        device: str = "auto",
        trust_remote_code: bool = False,
    ) -> None:
        self.source, self.sampling, self.seed = source, sampling, seed
        self.device, self.trust = device, trust_remote_code
        self._rows = Rows()
        self._loaded: dict[str, tuple[PreTrainedModel, PreTrainedTokenizerBase]] = {}

    def __call__(
        self,
        name: str,
        *,
        model: str | None = None,
        adapter: Adapter | None = None,
        learns: bool = True,
    ) -> Policy:
        """Make a policy.

        Args:
            name: of the parameter set.
            model: start model, if it is not that of the run.
            adapter: train this on the start model, whose weights are shared; None trains a copy.
            learns: False shares the start model as it is.
        """
        source = model or self.source
        if source == "table":
            if adapter is not None:
                raise ConfigError("a table has no layers to adapt; leave population.adapters out")
            return TabularPolicy(Table(), self._rows, name=name, sampling=self.sampling)
        start, tokenizer = self._start(source)
        if not learns:
            own = start
        elif adapter is None:
            own = shared_copy(start)
        else:
            place = str(STARTER_MODEL) if source == "starter" else base_model(source).source
            own = adapted(start, adapter, name=name, seed=self.seed, source=place)
        agent = LanguageModelAgent(own, tokenizer, name=name, sampling=self.sampling)
        if adapter is not None or not learns:
            agent.weights.base = base_model(source)
        return agent

    def _start(self, source: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        if source not in self._loaded:
            self._loaded[source] = load_model(
                source, device=self.device, trust_remote_code=self.trust
            )
        return self._loaded[source]
