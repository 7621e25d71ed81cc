"""The largest or the smallest of three digits, and a small network that solves and judges.

One seat, one move: a digit. A verifier knows the largest; whether the smallest is right is never
said. `DigitNet` reads its task, and what it is asked about a reply, from the prompt, so that
solving and judging share its layers; its start is trained on labels that are right in 35 % of the
cases (a solver), and on coin flips (a judge).
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from coevo.agents.agent import Request
from coevo.agents.population import MakePolicy
from coevo.agents.table import MOVES, TabularPolicy
from coevo.benchmarks.reproductions.worlds import OneMove, ReadRows, numbered, world
from coevo.envs.core.config import config, real
from coevo.envs.core.episode import Turn

ID = "coevo/digits-v0"
SETTINGS = {"optim.lr": 1e-3, "optim.warmup": 0, "optim.beta2": 0.999}
DIGITS, PLACES, START, WIDTH = 6, 3, 0.35, 96
FORMS = ("solve", "point", "pair")
OUT = {"solve": DIGITS, "point": 2, "pair": 2}


@config
class DigitsConfig:
    """What the task takes."""

    unlabelled: Annotated[float, real(0, 1)] = 0.5
    """Share of the tasks that ask for the smallest, which no verifier checks."""


class Digits(OneMove[DigitsConfig]):
    """Three digits, one answer."""

    env_id = ID
    config_class = DigitsConfig
    about = "Name the largest or the smallest digit."

    def deal(self, rng: np.random.Generator) -> tuple[str, Sequence[str]]:
        self.digits = tuple(int(d) for d in rng.integers(DIGITS, size=PLACES))
        self.wanted = "min" if rng.random() < self.config.unlabelled else "max"
        self.task_id = words(self.wanted, self.digits)
        return self.task_id, numbered(DIGITS)

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.answer = turn.move
        if self.wanted == "max":
            turn.verified = float(turn.move == str(max(self.digits)))

    def outcome(self) -> dict[str, float]:
        return {"right": float(self.said == str(max(self.digits)))} if self.wanted == "max" else {}


raw_env, env = world(Digits, "the largest or smallest of three digits", kind="cooperative", seats=1)


def words(asked: str, digits: Sequence[int]) -> str:
    return f"{asked} of {' '.join(map(str, digits))}"


class Prompts(ReadRows[tuple[int, ...]]):
    """Prompts without a limit: (form, max or min, digits, first reply, second reply) of each."""

    def __init__(self) -> None:
        super().__init__(lambda messages: read(messages[-1]))

    def row(self, request: Request) -> int:
        key, row = self.known(request)
        if row is None:
            row = self.add(key, len(request.info["legal_actions"]))
        return row


def read(text: str) -> tuple[int, ...]:
    """Return what a prompt holds, in numbers; `DIGITS` is no reply."""
    task = re.search(r"(max|min) of (\d) (\d) (\d)", text)
    assert task is not None
    shown = [re.search(rf'{name}: "(\d)"', text) for name in ("Answer", "First", "Second")]
    one, first, second = (DIGITS if m is None else int(m[1]) for m in shown)
    form = 1 if one < DIGITS else 2 if first < DIGITS else 0
    replies = (one, DIGITS) if form == 1 else (first, second)
    return (form, int(task[1] == "min"), *map(int, task.groups()[1:]), *replies)


class DigitNet(nn.Module):
    """Two hidden layers shared by all forms; every form has outputs of its own."""

    def __init__(self, prompts: Prompts, seed: int) -> None:
        super().__init__()
        self.prompts = prompts
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            size = len(FORMS) + 2 + PLACES * DIGITS + 2 * (DIGITS + 1)
            layers = [nn.Linear(size, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU()]
            self.net = nn.Sequential(*layers, nn.Linear(WIDTH, sum(OUT.values()))).double()

    def forward(self, row_N: Tensor) -> Tensor:
        return self.logits(torch.tensor(self.prompts.seen(row_N)))

    def logits(self, seen_NF: Tensor) -> Tensor:
        sizes = [len(FORMS), 2, *[DIGITS] * PLACES, DIGITS + 1, DIGITS + 1]
        parts = [one_hot(seen_NF[:, k], size) for k, size in enumerate(sizes)]
        out_NO = self.net(torch.cat(parts, 1).double())
        first_F = torch.tensor([0, *itertools.accumulate(OUT.values())][:-1])
        at_NA = first_F[seen_NF[:, 0], None] + torch.arange(DIGITS)
        found_NA = out_NO.gather(1, at_NA.clamp(max=out_NO.shape[1] - 1))
        return nn.functional.pad(found_NA, (0, MOVES - DIGITS))


def begun(prompts: Prompts, seed: int, steps: int = 300) -> DigitNet:
    """Return a network that solves right in about 35 % and judges by a coin."""
    net = DigitNet(prompts, seed)
    rng = np.random.default_rng(seed)
    optimiser = torch.optim.Adam(net.parameters(), 3e-3)
    for _ in range(steps):
        seen = rng.integers(DIGITS, size=(256, 7))
        seen[:, 0], seen[:, 1] = rng.integers(3, size=256), rng.integers(2, size=256)
        seen[seen[:, 0] == 0, 5:], seen[seen[:, 0] == 1, 6] = DIGITS, DIGITS
        label = rng.integers(np.where(seen[:, 0] == 0, DIGITS, 2))
        told = (seen[:, 0] == 0) & (rng.random(256) < (START - 1 / DIGITS) / (1 - 1 / DIGITS))
        label[told] = right(seen[told])
        logits_NA = net.logits(torch.tensor(seen))
        open_NA = torch.arange(MOVES) < torch.tensor(np.where(seen[:, 0] == 0, DIGITS, 2))[:, None]
        loss = cross_entropy(logits_NA.masked_fill(~open_NA, -1e30), torch.tensor(label))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return net


def right(seen: np.ndarray) -> np.ndarray:
    digits = seen[:, 2 : 2 + PLACES]
    return np.asarray(np.where(seen[:, 1] == 1, digits.min(1), digits.max(1)))


def maker(seed: int) -> MakePolicy:
    prompts = Prompts()
    start = begun(prompts, seed)
    return lambda name, **given: TabularPolicy(deepcopy(start), prompts, name=name)


def every(asked: Literal["max", "min"]) -> Tensor:
    """Return all tasks of a kind, in numbers."""
    digits = itertools.product(range(DIGITS), repeat=PLACES)
    return torch.tensor([(0, int(asked == "min"), *d, DIGITS, DIGITS) for d in digits])


@torch.no_grad()
def accuracy(net: DigitNet, asked: Literal["max", "min"]) -> float:
    seen_NF = every(asked)
    p_NA = net.logits(seen_NF)[:, :DIGITS].softmax(-1)
    at_N = torch.tensor(right(seen_NF.numpy()))
    return float(p_NA.gather(1, at_N[:, None]).mean())


@torch.no_grad()
def judged(
    net: DigitNet, asked: Literal["max", "min"], solver: DigitNet | None = None
) -> dict[str, float]:
    """Return how a judge does on a solver's answers, over all tasks; None is its own.

    `point` is the probability of the truth on a wrong answer and on the right one, halved; `pair`
    that of the right one beside a wrong one, in either order; `yes` that of "yes" to any answer.
    """
    seen_NF = every(asked)
    p_NA = (solver or net).logits(seen_NF)[:, :DIGITS].softmax(-1)
    right_N1 = torch.tensor(right(seen_NF.numpy())).unsqueeze(1)
    yes_NA = torch.stack([_says(net, seen_NF, 1, d)[:, 0] for d in range(DIGITS)], 1)
    wrong_NA = p_NA.scatter(1, right_N1, 0.0)
    point_NA = (1 - yes_NA + yes_NA.gather(1, right_N1)) / 2
    pair_NA = torch.stack([_better(net, seen_NF, right_N1[:, 0], d) for d in range(DIGITS)], 1)
    found = (wrong_NA * point_NA, wrong_NA * pair_NA)
    point, pair = (float(x.sum() / wrong_NA.sum()) for x in found)
    return {"point": point, "pair": pair, "yes": float((p_NA * yes_NA).sum(1).mean())}


def _says(net: DigitNet, seen_NF: Tensor, form: int, *replies: Any) -> Tensor:
    """Return the probabilities of the two answers to a question about replies, [N, 2]."""
    asked_NF = seen_NF.clone()
    asked_NF[:, 0] = form
    for place, reply in enumerate(replies):
        asked_NF[:, 2 + PLACES + place] = reply
    return net.logits(asked_NF)[:, :2].softmax(-1)


def _better(net: DigitNet, seen_NF: Tensor, right_N: Tensor, wrong: int) -> Tensor:
    first_N = _says(net, seen_NF, 2, right_N, wrong)[:, 0]
    return (first_N + _says(net, seen_NF, 2, wrong, right_N)[:, 1]) / 2


def pairs(seed: int, count: int) -> list[str]:
    """Return preferences about the smallest digit as JSON lines: single verdicts and pairs."""
    rng = np.random.default_rng([seed, 5])
    lines = []
    for number in range(count):
        digits = rng.integers(DIGITS, size=PLACES)
        best = int(digits.min())
        wrong = int((best + rng.integers(1, DIGITS)) % DIGITS)
        task = words("min", digits.tolist())
        replies, worth = [str(best), str(wrong)], [1.0, 0.0]
        if number % 2:
            at = int(rng.integers(2))
            replies, worth = [replies[at]], [worth[at]]
        lines.append(json.dumps({"task": task, "replies": replies, "worth": worth}))
    return lines
