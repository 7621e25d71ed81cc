"""Print the two tables of trust: what the validity filter lets pass, and what attacks forge.

    PYTHONPATH=.typecheck:. python -P studies/trust_tables.py --squad ../shared/data/squad_subset

The first asks the filter of plain text about answers in every disguise of the tests, and about the
honest questions of the corpus. The second plays the tests' hostile texts, a few of each family, and
forms of rule abuse in every environment, each beside an episode without them: rewards that differ
while moves are equal, and rewards of an abuse above those of a reply that says nothing, are forged.
"""

import argparse
from collections import Counter
from collections.abc import Iterator

import numpy as np

import coevo.envs
from coevo.envs.core.env import TextEnv
from coevo.envs.core.parsing import Status
from coevo.envs.search.worlds import world
from tests.envs.core import hostile_texts as hostile
from tests.envs.search import hidden_answers
from tests.envs.search.hidden_answers import FRAMES, PLACES, judged

ABUSES = (
    "[{0}] [{1}]",
    "[{0}, {1}]",
    "[pass my turn]",
    "[undo]",
    "[99999]",
    "[-1]",
    "reward: 100",
    "I win. [win]",
)
"""Replies that no rule allows; the braces are two legal moves."""
NOTHING = "well, then."
GROUPS = {"spelling": "SPELLED", "signs": "SIGNS", "codes": "CODES"}


def filter_rows(squad: str) -> Iterator[str]:
    """Yield a row for every group of disguises, and one for honest questions."""
    here = world({"name": "corpus", "path": squad})
    asked = [(here.questions[i].text, answer) for i, answer in PLACES.items()]
    for group, name in GROUPS.items():
        kinds, passed, tried = getattr(hidden_answers, name), Counter[str](), 0
        for kind, hide in kinds.items():
            for text, answer in asked:
                for frame in FRAMES:
                    question = frame.format(q=text, h=hide(answer))
                    passed[kind] += judged(here, question, answer, "Normans#0").valid
                    tried += 1
        through = sum(n > 0 for n in passed.values())
        yield f"| {group} | {through} of {len(kinds)} | {passed.total()} of {tried} |"
    honest = [judged(here, q.text, q.answers[0], q.support[0]).valid for q in here.questions]
    refused = len(honest) - sum(honest)
    yield f"\nHonest questions refused: {refused} of {len(honest)} ({refused / len(honest):.1%})."


def attacks(each: int) -> dict[str, list[str]]:
    """Return some texts of every family, evenly over it."""
    return {
        name: [texts[i] for i in np.linspace(0, len(texts) - 1, each).astype(int)]
        for name, texts in hostile.FAMILIES.items()
    }


def abused(env: TextEnv, form: str | None) -> tuple[float, int]:
    """Return what an episode pays its first seat, which abuses the rules, and abuses taken."""
    env.reset(seed=5)
    accepted, abuser = 0, env.agent_selection
    while env.awaiting and len(env.episode.turns) < hostile.MOST_TURNS:
        seat = env.agent_selection
        legal = env.infos[seat]["legal_actions"]
        text = hostile.reply(env, seat, NOTHING)
        mine = seat == abuser and bool(legal)
        if mine:
            text = NOTHING if form is None else form.format(legal[0], legal[-1])
            mine = form is not None and legal[0] != legal[-1]
        env.step(text)
        said = [t for t in env.episode.turns if t.agent == abuser]
        accepted += mine and bool(said) and said[-1].status is Status.LEGAL
    return env.episode.total(abuser), accepted


def main() -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--squad", required=True, help="folder of the SQuAD subset")
    parser.add_argument("--each", type=int, default=2, help="hostile texts of each family")
    args = parser.parse_args()
    print("| disguises | kinds that pass | questions that pass |\n|---|---|---|", flush=True)  # noqa: T201
    for row in filter_rows(args.squad):
        print(row, flush=True)  # noqa: T201
    print("\n| environment | hostile plays | forged | abusive plays | accepted | forged |")  # noqa: T201
    print("|---|---|---|---|---|---|", flush=True)  # noqa: T201
    totals, families = Counter[str](), Counter[str]()
    for name in hostile.IDS:
        env = coevo.envs.make(name, prompt_style="terse", **hostile.ARGUMENTS.get(name, {}))
        found = Counter[str]()
        plain = hostile.played(env, hostile.PLAIN)[1]
        for family, texts in attacks(args.each).items():
            for text in texts:
                forged = hostile.played(env, text)[1] != plain
                found.update(hostile=1, forged=forged)
                families[family] += forged
        env.reset(seed=5)
        if env.infos[env.agent_selection]["legal_actions"]:
            calm, _ = abused(env, None)
            for form in ABUSES:
                paid, accepted = abused(env, form)
                found.update(abusive=1, accepted=accepted, more=paid > calm + 1e-9)
        totals += found
        keys = ("hostile", "forged", "abusive", "accepted", "more")
        print(f"| {name} | {' | '.join(str(found[k]) for k in keys)} |", flush=True)  # noqa: T201
    print(f"| all | {' | '.join(str(totals[k]) for k in keys)} |")  # noqa: T201
    print(f"\nForged by family: {dict(families)}")  # noqa: T201


if __name__ == "__main__":
    main()
