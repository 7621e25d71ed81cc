"""Reference scores of random play and of the best known play, and how they are known.

The references of an environment with its default arguments are registered with it; this module
holds those of other metrics and other rules. They are constants of the benchmark: taken from the
compared runs, they would move every score when an agent is added. Arguments that only change
texts, shaping or what an illegal reply costs leave them as they are; with any other argument a
reference is looked up by the OpenSpiel game string, and one that is not there is an error.
`tests/benchmarks/test_references.py` computes all of them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from coevo.benchmarks.outcomes import is_contest
from coevo.benchmarks.statistics.normalise import References
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.games.openspiel import OpenSpielTask

HARMLESS = ("prompt_style", "illegal", "rewards", "render_mode")
"""Arguments that change no score of random play or of an oracle."""

EXACT_HARMLESS = ("openings", "max_cycles")
"""Arguments that an exact evaluation of the whole game does not see."""


class Reference(NamedTuple):
    """The scale of one metric in one environment."""

    scores: References
    source: str


_EVEN = "random against random: 0 over both seats"
_BEST = "oracle: exact best response"
_ORACLE = "random: exact expectation over both seats; oracle against itself: 0 over both seats"

FURTHER: dict[tuple[str, str], Reference] = {
    ("blotto()", "return_vs_random"): Reference(References(0.0, 7 / 22), f"{_EVEN}; {_BEST}"),
    ("blotto()", "return_vs_oracle"): Reference(References(-0.09116, 0.0), _ORACLE),
    ("goofspiel(num_cards=3)", "return_vs_random"): Reference(
        References(0.0, 2 / 3), f"{_EVEN}; {_BEST}"
    ),
    ("goofspiel(num_cards=4)", "return_vs_random"): Reference(
        References(0.0, 215 / 288), f"{_EVEN}; {_BEST}"
    ),
    ("goofspiel(num_cards=5)", "return_vs_random"): Reference(
        References(0.0, 0.8015277777777777), f"{_EVEN}; {_BEST}"
    ),
    ("kuhn_poker()", "return_vs_random"): Reference(References(0.0, 11 / 24), f"{_EVEN}; {_BEST}"),
    ("kuhn_poker()", "return_vs_oracle"): Reference(References(-0.14447, 0.0), _ORACLE),
    ("leduc_poker(suit_isomorphism=True)", "return_vs_random"): Reference(
        References(0.0, 2.3736111111111111), f"{_EVEN}; {_BEST}"
    ),
    ("leduc_poker(suit_isomorphism=True)", "return_vs_oracle"): Reference(
        References(-0.71797, 0.0), _ORACLE
    ),
    ("tic_tac_toe()", "return_vs_random"): Reference(
        References(0.0, 0.9598296957671959), f"{_EVEN}; {_BEST}"
    ),
    ("tiny_hanabi()", "return_vs_random"): Reference(
        References(67 / 18, 17 / 3), f"random: exact expectation; {_BEST}"
    ),
    ("tiny_hanabi()", "return_vs_oracle"): Reference(
        References(4.0, 10.0), f"random: exact expectation; {_BEST}"
    ),
}
"""(OpenSpiel game string, metric) -> reference, beside those that are registered."""


def references(
    env_id: str, env_options: Mapping[str, Any] | None = None, metric: str | None = None
) -> Reference:
    """Return the scores that count as 0 and 1.

    ConfigError where they are not known for this metric with these arguments.
    """
    options = dict(env_options or {})
    wanted = metric or default_metric(env_id, options)
    entry, changed = spec(env_id), _changes(env_id, options, wanted)
    if not changed and wanted == default_metric(env_id) and {"random", "oracle"} <= set(entry.refs):
        scores = References(entry.refs["random"], entry.refs["oracle"])
        return Reference(scores, entry.refs_source)
    found = FURTHER.get((_game(env_id, options), wanted))
    if found is None or changed.keys() - {"game"}:
        raise ConfigError(_missing(env_id, wanted, changed))
    return found


def default_metric(env_id: str, env_options: Mapping[str, Any] | None = None) -> str:
    """Name the primary metric: as registered, else by what kind of task it is."""
    if spec(env_id).metric:
        return spec(env_id).metric
    env = make(env_id, **(env_options or {}))
    return "return_vs_random" if is_contest(env) else "return_self_play"


def _changes(env_id: str, options: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """Return the arguments that make this another task than the default one."""
    harmless = {*HARMLESS, *(EXACT_HARMLESS if metric == "exploitability" else ())}
    if "game" in options and _game(env_id, options) == _game(env_id, {}) != "":
        harmless.add("game")
    given = {k: v for k, v in options.items() if k not in harmless and v is not None}
    changed = {"max_cycles", *make(env_id, **given).options}
    return {k: v for k, v in given.items() if k in changed}


def _game(env_id: str, options: Mapping[str, Any]) -> str:
    task = make(env_id, **options).task
    return str(task.game) if isinstance(task, OpenSpielTask) else ""


def _missing(env_id: str, metric: str, changed: Mapping[str, Any]) -> str:
    given = " ".join(f"{k}={v}" for k, v in changed.items())
    return (
        f"no reference scores for {metric} in {env_id}{f' with {given}' if given else ''}: "
        "a score there cannot be normalised; register them as refs={'random': ..., 'oracle': ...}"
    )
