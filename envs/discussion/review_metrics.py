"""What a finished peer review shows about solvers, evaluators and scorers, against the truth.

Truth is what the verifier said (`Turn.verified`); it is used here and by no reward.
"""

from __future__ import annotations

from collections.abc import Sequence

from coevo.envs.core.episode import Turn

RIGHT = 1.0 - 1e-9
"""Grade from which a solution counts as right; partial credit does not."""


def review_metrics(turns: Sequence[Turn]) -> dict[str, float]:
    """Return the outcome metrics of a review; a mean over nothing is left out.

    Of a reply that was asked for again only the second attempt counts, but for
    `invalid_score_rate`. The counts `judge/threes`, `judge/right_threes` and `judge/right`
    (scorings of right solutions) add up over plays to a precision and a recall of the whole batch.
    """
    made = [(t, _right(turns, i)) for i, t in enumerate(turns) if t.move is not None]
    solved = [t for t, _ in made if t.role == "solver"]
    last = max((t.round for t in solved), default=0)
    read = [(t, right) for t, right in made if t.role == "evaluator" and t.answer is not None]
    voted = [(t.answer == "right") == right for t, right in read]
    scored = [(t.answer, right) for t, right in made if t.role == "scorer"]
    scores = [t.answer is None for t in turns if t.role == "scorer"]
    found = {
        "accuracy": _mean([t.verified or 0.0 for t in solved]),
        "accuracy/last_round": _mean([t.verified or 0.0 for t in solved if t.round == last]),
        "evaluator/accuracy": _mean(voted),
        **_judge(scored),
        "invalid_score_rate": _mean(scores),
    }
    return {name: value for name, value in found.items() if value is not None}


def solution_of(turns: Sequence[Turn], place: int) -> int:
    """Follow `about` from a judgement down to the solution that it is about."""
    while turns[place].about >= 0:
        place = turns[place].about
    return place


def _right(turns: Sequence[Turn], place: int) -> bool:
    return (turns[solution_of(turns, place)].verified or 0.0) >= RIGHT


def _judge(scored: Sequence[tuple[str | None, bool]]) -> dict[str, float | None]:
    if not scored:
        return {}
    threes = [right for score, right in scored if score == "3"]
    of_right = [score == "3" for score, right in scored if right]
    return {
        "judge/accuracy": _mean([score == ("3" if right else "1") for score, right in scored]),
        "judge/precision": _mean(threes),
        "judge/recall": _mean(of_right),
        "judge/threes": float(len(threes)),
        "judge/right_threes": float(sum(threes)),
        "judge/right": float(len(of_right)),
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
