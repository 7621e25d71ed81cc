"""Our side of `train_throughput`: updates of the shipped loop; see `step_side`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from step_side import Case, Meter, model_of, read_case, reward, serve
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from coevo.agents.policy_maker import PolicyMaker
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.config import assign, config
from coevo.envs.core.episode import Episode
from coevo.envs.core.rewards import RewardModule, Table
from coevo.trainers import loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run import Run, start
from coevo.trainers.run_folder import RunFolder


@config
class Odd(RewardModule):
    """What both sides reward."""

    name: Literal["odd"] = "odd"
    per_turn = False

    def table(self, episodes: Sequence[Episode]) -> Table:
        """Reward every reply by its tokens."""
        return [[{t.agent: reward(t.token_ids or [])} for t in e.turns] for e in episodes]


class Given(PolicyMaker):
    """Makes policies of the one model of a case."""

    case: Case

    def _start(self, source: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        if source not in self._loaded:
            self._loaded[source] = model_of(self.case)
        return self._loaded[source]


def run_of(case: Case, folder: str) -> Run:
    """Return a run of a case."""
    settings = {
        "collect.episodes": case["episodes"],
        "collect.group_size": case["group"],
        "optim.lr": case["lr"],
        **case["settings"],
    }
    if case["lora"]:
        settings["population"] = {"name": "adapters", "rank": case["lora"], "alpha": 32}
    spec = replace(assign(algorithm("grpo"), settings), rewards=(Odd(),))
    given = TrainConfig(
        algorithm=spec,
        env=case["env"],
        env_options=case["options"],
        sampling=SamplingConfig(max_new_tokens=case["new"]),
        device=case["device"],
        dtype=case["dtype"],
        threads=case["threads"],
        steps=10**6,
    )
    maker = Given("starter", sampling=given.sampling, device=case["device"], dtype=case["dtype"])
    maker.case = case
    return start(given, RunFolder(folder), maker)


def main() -> None:
    """Take updates on demand."""
    case = read_case()
    with tempfile.TemporaryDirectory() as folder:
        run, meter = run_of(case, folder), Meter(case["device"])
        agents = run.population.learners.values()

        def step() -> dict[str, float]:
            written = sum(a.sampled_tokens for a in agents)
            meter.start()
            _, episodes = loop.update(run)
            written = sum(a.sampled_tokens for a in agents) - written
            turns = [t for e in episodes for t in e.turns]
            read = sum(len(t.prompt_ids or ()) for t in turns)
            found = meter.stop(written / len(turns), read / len(turns))
            run.progress = run.progress.plus(step=1)
            return found | {"samples": len(turns)}

        serve(step)


if __name__ == "__main__":
    main()
