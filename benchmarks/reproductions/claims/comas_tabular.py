"""CoMAS on tables: what makes it work, what its scoring is for, and which judges it survives.

The world is the registered peer review with listed replies, which tables can play. Prompts of every
agent: 20 questions to solve; 100 solutions to evaluate; 200 evaluated solutions to score. Replies:
5 answers; a flaw or none; scores 1, 2, 3 and one that cannot be read.
"""

from collections.abc import Callable, Sequence
from statistics import fmean

from coevo.agents.population import MakePolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect, Found
from coevo.benchmarks.reproductions.run import SGD, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import world
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.parsing import Parse, Status, parse_move
from coevo.envs.discussion.peer_review import PeerReview, PeerReviewConfig
from coevo.envs.discussion.review_marks import SCORES, read_verdict
from coevo.envs.discussion.review_texts import Discussion, terse_prompt
from coevo.envs.questions import Question, QuestionSource
from coevo.trainers.loop import UpdateResult
from coevo.trainers.run import Run

QUESTIONS, ANSWERS = 20, 5
ROWS = QUESTIONS * (1 + 3 * ANSWERS)
"""Prompts that there are."""
REPLIES = {
    "solver": tuple(map(str, range(ANSWERS))),
    "evaluator": tuple(f"<verdict>{verdict}</verdict>" for verdict in ("wrong", "right")),
    "scorer": (*(f"<score>{score}</score>" for score in SCORES), "no score"),
}
SWAY, READABLE, AGREEABLE = 0.5, 2.5, 1.5
"""Start: how a score follows the evaluation; how seldom it is unreadable; how seldom an evaluator
names a flaw (logits)."""
GOOD, WEAK = 1.5, 0.5
"""Margins of the judges."""


class Drill(QuestionSource):
    """Questions that nothing but their number tells apart."""

    name = "drill"

    def __len__(self) -> int:
        return QUESTIONS

    def item(self, index: int) -> Question:
        text = f"Question {self._place(index)}"
        name, answer = str(index), str(index % ANSWERS)
        return Question(text, answer, "number", name, self.name, ours=True)


class ListedReview(PeerReview):
    """A peer review whose replies are listed."""

    env_id = "coevo/listed_review-v0"

    def __init__(self, config: PeerReviewConfig) -> None:
        super().__init__(config)
        self.source = Drill()

    def legal(self, seat: str) -> Sequence[str]:
        return REPLIES[self.phase]

    def read(self, seat: str, text: str) -> Parse:
        return parse_move(text, self.legal(seat))


raw_env, env = world(ListedReview, "peer review, replies listed", kind="mixed", seats=2)


def starts(margin: float) -> dict[str, dict[str, float]]:
    """Return the logits of judges that are better than chance; solvers guess at first.

    By the margin (logit) a scorer likelier calls a right solution right than a wrong one.
    """
    found: dict[str, dict[str, float]] = {}
    for index in range(QUESTIONS):
        question = Drill().item(index)
        for said in REPLIES["solver"]:
            solution = _turn("solver", said, said)
            found[_prompt("evaluator", question, solution)] = dict(
                zip(REPLIES["evaluator"], (0.0, AGREEABLE), strict=True)
            )
            right = said == question.answer
            for verdict in REPLIES["evaluator"]:
                review = _turn("evaluator", verdict, read_verdict(verdict).move)
                fine = review.answer == "right"
                logits = (
                    margin * (not right) + SWAY * (not fine),
                    0.0,
                    margin * right + SWAY * fine,
                    -READABLE,
                )
                prompt = _prompt("scorer", question, solution, review)
                found[prompt] = dict(zip(REPLIES["scorer"], logits, strict=True))
    return found


def _turn(role: str, said: str, read: str | None) -> Turn:
    return Turn("", (), said, said, Status.LEGAL, None, role=role, answer=read)


def _prompt(role: str, question: Question, solution: Turn, *reviews: Turn) -> str:
    return terse_prompt(role, Discussion(question, ((solution, reviews),)), scored=True)


def judges(margin: float) -> Callable[[int], MakePolicy]:
    return lambda seed: sized(ROWS, ANSWERS, starts(margin))


def _look(run: Run, done: UpdateResult) -> tuple[float, float, float]:
    """Return mean reward, share of invalid scores, and the most that is left of the sum.

    The last is by how much r(solution) + r(evaluation), summed over an episode, is off its number
    of readable scores: 0 in theory.
    """
    shared = [_shared(e) for e in done.episodes]
    invalid = [_invalid(e) for e in done.episodes]
    off = max(abs(2 * s - (1 - i)) for s, i in zip(shared, invalid, strict=True))
    return fmean(shared), fmean(invalid), off


