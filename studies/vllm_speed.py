"""vLLM beside the torch engine: tokens per second, log-probabilities, adapters, guided choice.

    OMP_NUM_THREADS=1 python studies/vllm_speed.py [PART ...] [--model smollm2] [--repeats 3]

It runs where vLLM is installed. Both engines are in this process, on one thread, and take turns:
ratios are medians over repeats of vLLM's tokens per second over torch's at the same turn. Before
each turn the weights are published anew, as after an update, so that nothing is cached; what that
and the first token take is given apart. Seconds are the wall's; processor seconds are those of this
process, which other work on the machine changes less.

Parts: `speed`, and how far the log-probabilities of what was sampled last are from what the learner
says of the same tokens; `guided`, replies among the legal moves; `adapters`, three of them in three
seats of one environment.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
import torch

from coevo.agents.engines.engine import Ask, Prompt
from coevo.agents.engines.scoring import Span
from coevo.agents.engines.settings import Torch, Vllm
from coevo.agents.models.adapters import Adapter
from coevo.agents.policy import Policy
from coevo.agents.policy_maker import PolicyMaker
from coevo.agents.sampling import SamplingConfig
from coevo.envs import make
from coevo.envs.core.episode import Episode, Turn
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

Case = tuple[str, str, Mapping[str, Any]]
QUESTIONS = {"name": "word_problems", "task": "sums", "hardest": 0.34}
SUMS = {"questions": QUESTIONS, "rounds": 1, "prompt_style": "terse"}
CASES: tuple[Case, ...] = (
    ("sums, one reply", "coevo/debate-v0", {**SUMS, "agents": 1}),
    ("Kuhn poker", "coevo/kuhn_poker-v0", {"prompt_style": "terse"}),
)
ROLES: Case = ("sums, three seats", "coevo/debate-v0", {**SUMS, "agents": 3})
GUIDED: tuple[Case, ...] = (
    ("tic-tac-toe", "coevo/tic_tac_toe-v0", {"prompt_style": "terse"}),
    ("Kuhn poker", "coevo/kuhn_poker-v0", {"prompt_style": "terse"}),
)
ENGINES = {"torch": Torch(), "vllm": Vllm(context=1024)}
Sides = dict[str, PolicyMaker]
"""Engine -> what makes its policies."""


@dataclass(frozen=True)
class Played:
    """What some episodes took."""

    episodes: Sequence[Episode]
    seconds: float
    processor: float

    @property
    def turns(self) -> list[Turn]:
        """All replies."""
        return [t for e in self.episodes for t in e.turns]

    @property
    def tokens(self) -> int:
        """Tokens written."""
        return sum(len(t.token_ids or ()) for t in self.turns)


def play(case: Case, seats: Mapping[str, Policy], count: int, seed: int) -> Played:
    """Return episodes of distinct tasks, all at once, by freshly published policies."""
    _, env, options = case
    agents = {p.name: p for p in seats.values()}
    for policy in agents.values():
        policy.reseed(seed)
        policy.forget()
        publish(policy)
    specs = [EpisodeSpec(seed + n, {s: p.name for s, p in seats.items()}) for n in range(count)]
    began, cpu = time.perf_counter(), time.process_time()
    found = rollout(env, specs, agents, options)
    return Played(found, time.perf_counter() - began, time.process_time() - cpu)


def publish(policy: Policy) -> float:
    """Publish weights anew, have them loaded, and return the seconds until a token of theirs."""
    began = time.perf_counter()
    policy.publish(policy.version + 1)
    one = SamplingConfig(max_new_tokens=1)
    policy.engine.generate([Ask(policy.ref, [Prompt((5,))], one, [0])])
    return time.perf_counter() - began


def seats_of(case: Case, policies: Sequence[Policy]) -> dict[str, Policy]:
    """Return who sits where; seats beyond the policies begin with the first again."""
    _, env, options = case
    seats = make(env, **options).possible_agents
    return {seat: policies[n % len(policies)] for n, seat in enumerate(seats)}


def taken_in_turns(
    name: str, case: Case, sides: Mapping[str, Sequence[Policy]], count: int, repeats: int
) -> tuple[str, dict[str, list[Played]]]:
    """Return a line of the table of speed, and what was played."""
    seats = {side: seats_of(case, policies) for side, policies in sides.items()}
    found: dict[str, list[Played]] = {side: [] for side in sides}
    for repeat in range(repeats):
        for side in sides:
            found[side].append(play(case, seats[side], count, 1000 * repeat))
    rate = {s: [p.tokens / p.seconds for p in each] for s, each in found.items()}
    work = {s: [p.tokens / p.processor for p in each] for s, each in found.items()}
    cells = [name, f"{count}", f"{len(found['torch'][0].turns)}"]
    cells += [f"{median(p.tokens for p in each):.0f}" for each in found.values()]
    cells += [f"{median(rate[s]):.1f}" for s in sides]
    for of in (rate, work):
        ratios = [v / t for v, t in zip(of["vllm"], of["torch"], strict=True)]
        cells.append(f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    return f"| {' | '.join(cells)} |", found


SPEED = (
    "| case | episodes | replies | tokens, torch | vllm | tokens/s, torch | vllm | vllm / torch | "
    "by processor seconds |\n|---|---|---|---|---|---|---|---|---|"
)


def gaps(policy: Policy, turns: Iterable[Turn]) -> list[float]:
    """Return |sampled - learner's log-probability| of every token."""
    found: list[float] = []
    for turn in turns:
        prompt, reply = turn.prompt_ids or [], turn.token_ids or []
        ids = (*prompt, *reply)
        span = Span(ids, (len(prompt),), (len(ids),))
        logp = policy.weights.score([span], policy.sampling)
        places = span.places([tuple(map(tuple, turn.choices or ()))])
        logp = replace(logp, processors=policy.processors, places=places)
        with torch.no_grad():
            found += (logp.logp_N() - torch.tensor(turn.logprobs)).abs().tolist()
    return found


