"""The charts of training: what every run logs, as curves over what was sampled.

The same charts serve the page of a run, the figure that `coevo train` leaves behind, and the
diagnostics of a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coevo.benchmarks.report.charts import Curves, Line
from coevo.benchmarks.report.curves import SMOOTHED, LoggedSeries, middle, smooth, thinned

SCORES = {
    "exploitability": "Exploitability (0 cannot be beaten)",
    "return_vs_oracle": "Mean payoff against the oracle",
    "return_vs_random": "Mean payoff against random play",
    "return_self_play": "Mean payoff in self-play",
    "accuracy_self_play": "Accuracy in self-play",
}
"""Metrics that are measured on the way -> title of their chart."""
KL = {
    "approx_kl": "from the policy that played",
    "kl": "from the reference",
    "convex_kl": "from the reference",
    "magnet_kl": "from the magnet",
}
"""Divergence that runs log -> from what the policy is away."""
DIAGNOSTICS = {
    "entropy": ("Entropy of the policy", "nats per token"),
    "approx_kl": ("KL from the policy that played", "nats per token"),
    "forfeit_rate": ("Episodes ended by an illegal reply", "share of episodes"),
    "outcome/unread": ("Replies of which nothing was read", "per episode"),
    "stop/turn_limit": ("Episodes cut short by the limit of turns", "share of episodes"),
    "grad_norm": ("Norm of the gradient", "before clipping"),
    "reward/mean": ("Reward, all components", "per reply"),
}
"""Metric -> title and unit of a chart that compares algorithms."""
SMOOTH_NOTE = f"Pale lines are single updates, strong ones the mean of the last {SMOOTHED}."
TRAINING_NOTE = f"Every line is the mean over seeds of a running mean of {SMOOTHED} updates."
Label = Callable[[str], str | None]
"""Key of a metric -> name of its curve; None for what is not in the chart."""


class Panel(NamedTuple):
    """One chart of a run."""

    name: str
    title: str
    unit: str
    label: Label
    floor: float | None = None
    percent: bool = False


def _after(prefix: str) -> Label:
    return lambda key: key.removeprefix(prefix) if key.startswith(prefix) else None


def _policy(metric: str) -> Label:
    """Name curves by the policy that stands before the metric where there are several."""
    return lambda key: key.rpartition("/")[0] if key.rpartition("/")[2] == metric else None


def _component(key: str) -> str | None:
    name = key.removeprefix("reward/")
    return name if key.startswith("reward/") and "/" not in name and name != "mean" else None


def _divergence(key: str) -> str | None:
    policy, _, metric = key.rpartition("/")
    return ", ".join(filter(None, (policy, KL[metric]))) if metric in KL else None


ENDINGS = {"forfeit_rate": "forfeits", "stop/turn_limit": "truncated", "stop/error": "errors"}
READING = {"outcome/unread": "unread", "outcome/near_misses": "near misses among them"}
PANELS = (
    Panel("returns", "Return by seat", "payoff per episode", _after("return/")),
    Panel("win_rate", "Win rate by seat", "share of episodes", _after("win_rate/"), percent=True),
    Panel("rewards", "Reward components", "per seat and episode", _component),
    Panel("entropy", "Entropy of the policy", "nats per token", _policy("entropy"), 0.0),
    Panel("kl", "KL divergence", "nats per token", _divergence),
    Panel(
        "endings",
        "Episodes that did not end by the rules",
        "share of episodes",
        ENDINGS.get,
        0.0,
        percent=True,
    ),
    Panel(
        "illegal_rate",
        "Illegal replies by seat",
        "of replies",
        _after("illegal_rate/"),
        0.0,
        percent=True,
    ),
    Panel("unread", "Replies of which nothing was read", "per episode", READING.get, 0.0),
    Panel("gradient", "Norm of the gradient", "before clipping", _policy("grad_norm"), 0.0),
    # Where advantages do not differ, nothing is learnt.
    Panel(
        "advantages",
        "Standard deviation of advantages",
        "over tokens",
        {"advantage/std": ""}.get,
        0.0,
    ),
)


def run_charts(
    series: LoggedSeries, before: Mapping[str, float | None], colours: dict[str, int]
) -> list[Curves]:
    """Return the charts of one run; a metric that was never logged has none.

    `before` has scores of the model before training, by metric; seats and reward components without
    a colour get one.
    """
    scores = (_scores(series, name, before.get(name)) for name in SCORES)
    panels = (_chart(series, panel, colours) for panel in PANELS)
    return [chart for chart in (*scores, *panels) if chart is not None]


def _scores(series: LoggedSeries, name: str, before: float | None) -> Curves | None:
    x, y = series.curve(name)
    if not len(x):
        return None
    if before is not None and x[0] > 0:
        x, y = np.concatenate([[0.0], x]), np.concatenate([[before], y])
    return Curves(
        name=name,
        title=SCORES[name],
        unit="payoff per episode",
        x_label=_spent(series.over),
        lines=(Line(name, x, y),),
        y_range=(0.0 if name == "exploitability" else None, None),
    )


def _chart(series: LoggedSeries, panel: Panel, colours: dict[str, int]) -> Curves | None:
    named = {key: label for key in series.values if (label := panel.label(key)) is not None}
    if not named:
        return None
    unit = panel.unit
    if len(named) == 1:  # nothing to distinguish it from: ink, and its name beside the unit
        ((key, label),) = named.items()
        unit += f": {label}" if label else ""
        lines = [_noisy(series, key, label, -1)]
    else:
        names = {key: label or panel.name for key, label in named.items()}
        lines = [
            _noisy(series, key, name, colours.setdefault(name, len(colours)))
            for key, name in names.items()
        ]
    return Curves(
        name=panel.name,
        title=panel.title,
        unit=unit,
        x_label=_spent(series.over),
        lines=tuple(lines),
        y_range=(panel.floor, None),
        percent=panel.percent,
    )


def _noisy(series: LoggedSeries, key: str, label: str, colour: int) -> Line:
    """Return a noisy curve: the values pale, their running mean strong."""
    x, y = series.curve(key)
    thin, strong = thinned(x, smooth(y))
    return Line(label, thin, strong, colour, faint=thinned(x, y)[1])


def _spent(over: str) -> str:
    return "sampled tokens" if over == "tokens" else over


def diagnostics(
    env: str, runs: Mapping[str, Sequence[LoggedSeries]], colours: Mapping[str, int]
) -> list[Curves]:
    """Return what training logged, each algorithm the mean over its seeds."""
    logged = [s.over for own in runs.values() for s in own if s.count]
    over = next((k for k in ("updates", "turns", "tokens") if k in logged), "updates")
    charts = []
    for metric, (title, unit) in DIAGNOSTICS.items():
        means = {a: middle([s.curve(metric, over) for s in own]) for a, own in runs.items()}
        lines = tuple(Line(a, x, y, colours[a]) for a, (x, y) in means.items() if len(x))
        if not lines or (metric.startswith("stop/") and not any(np.any(x.y) for x in lines)):
            continue
        chart = Curves(
            name=f"training-{env}-{metric.replace('/', '_')}",
            title=title,
            unit=unit,
            x_label=_spent(over),
            lines=lines,
            y_range=(None if metric.startswith("reward") else 0.0, None),
            percent=unit.startswith("share"),
        )
        charts.append(chart)
    return charts