def _shared(episode: Episode) -> float:
    return fmean(
        turn.rewards["interaction"].get(turn.agent, 0.0)
        for turn in episode.turns
        if turn.role != "scorer"
    )


def _invalid(episode: Episode) -> float:
    read = [turn.answer is None for turn in episode.turns if turn.role == "scorer"]
    return fmean(read) if read else 0.0


def _measure(end: Trained) -> dict[str, float]:
    reward, invalid, off = zip(*end.seen, strict=True)
    last = max(len(reward) // 10, 1)
    return {
        "accuracy": fmean(_right(end, name) for name in end.run.learners),
        "first_reward": reward[0],
        "reward": fmean(reward[-last:]),
        "first_invalid": invalid[0],
        "invalid": fmean(invalid[-last:]),
        "off": max(off),
    }


def _right(end: Trained, name: str) -> float:
    asked, found = [Drill().item(i) for i in range(QUESTIONS)], end.learnt(name)
    odds = [found.get(f"Solve: {q.question} [answer]") for q in asked]
    return fmean(
        1 / ANSWERS if p is None else float(p[int(q.answer)])
        for p, q in zip(odds, asked, strict=True)
    )


def _most_off(found: Found) -> list[float]:
    return [max(off for arm in ("good", "weak", "role") for off in found[arm]["off"])]


CLAIM = Claim(
    property="""Peers' scores teach solvers nearly everything where the judge is good; without
        scores reward reaches its best at chance accuracy; with a weak judge whitening per role
        keeps more than whitening over all roles.""",
    source="""Xue et al. 2025, CoMAS, arXiv 2510.08529 (rewards (t - 1) / 2 and (3 - t) / 2 of a
        score t; ablations without evaluation and without scoring); figures: our numpy experiment,
        studies/peer_review_numpy.py""",
    minutes=5.2,
    on="toy",
    setting="""Two agents with tables for every role, 20 questions with 5 answers, one round of
        review per question (`coevo/peer_review-v0` with listed replies): 48 questions per update,
        300 updates of plain steps of 32. Solvers guess at first; scorers call a right solution
        right more often than a wrong one by a margin in their logits. `comas` as it trains language
        models (whitening per agent over all roles), its variant `role`, and its control
        `no_scoring`, which pays by votes.""",
    measured="""Accuracy is exact, of the tables at the end; rewards and invalid scores are those of
        the last tenth of the updates.""",
    chosen="""The tables, where they start and the bounds; the paper reports 3B models, among them
        both ablations.""",
    note="solvers start at accuracy 0.2; with a weak judge runs are unequal",
    world=World(
        ListedReview.env_id,
        300,
        {"phases": "solve+evaluate+score", "rounds": 1},
        judges(GOOD),
        watch=_look,
    ),
    changes={
        **SGD,
        "collect.episodes": 48,
        "optim.lr": 32.0,
    },
    arms={
        "good": Arm("comas"),
        "weak": Arm("comas", maker=judges(WEAK)),
        "role": Arm("comas:role", maker=judges(WEAK)),
        "votes": Arm("comas:no_scoring", options={"phases": "solve+evaluate"}),
    },
    measure=_measure,
    expect=(
        Expect("good judge: accuracy", "good.accuracy", 0.992, low=0.97),
        Expect("good judge: invalid scores at the start", "good.first_invalid", 0.009),
        Expect("good judge: invalid scores", "good.invalid", 0.002, high=0.005),
        Expect("|r(s) + r(e) - valid|, any episode", _most_off, 0.0, high=1e-9),
        Expect("no scoring: reward at the start", "votes.first_reward", 0.826),
        Expect("no scoring: reward", "votes.reward", 0.998, low=0.98),
        Expect("no scoring: accuracy (chance 0.2)", "votes.accuracy", 0.171, high=0.35),
        Expect("weak judge: accuracy, whitened per agent", "weak.accuracy", 0.739),
        Expect("weak judge: accuracy, whitened per agent and role", "role.accuracy", 0.9, low=0.85),
        Expect(
            "weak judge: what whitening per role adds",
            "role.accuracy - weak.accuracy",
            0.161,
            low=0.08,
        ),
    ),
)