def far(name: str, side: str, found: Sequence[float]) -> str:
    """Return a line of the table of log-probabilities."""
    mean, most = sum(found) / len(found), max(found)
    return f"| {name} | {side} | {len(found)} | {mean:.1e} | {most:.1e} |"


FAR = "| what sampled | engine | tokens | mean | largest |\n|---|---|---|---|---|"


def speed(sides: Sides, sizes: Sequence[int], repeats: int, scored: int) -> None:
    """Print tokens per second of whole weights, what publishing takes, and log-probabilities."""
    policies = {side: [maker("policy")] for side, maker in sides.items()}
    for side, (policy,) in policies.items():
        took = [publish(policy) for _ in range(repeats + 1)][1:]
        say(f"publishing, {side}: {median(took):.2f} s")
    for case in CASES:
        say(SPEED)
        for count in sizes:
            line, found = taken_in_turns(case[0], case, policies, count, repeats)
            say(line)
        say(FAR)
        for side, (policy,) in policies.items():
            say(far(case[0], side, gaps(policy, found[side][-1].turns[:scored])))


def adapters(sides: Sides, sizes: Sequence[int], repeats: int, scored: int) -> None:
    """Print the speed of three adapters in three seats, and whose log-probabilities they report."""
    three = {s: [_moved(m, n) for n in ("one", "two", "three")] for s, m in sides.items()}
    say(SPEED)
    for name, count_of in (("one adapter", 1), ("three adapters", 3)):
        used = {side: policies[:count_of] for side, policies in three.items()}
        for count in sizes:
            line, found = taken_in_turns(f"{ROLES[0]}: {name}", ROLES, used, count, repeats)
            say(line)
    say(FAR)
    for side, policies in three.items():
        turns = found[side][-1].turns
        own: dict[str, list[Turn]] = {p.name: [] for p in policies}
        for turn in turns:
            own[turn.player].append(turn)
        for at, policy in enumerate(policies):
            told = own[policy.name][: scored // 3]
            other = policies[(at + 1) % 3]
            say(far(f"{policy.name}, by its learner", side, gaps(policy, told)))
            say(far(f"{policy.name}, by {other.name}'s", side, gaps(other, told)))


def _moved(maker: PolicyMaker, name: str) -> Policy:
    """Return an adapter that has moved away from its start, equally with every engine."""
    policy = maker(name, adapter=Adapter(rank=8))
    generator = torch.Generator().manual_seed(len(name))
    with torch.no_grad():
        for p in policy.model.parameters():
            if p.requires_grad:
                p.add_(0.01 * torch.randn(p.shape, generator=generator))
    policy.publish(1)
    return policy


def guided(sides: Sides, samples: int, positions: int) -> None:
    """Print how far both engines' distributions over legal moves are from the learner's."""
    say(
        "| position | moves | engine | replies | largest difference of a reply's log-probability | "
        "total variation of what was drawn | chi-square / degrees |\n|---|---|---|---|---|---|---|"
    )
    policies = {side: maker("policy") for side, maker in sides.items()}
    for policy in policies.values():
        policy.sampling = replace(policy.sampling, guided="choice")
    for case in GUIDED:
        first = policies["torch"]
        seen: dict[Prompt, None] = {}
        for turn in play(case, seats_of(case, [first]), 2, 3).turns:
            ids, choices = tuple(turn.prompt_ids or ()), tuple(map(tuple, turn.choices or ()))
            seen[Prompt(ids, choices)] = None
        for number, prompt in enumerate(list(seen)[:positions], 1):
            exact = _exact(first, prompt)
            for side, policy in policies.items():
                cells = [f"{case[0]}, {number}", f"{len(exact)}", side, f"{samples}"]
                say(f"| {' | '.join([*cells, *_drawn(policy, prompt, exact, samples)])} |")


def _exact(policy: Policy, prompt: Prompt) -> dict[tuple[int, ...], float]:
    """Return what the learner says of every legal reply, in nats."""
    replies = sorted(set(prompt.choices))
    known = [prompt] * len(replies)
    args = (policy.ref, known, replies, policy.sampling, policy.processors)
    found = policy.engine.logprobs(*args)
    return {r: float(p.sum()) for r, p in zip(replies, found, strict=True)}


def _drawn(
    policy: Policy, prompt: Prompt, exact: Mapping[tuple[int, ...], float], samples: int
) -> list[str]:
    """Return how far drawn replies are from exact probabilities, as cells."""
    policy.publish(policy.version + 1)
    seeds = np.random.default_rng(prompt.ids).integers(2**63, size=samples).tolist()
    end_ids = policy.tokens.end_ids  # type: ignore[attr-defined]  # of a language model
    given = ([prompt] * samples, policy.sampling, seeds, end_ids, policy.processors)
    (found,) = policy.engine.generate([Ask(policy.ref, *given)])
    most = max(abs(sum(s.logprobs) - exact[tuple(s.ids)]) for s in found)
    share = Counter(tuple(s.ids) for s in found)
    p = {r: torch.tensor(logp).exp().item() for r, logp in exact.items()}
    apart = sum(abs(share[r] / samples - p[r]) for r in p) / 2
    square = sum((share[r] - samples * p[r]) ** 2 / (samples * p[r]) for r in p)
    return [f"{most:.1e}", f"{apart:.3f}", f"{square:.1f} / {len(p) - 1}"]


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    names = ("speed", "guided", "adapters")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(names))
    parser.add_argument("--model", default="smollm2", help="a folder or a known name")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--episodes", type=int, nargs="*", default=[1, 8, 64])
    parser.add_argument("--scored", type=int, default=64, help="replies for the learner to score")
    parser.add_argument("--samples", type=int, default=256, help="guided replies to one prompt")
    parser.add_argument("--positions", type=int, default=3, help="prompts of each guided game")
    given = parser.parse_args(argv)
    if unknown := {*given.parts} - {*names}:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    torch.set_num_threads(1)
    sampling = SamplingConfig(max_new_tokens=16)

    def made() -> Sides:
        return {
            name: PolicyMaker(given.model, sampling=sampling, device="cpu", engine=engine)
            for name, engine in ENGINES.items()
        }

    whole = made()
    for part in given.parts or names:
        began = time.perf_counter()
        if part == "speed":
            speed(whole, given.episodes, given.repeats, given.scored)
        elif part == "guided":
            guided(whole, given.samples, given.positions)
        else:  # with an engine of its own: room for adapters slows one down
            adapters(made(), given.episodes, given.repeats, given.scored)
        say(f"{part}: {time.perf_counter() - began:.0f} s\n")


if __name__ == "__main__":
    main()
