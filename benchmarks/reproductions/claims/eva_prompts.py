"""eva: plays go where there is something left to learn, and to noise as well."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import torch

from coevo.agents.agent import request_of
from coevo.agents.population import Separate
from coevo.agents.table import TabularPolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import Micro, numbered, world
from coevo.envs.core.config import config, whole
from coevo.envs.core.protocol import All, Pay, Protocol
from coevo.trainers.run import Run

SOLVER, CHANCE = "solver_0", "chance_0"
SOLVED, UNSOLVED, NOISY, REPLIES = 100, 100, 20, 16
REAL = SOLVED + UNSOLVED
LEVELS = 9
"""Noise has so many values, from all of it below to all of it above."""
NOISE = 0.1
KNOWS = 8.0
"""Logit of the best reply of a prompt that is solved."""


def _payoffs(prompt: int) -> np.ndarray:
    """Return what the replies to a prompt pay, without noise; those to a noisy one pay the same."""
    if prompt >= REAL:
        return np.full(REPLIES, 0.5)
    rng = np.random.default_rng(prompt)
    pay_A = rng.random(REPLIES)
    pay_A[rng.integers(REPLIES)] = 1.0
    return pay_A


@config
class PromptsConfig:
    """What the prompts take."""

    noisy: Annotated[int, whole(0)] = 0
    """Prompts of which nothing but noise comes back."""


class GradedPrompts(Micro[PromptsConfig]):
    """A prompt and a graded reply; chance, the second seat, draws the noise of the grade."""

    env_id = "coevo/graded_prompts-v0"
    config_class = PromptsConfig
    seats = (SOLVER, CHANCE)
    payoff_range = (-1.0, 2.0)
    about = "Reply to the prompt."

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        drawn = int(rng.integers(REAL + self.config.noisy))
        self.number, self.short = int(options.get("prompt", drawn)), 0.0
        said = yield All(
            self.seats,
            terse=lambda seat: f"prompt {self.number}" if seat == SOLVER else "noise",
            moves=lambda seat: numbered(REPLIES if seat == SOLVER else LEVELS),
        )
        pay_A = _payoffs(self.number)
        paid = pay_A[int(said[SOLVER])]
        self.short = float(pay_A.max() - paid)
        level = int(said[CHANCE]) / (LEVELS - 1) * 2 - 1
        yield Pay({SOLVER: float(paid + level * (NOISE if self.number < REAL else 1.0))})

    def variation(self, rng: np.random.Generator) -> dict[str, Any]:
        count = REAL + self.config.noisy
        return {"prompt": (self.number + int(rng.choice([-1, 1]))) % count}

    def outcome(self) -> dict[str, float]:
        unsolved = SOLVED <= self.number < REAL
        noise = float(self.number >= REAL)
        return {"unsolved": float(unsolved), "noise": noise, "short": self.short}


raw_env, env = world(GradedPrompts, "prompts with graded replies", kind="mixed", seats=2)


@torch.no_grad()
def _solve(run: Run) -> None:
    policy, row_P = _rows(run)
    for prompt in range(SOLVED):
        policy.model.logits_RA[row_P[prompt], int(_payoffs(prompt).argmax())] = KNOWS


@torch.no_grad()
def _measure(end: Trained) -> dict[str, float]:
    policy, row_P = _rows(end.run)
    odds_PA = policy.model(torch.tensor(row_P))[:, :REPLIES].softmax(-1).numpy()
    pay_PA = np.stack([_payoffs(prompt) for prompt in range(REAL)])
    regret = float((pay_PA.max(1) - (odds_PA * pay_PA).sum(1)).mean())
    shares = {name: end.last(25, f"outcome/{name}") for name in ("unsolved", "noise", "short")}
    return {"regret": regret, **shares}


def _rows(run: Run) -> tuple[TabularPolicy, list[int]]:
    policy = run.learners[SOLVER].agent
    assert isinstance(policy, TabularPolicy)  # a run of tables
    asked = run.envs[GradedPrompts.env_id].fresh()
    rows = []
    for prompt in range(REAL):
        asked.reset(seed=0, options={"prompt": prompt})
        rows.append(policy.rows.row(request_of(asked, SOLVER, np.random.default_rng(0))))
    return policy, rows


CLAIM = Claim(
    property="""At equal plays, prompts drawn by the spread of their rewards and varied leave less
        regret than prompts as they come, half of which are solved from the start: plays stay where
        there is something to learn; prompts of pure noise draw plays too.""",
    source="""Ye et al. 2024, eva, arXiv 2411.00062 (informativeness as best minus worst or mean
        reward, a proxy of regret); references: shares of a uniform draw""",
    minutes=10.0,
    on="toy",
    setting="""200 prompts with 16 replies each, the best of which pays 1, the others less, and
        noise of up to 0.1 on every reward. The policy, a table, has solved the first hundred before
        it starts, and knows nothing of the others. A variation of a prompt is one beside it. `eva`,
        its variant `advantage` and its control `drawn`: equal plays, 32 groups of 8 in each of 150
        updates. Then again with 20 further prompts whose noise is up to 1 and of which nothing can
        be learnt.""",
    measured="""Exact: by how much the policy's mean reward is below the best, over the 200 prompts,
        at the end. In the last 25 updates: which share of the plays went to prompts that were
        unsolved at first, and to noise; and how much the replies played fell short of the best.""",
    chosen="""Sizes, the step, and the bounds, before any run. The control plays unsolved prompts
        half the time and noise 20 times in 220; with half of the plays fresh, eva cannot give the
        unsolved more than three quarters.""",
    note="the spread of rewards does not tell noise from regret: prompts of noise draw plays",
    world=World(GradedPrompts.env_id, 150, {"noisy": 0}, begin=_solve),
    changes={
        "population": Separate(agents={CHANCE: "random"}),
        "collect.episodes": 256,
        "optim.optimiser": "sgd",
        "optim.lr": 64.0,
        "optim.warmup": 0,
        "optim.grad_norm": 1e6,
    },
    arms={
        "eva": Arm("eva"),
        "advantage": Arm("eva:advantage"),
        "drawn": Arm("eva:drawn"),
        "eva_noisy": Arm("eva", options={"noisy": NOISY}),
        "drawn_noisy": Arm("eva:drawn", options={"noisy": NOISY}),
    },
    measure=_measure,
    expect=(
        Expect("eva: regret at the end", "eva.regret"),
        Expect("advantage: regret at the end", "advantage.regret"),
        Expect("drawn: regret at the end", "drawn.regret"),
        Expect(
            "regret that drawn prompts leave and eva does not",
            "drawn.regret - eva.regret",
            low=0.01,
        ),
        Expect("eva: share of unsolved prompts", "eva.unsolved", low=0.6),
        Expect("advantage: share of unsolved prompts", "advantage.unsolved", low=0.6),
        Expect("drawn: share of unsolved prompts", "drawn.unsolved", UNSOLVED / REAL),
        Expect("eva: by how much replies fall short", "eva.short"),
        Expect("drawn: by how much replies fall short", "drawn.short"),
        Expect("eva: share of noise", "eva_noisy.noise", low=2 * NOISY / (REAL + NOISY)),
        Expect("drawn: share of noise", "drawn_noisy.noise", NOISY / (REAL + NOISY)),
        Expect("eva with noise: regret at the end", "eva_noisy.regret"),
        Expect("drawn with noise: regret at the end", "drawn_noisy.regret"),
    ),
)
