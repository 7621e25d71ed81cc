"""SEAgent: a loss on bad steps that fades as they become unlikely."""

from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from coevo.benchmarks.reproductions.claim import Claim, Expect, Once
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, learnt, sized
from coevo.benchmarks.reproductions.worlds import SEAT, Micro, world
from coevo.envs.core.config import config, whole
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.task import Replies, mostly
from coevo.trainers.items import ItemInputs
from coevo.trainers.loop import UpdateResult
from coevo.trainers.losses import Adversarial
from coevo.trainers.run import Run, output_policy

SCREENS, BUTTONS, MOST = 12, 4, 10
NAMES = tuple(f"button {b}" for b in range(BUTTONS))
STEPS = 40
"""Updates."""


@config
class ScreensConfig:
    """What the screens take."""

    layout: Annotated[int, whole(0)] = 0
    """Seed of where buttons lead."""
    judged: bool = True
    """Whether each step is paid, 1 if it leads nearer."""


@lru_cache(maxsize=64)
def layout(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where each button of a screen leads, [S, B], and each screen's distance to the last.

    The last is the goal; it can be reached from all.
    """
    rng = np.random.default_rng(seed)
    while True:
        leads_SB = rng.integers(SCREENS, size=(SCREENS, BUTTONS))
        far_S, queue = np.full(SCREENS, SCREENS), deque([SCREENS - 1])
        far_S[-1] = 0
        while queue:
            at = queue.popleft()
            for before in np.flatnonzero((leads_SB == at).any(1) & (far_S == SCREENS)):
                far_S[before] = far_S[at] + 1
                queue.append(int(before))
        if far_S.max() < SCREENS and far_S[0] >= 3:
            return leads_SB, far_S


class Screens(Micro[ScreensConfig]):
    """Press buttons until the last screen is open; a step is good if it leads nearer."""

    env_id = "coevo/screens-v0"
    config_class = ScreensConfig
    about = "Press buttons until the last screen is open."
    seats = (SEAT,)
    payoff_range = (0.0, 1.0)
    components = ("step",)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        leads_SB, far_S = layout(self.config.layout)
        at = self.at = 0
        for _ in range(MOST):
            said = yield One(SEAT, terse=f"Screen {at}", moves=NAMES)
            to = int(leads_SB[at, NAMES.index(said)])
            if self.config.judged:
                yield Pay({SEAT: float(far_S[to] < far_S[at])}, "step")
            at = self.at = to
            if at == SCREENS - 1:
                break
        yield Pay({SEAT: float(at == SCREENS - 1)})

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the buttons that lead nearest to the goal; mostly."""
        leads_SB, far_S = layout(self.config.layout)
        far_B = far_S[leads_SB[self.at]]
        good = {name: float(far == far_B.min()) for name, far in zip(NAMES, far_B, strict=True)}
        return mostly(NAMES, good, skill)


raw_env, env = world(
    Screens, "buttons that lead from screen to screen", kind="cooperative", seats=1
)


def odds(learnt: Mapping[str, Tensor]) -> np.ndarray:
    """Return the probabilities of the buttons of all screens but the last, [S, B]."""
    even = torch.full((BUTTONS,), 1 / BUTTONS)
    return np.array([learnt.get(f"Screen {s}", even).tolist() for s in range(SCREENS - 1)])


def success(run: Run, p_SB: np.ndarray) -> float:
    """Return the probability to reach the goal."""
    leads_SB, _ = layout(run.config.env_options["layout"])
    reached_S = np.eye(SCREENS)[-1]
    for _ in range(MOST):
        reached_S[:-1] = (p_SB * reached_S[leads_SB[:-1]]).sum(1)
    return float(reached_S[0])


def watched(run: Run, done: UpdateResult | None = None) -> tuple[float, float]:
    """Return the probability of bad steps, the mean over screens, and that of success."""
    leads_SB, far_S = layout(run.config.env_options["layout"])
    p_SB = odds(learnt(output_policy(run.learners["policy"])))
    bad_SB = far_S[leads_SB[:-1]] >= far_S[:-1, None]
    return float((p_SB * bad_SB).sum(1).mean()), success(run, p_SB)


def _measure(end: Trained) -> dict[str, float]:
    bad_U, success_U = np.array(end.seen).T
    return {
        "bad": float(bad_U[-1]),
        "rise": float(np.diff(bad_U).max()),
        "success": float(success_U.mean()),
        "last": float(success_U[-1]),
    }


def _unlearnt(seed: int) -> dict[str, float]:
    """Return log pi of one of two even moves after 1,000 steps of size 1 on either loss."""
    found = {}
    for name in ("adversarial", "likelihood"):
        logit_1 = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        for _ in range(1000):
            logp_11 = torch.nn.functional.logsigmoid(logit_1).unsqueeze(0)
            one_11 = torch.ones_like(logp_11)
            x = ItemInputs(logp_11, one_11, one_11, torch.full_like(logp_11, 0.5).log())
            loss = Adversarial()(x).sum() if name == "adversarial" else logp_11.sum()
            (slope_1,) = torch.autograd.grad(loss, logit_1)
            logit_1.data -= slope_1
        found[name] = float(torch.nn.functional.logsigmoid(logit_1).detach())
    return found


CLAIM = Claim(
    property="""A loss on steps that were judged bad makes them unlikely without driving them to
        nothing, and the goal is reached sooner than with the good steps alone.""",
    source="""Sun et al. 2025, SEAgent, arXiv 2508.04700 (adversarial imitation of failures beside
        GRPO, weight .2); bounds are ours""",
    minutes=3.0,
    on="toy",
    setting=f"""{SCREENS} screens of {BUTTONS} buttons, drawn by the seed; the last can be reached
        from all, from the first in three steps or more, and an episode has {MOST}. A step is judged
        good if it leads nearer. `seagent` and its variants, a table, 64 episodes an update,
        {STEPS} plain gradient steps of size 1.""",
    measured="""Probability of a bad step, the mean over screens, at the end, and its largest rise
        from one update to the next; probability of reaching the goal, exactly, the mean over all
        updates and at the end. And the log-probability of one of two even moves after 1,000 steps
        of size 1 that unlearn it.""",
    theory="""The slope of the adversarial loss is sigmoid(D): log pi falls like -log t, and of the
        likelihood like -t.""",
    chosen="All sizes; bounds before anything was run.",
    world=World(
        Screens.env_id,
        STEPS,
        lambda seed: {"layout": seed},
        lambda seed: sized(SCREENS, BUTTONS),
        watch=watched,
    ),
    changes={**PLAIN, "optim.lr": 1.0},
    arms={
        "both": Arm("seagent"),
        "unlikelihood": Arm("seagent:unlikelihood"),
        "good": Arm("seagent:positive"),
        "unlearnt": Once(_unlearnt),
    },
    measure=_measure,
    expect=(
        *(
            Expect(f"{what}, {arm}", f"{arm}.{name}")
            for what, name in (
                ("P(bad) at the end", "bad"),
                ("success over all updates", "success"),
                ("success at the end", "last"),
            )
            for arm in ("both", "unlikelihood", "good")
        ),
        Expect("largest rise of P(bad) in an update", "both.rise", high=0.02),
        Expect("gain in success over good steps alone", "both.success - good.success", low=0.0),
        Expect("less P(bad) than good steps alone", "good.bad - both.bad", low=0.0),
        Expect("log pi after 1,000 steps, adversarial", "unlearnt.adversarial", low=-12.0),
        Expect("log pi after 1,000 steps, likelihood", "unlearnt.likelihood", high=-100.0),
    ),
)
