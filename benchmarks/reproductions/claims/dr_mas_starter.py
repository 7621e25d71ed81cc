"""Dr. MAS with the language model that ships with the package, on a team that searches."""

from collections.abc import Iterator, Mapping
from statistics import fmean, median

from coevo.agents.agent import Agent
from coevo.agents.models.seated import stream_seed
from coevo.agents.population import Separate
from coevo.agents.sampling import SamplingConfig
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

ENV, UPDATES = "coevo/search_router-v0", 40
SEATS = ("router_0", "searcher_0", "answerer_0")
HELD_OUT, FAR = 300, 2**30
"""Episodes of an evaluation, and the first of their seeds: far from those that runs draw."""
LABELS = {"pooled": "pooled", "own": "per agent"}


def _accuracy(policies: Mapping[str, Agent], seed: int) -> float:
    for number, agent in enumerate(policies.values()):
        agent.reseed(stream_seed(seed, number))
        agent.forget()
    players = {seat: seat for seat in policies}
    matches = [EpisodeSpec(FAR + i, players, stream=i) for i in range(HELD_OUT)]
    episodes = rollout(ENV, matches, policies, {"prompt_style": "terse"})
    return fmean(e.total(e.agents[0], "payoff") for e in episodes)


def _measure(end: Trained) -> dict[str, float]:
    found = {"accuracy": _accuracy(end.run.policies(), end.seed)}
    for seat in SEATS if end.log else ():
        # a seat that is seldom asked has a median of 0, which is left out
        moved = [norm for update in end.log if (norm := update.get(f"{seat}/grad_norm", 0.0)) > 0]
        found |= {
            f"{seat}_spike": max(moved) / median(moved) if moved else 0.0,
            f"{seat}_asked": end.last(10, f"invocation/{seat}"),
            f"{seat}_unread": end.last(10, f"parse_fail/{seat}"),
        }
    return found


def _rows() -> Iterator[Expect]:
    for seat in SEATS:
        for arm, label in LABELS.items():
            yield Expect(f"{seat}: peak / median norm, {label}", f"{arm}.{seat}_spike")
    for seat in SEATS:
        yield Expect(f"{seat}: share of the replies, per agent", f"own.{seat}_asked")
        yield Expect(f"{seat}: replies not read, per agent", f"own.{seat}_unread")


CLAIM = Claim(
    property="""A team of language models learns with statistics per agent no worse than with pooled
        ones; the norms of its gradients stand beside each other.""",
    source="""Feng et al. 2026, Dr. MAS, arXiv 2602.08847 (search orchestration: agent-wise
        statistics against global ones); bounds are ours""",
    minutes=8,
    on="model",
    setting="""`coevo/search_router-v0` in terse prompts: router, searcher and answerer with a copy
        of the starter model each. `dr_mas` with statistics per start and agent, and its variant
        `pooled`, from the same start and on the same questions; 8 questions times 8 episodes per
        update, 40 updates. Of the seeds that are given the first two are run: a run trains for
        minutes.""",
    measured="""Per agent, the gradient norm over the updates: its peak over its median. Accuracy on
        questions that no run has seen, before and after; how often each agent is asked, and how
        many of its replies cannot be read, over the last ten updates.""",
    chosen="""Settings and bounds: the paper has no figure at this size. Statistics per start calm
        nothing in the tables of `dr_mas_spikes`, so the norms are reported and not asserted.""",
    world=World(
        ENV, UPDATES, settings={"model": "starter", "sampling": SamplingConfig(max_new_tokens=16)}
    ),
    changes={
        "population": Separate(),
        "collect.episodes": 64,
        "collect.group_size": 8,
        "optim.lr": 3e-4,
    },
    arms={
        "before": Arm("dr_mas", steps=0),
        "pooled": Arm("dr_mas:pooled"),
        "own": Arm("dr_mas"),
    },
    measure=_measure,
    expect=(
        Expect("accuracy before", "before.accuracy"),
        Expect("accuracy after, pooled", "pooled.accuracy"),
        Expect("accuracy after, per agent", "own.accuracy"),
        Expect("gain in accuracy, per agent", "own.accuracy - before.accuracy", low=-0.02),
        Expect("accuracy, per agent - pooled", "own.accuracy - pooled.accuracy", low=-0.05),
        *_rows(),
    ),
    seeds=2,
)
