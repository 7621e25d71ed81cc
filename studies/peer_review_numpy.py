"""Peer review in tables: scores of peers as rewards, with a good judge, a weak one and none.

Xue et al. 2025, CoMAS (arXiv 2510.08529): a solution is evaluated and the evaluation is scored
t = 1, 2, 3; the solution earns (t - 1) / 2, the evaluation (3 - t) / 2, and the scorer -1 where its
score cannot be read (then nobody else earns anything). Without scoring, evaluations are votes: a
solution earns the vote for it, an evaluation whether it agrees with the mean vote. Advantages are
rewards whitened over all replies of an agent, or of an agent in a role.

Ours: 20 questions of 5 answers, two agents of separate tables; each step 48 questions, on each of
which both solve, evaluate and score once, evaluators and scorers dealt at random. Solvers guess at
first, evaluators find no flaw with logit 1.5, a scorer calls a right solution right (and a wrong
one wrong) by its margin, 0.5 more if the evaluation says so, and is unreadable with logit -2.5.
Policy gradient on the mean over replies, 300 steps of size 32.
"""

from __future__ import annotations

import numpy as np
from over_seeds import sample, show, softmax

QUESTIONS, ANSWERS, AGENTS, STEPS, SIZE, LR = 20, 5, 2, 300, 48, 32.0
RIGHT = np.arange(QUESTIONS) % ANSWERS
Tables = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Logits of solvers [2, 20, 5], of evaluators by solution [2, 100, 2], of scorers [2, 200, 4]."""


def start(margin: float) -> Tables:
    """Return the tables at first."""
    right = (np.arange(ANSWERS) == RIGHT[:, None]).reshape(-1)
    scorer = np.zeros((right.size, 2, 4))
    scorer[..., 3] = -2.5
    for score, of, says in ((0, ~right, 0), (2, right, 1)):
        scorer[of, :, score] += margin
        scorer[:, says, score] += 0.5
    evaluator = np.tile([0.0, 1.5], (right.size, 1))
    tables = np.zeros((QUESTIONS, ANSWERS)), evaluator, scorer.reshape(-1, 4)
    return tuple(np.stack([t] * AGENTS) for t in tables)  # type: ignore[return-value]


def said(rng: np.random.Generator, table: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Draw what every agent says in its contexts, [SIZE, 2]."""
    p = softmax(np.stack([table[k, at[:, k]] for k in range(AGENTS)], 1))
    return sample(rng, p, 1)[..., 0]


def dealt(rng: np.random.Generator, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Deal what the agents made out among them; return whose it is, and what."""
    whose = rng.random(items.shape).argsort(1)
    return whose, np.take_along_axis(items, whose, 1)


def back(paid: np.ndarray, whose: np.ndarray) -> np.ndarray:
    """Return to authors what was paid to the items that they made."""
    out = np.zeros(paid.shape)
    np.put_along_axis(out, whose, paid, 1)
    return out


def learnt(
    rng: np.random.Generator, margin: float, by_role: bool = False, votes: bool = False
) -> dict[str, np.ndarray]:
    """Return accuracy, reward of solutions and evaluations, and unreadable share by step."""
    tables, course = start(margin), []
    for _ in range(STEPS):
        question = np.repeat(rng.integers(QUESTIONS, size=(SIZE, 1)), AGENTS, 1)
        answer = said(rng, tables[0], question)
        author, solution = dealt(rng, question * ANSWERS + answer)
        fine = said(rng, tables[1], solution)
        critic, review = dealt(rng, solution * 2 + fine)
        t = said(rng, tables[2], review)
        solved = np.where(t < 3, t / 2, 0.0)
        reviewed = back(np.where(t < 3, 1 - t / 2, 0.0), critic)
        rewards = [back(back(solved, critic), author), reviewed, np.where(t < 3, 0.0, -1.0)]
        spoken = [(question, answer), (solution, fine), (review, t)]
        if votes:  # one vote per solution, whose author counts as a second one for it
            rewards, spoken = [back(1.0 * fine, author), 1.0 * fine], spoken[:2]
        pairs = np.mean(rewards[:2])
        right = softmax(tables[0])[:, np.arange(QUESTIONS), RIGHT].mean()
        course.append((right, pairs, (t == 3).mean(), 2 * pairs - (t < 3).mean()))
        move(tables, rewards, spoken, by_role)
    names = ("accuracy", "reward", "unreadable", "unshared")
    return dict(zip(names, np.array(course).T, strict=True))


def move(
    tables: Tables,
    rewards: list[np.ndarray],
    spoken: list[tuple[np.ndarray, np.ndarray]],
    by_role: bool,
) -> None:
    """Whiten the rewards of every agent and take one step on the mean over its replies."""
    for k in range(AGENTS):
        own = np.stack([r[:, k] for r in rewards])
        axis = 1 if by_role else None
        spread = own.std(axis, ddof=1, keepdims=True)
        a = (own - own.mean(axis, keepdims=True)) / (spread + 1e-6)
        for table, (at, arm), credit in zip(tables, spoken, a, strict=False):
            p = softmax(table[k, at[:, k]])
            score = credit[:, None] * (np.eye(p.shape[1])[arm[:, k]] - p)
            np.add.at(table[k], at[:, k], LR * score / own.size)


def figures(rng: np.random.Generator) -> dict[str, float]:
    """Return first and last figures; the last are means over a tenth of the steps."""
    last = slice(-STEPS // 10, None)
    good, votes = learnt(rng, 1.5), learnt(rng, 1.5, votes=True)
    pooled, apart = learnt(rng, 0.5), learnt(rng, 0.5, by_role=True)
    found = {
        "good judge: accuracy": good["accuracy"][last].mean(),
        "good judge: unreadable scores at the start": good["unreadable"][0],
        "good judge: unreadable scores": good["unreadable"][last].mean(),
        "|r(s) + r(e) - readable|": np.abs(good["unshared"]).max(),
        "no scoring: reward at the start": votes["reward"][0],
        "no scoring: reward": votes["reward"][last].mean(),
        "no scoring: accuracy": votes["accuracy"][last].mean(),
        "weak judge: accuracy, whitened per agent": pooled["accuracy"][last].mean(),
        "weak judge: accuracy, per agent and role": apart["accuracy"][last].mean(),
    }
    return {name: float(value) for name, value in found.items()}


if __name__ == "__main__":
    show(figures)
