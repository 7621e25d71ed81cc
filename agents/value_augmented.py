"""Value-augmented sampling: a policy plays as its critic advises, and no weight moves.

`value_augmented:RUN` is the policy of a run with a value critic; `value_augmented:10:RUN` follows
the critic with strength 10. `coevo train value_augmented` trains such a critic on plays of a policy
that does not learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from coevo.agents.engines.logit_processors import LogitProcessor, ValueAugmented
from coevo.agents.engines.prefix_sharing import rows_of
from coevo.agents.engines.scoring import Span, micro_batches, score
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_model
from coevo.agents.models.folders import model_folder
from coevo.agents.sampling import Ids
from coevo.envs.core.errors import ConfigError, DataError, legible

HEAD = "head.tensors"
"""File of a critic beside the weights of its policy, in a checkpoint."""
BETA = 3.0


REMEMBERED = 4096
"""Contexts of which values are remembered."""


class ValueAugmentedAgent(LanguageModelAgent):
    """A language model whose likeliest tokens are weighed by a critic.

    Args:
        model: the base policy.
        tokenizer: its own.
        head: linear critic on its last hidden state.
        beta: strength of the critic.
        common: arguments of `LanguageModelAgent`.
    """

    def __init__(
        self, model: Any, tokenizer: Any, head: nn.Module, beta: float = BETA, **common: Any
    ) -> None:
        self.head, self.beta = head, beta
        self._known: dict[Ids, float] = {}
        super().__init__(model, tokenizer, **common)

    @property
    def processors(self) -> tuple[LogitProcessor, ...]:
        return (*super().processors, ValueAugmented(self.values, self.beta))

    @torch.no_grad()
    def values(self, contexts: Sequence[Ids]) -> Tensor:
        """Return the critic's values; a reply that has ended is worth what it was before its end.

        The critic has never seen an end token: it was fitted before tokens of replies.
        """
        asked = [c[:-1] if c[-1] in self.tokens.end_ids else c for c in contexts]
        if len(self._known) > REMEMBERED:
            self._known.clear()
        new = [c for c in dict.fromkeys(asked) if c not in self._known]
        spans = [Span((*c, 0), (len(c),), (len(c) + 1,)) for c in new]
        rows = rows_of(self.model, spans)
        for batch in micro_batches([row.length for row in rows], self.sampling.token_budget):
            members = [rows[b].members for b in batch]
            cut = [range(*ends) for ends in pairwise([0, *accumulate(map(len, members))])]
            here = list(chain.from_iterable(members))
            scored = score(self.model, [spans[i] for i in here], rows=cut, hidden=True)
            assert scored.hidden_NH is not None  # asked for
            found = self.head(scored.hidden_NH).squeeze(-1).tolist()
            self._known |= {new[i]: value for i, value in zip(here, found, strict=True)}
        return torch.tensor([self._known[c] for c in asked])


def load(name: str, *, sampling: Any, seed: int, device: str) -> ValueAugmentedAgent:
    """Load `RUN` or `BETA:RUN`.

    Raises:
        ConfigError: the strength is no number that is at least 0.
        DataError: the run has no value critic.
    """
    beta, colon, source = name.partition(":")
    if not colon:
        beta, source = str(BETA), name
    try:
        strength = float(beta)
    except ValueError:
        strength = -1.0
    if not 0 <= strength < float("inf"):
        raise ConfigError(f"value_augmented:{name}: {beta!r} must be a number of at least 0")
    folder = model_folder(source)
    if not (folder / HEAD).is_file():
        raise DataError(
            f"{source} holds no critic; train one: coevo train value_augmented --model {source}"
        )
    model, tokenizer = load_model(source, device=device)
    with legible(folder / HEAD):
        tensors = load_file(Path(folder) / HEAD)
        head = nn.Linear(int(model.config.get_text_config().hidden_size), 1).to(model.device)
        head.load_state_dict(tensors)
    return ValueAugmentedAgent(
        model,
        tokenizer,
        head,
        strength,
        name=f"value_augmented:{name}",
        sampling=sampling,
        seed=seed,
    )
