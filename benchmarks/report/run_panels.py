"""The charts of training: what every run logs, as curves over what was sampled.

One set of panels serves the page of a run, the figure that `coevo train` leaves behind, and the
diagnostics of a comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from coevo.benchmarks.report.panels import Curves, Line
from coevo.benchmarks.report.series import SMOOTHED, Array, Series, middle, smooth, thinned

SCORES = {
    "exploitability": "Exploitability (0 cannot be beaten)",
    "return_vs_oracle": "Mean payoff against the oracle",
    "return_vs_random": "Mean payoff against random play",
    "return_self_play": "Mean payoff in self-play",
    "accuracy_self_play": "Accuracy in self-play",
}
"""Metrics that probes measure on the way -> title of their chart."""
KL = {
    "approx_kl": "from the policy that played",
    "kl": "from the reference",
    "adaptive_kl": "from the reference",
    "kl_convex": "from the reference",
    "magnet": "from the magnet",
}
"""Divergence that runs log -> from what the policy is away."""
DIAGNOSTICS = {
    "entropy": ("Entropy of the policy", "nats per token"),
    "approx_kl": ("KL from the policy that played", "nats per token"),
    "forfeit_rate": ("Plays ended by an illegal reply", "share of plays"),
    "stop/turn_limit": ("Plays cut short by the limit of turns", "share of plays"),
    "grad_norm": ("Norm of the gradient", "before clipping"),
    "reward/mean": ("Reward, all components", "per reply"),
}
"""Metric -> title and unit of a chart that compares algorithms."""
SMOOTH_NOTE = f"Pale lines are single updates, strong ones the mean of the last {SMOOTHED}."

TRAINING_NOTE = f"Every line is the mean over seeds of a running mean of {SMOOTHED} updates."


class Colours:
    """Gives every name one colour, the same in all charts of a page."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = list(dict.fromkeys(names))

    def __getitem__(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)


def run_panels(
    series: Series, before: Mapping[str, float | None], colours: Colours
) -> list[Curves]:
    """Give the charts of one run; a metric that was never logged has none.

    Args:
        series: its metrics.
        before: scores of the start model, by metric.
        colours: of seats and reward components.
    """
    panels = [
        *(score_panel(series, name, before.get(name)) for name in SCORES),
        returns_panel(series, colours),
        _shares_panel(series, colours, "win_rate/", "Win rate by seat", "share of plays"),
        rewards_panel(series, colours),
        entropy_panel(series, colours),
        kl_panel(series, colours),
        endings_panel(series, colours),
        _shares_panel(series, colours, "illegal_rate/", "Illegal replies by seat", "of replies"),
        gradient_panel(series, colours),
        advantage_panel(series),
    ]
    return [panel for panel in panels if panel is not None]


def score_panel(series: Series, name: str, before: float | None = None) -> Curves | None:
    """Draw what probes measured, from the start model on."""
    x, y = series.curve(name)
    if not len(x):
        return None
    if before is not None and x[0] > 0:
        x, y = np.concatenate([[0.0], x]), np.concatenate([[before], y])
    floor = 0.0 if name == "exploitability" else None
    return _curves(series, name, SCORES[name], "payoff per play", [Line(name, x, y)], floor=floor)


def returns_panel(series: Series, colours: Colours) -> Curves | None:
    """Draw the mean payoff of every seat."""
    lines = _many(series, "return/", colours)
    return _curves(series, "returns", "Return by seat", "payoff per play", lines)


def rewards_panel(series: Series, colours: Colours) -> Curves | None:
    """Draw what every reward component paid per seat and play."""
    names = {k: k.removeprefix("reward/") for k in series.values if k.startswith("reward/")}
    lines = [
        _line(series, k, label, colours[label])
        for k, label in names.items()
        if "/" not in label and label != "mean"
    ]
    return _curves(series, "rewards", "Reward components", "per seat and play", lines)


def entropy_panel(series: Series, colours: Colours) -> Curves | None:
    """Draw the entropy of every policy."""
    lines = _by_policy(series, "entropy", colours)
    return _curves(series, "entropy", "Entropy of the policy", "nats per token", lines, floor=0.0)


def kl_panel(series: Series, colours: Colours) -> Curves | None:
    """Draw every divergence that was logged."""
    lines = []
    for key in series.values:
        policy, _, name = key.rpartition("/")
        if name in KL:
            label = ", ".join(filter(None, (policy, KL[name])))
            lines.append(_line(series, key, label, colours[label]))
    return _curves(series, "kl", "KL divergence", "nats per token", lines)


def endings_panel(series: Series, colours: Colours) -> Curves | None:
    """Draw the share of plays that a forfeit or the limit of turns ended."""
    keys = {"forfeit_rate": "forfeits", "stop/turn_limit": "truncated", "stop/error": "errors"}
    lines = [
        _line(series, key, label, colours[label])
        for key, label in keys.items()
        if key in series.values
    ]
    return _curves(
        series,
        "endings",
        "Plays that did not end by the rules",
        "share of plays",
        lines,
        floor=0.0,
        percent=True,
    )


def gradient_panel(series: Series, colours: Colours) -> Curves | None:
    """Draw the norm of every policy's gradient."""
    lines = _by_policy(series, "grad_norm", colours)
    return _curves(series, "gradient", "Norm of the gradient", "before clipping", lines, floor=0.0)


def advantage_panel(series: Series) -> Curves | None:
    """Draw how much advantages differ: where they do not, nothing is learnt."""
    lines = (
        [_line(series, "advantage/std", "advantage")] if "advantage/std" in series.values else []
    )
    title = "Standard deviation of advantages"
    return _curves(series, "advantages", title, "over tokens", lines, floor=0.0)


def diagnostic(
    name: str, runs: Mapping[str, Sequence[Series]], over: str, colours: Colours, chart: str
) -> Curves | None:
    """Draw one metric of several algorithms, each the mean over its seeds.

    Args:
        name: key of `DIAGNOSTICS`.
        runs: algorithm -> runs of its seeds.
        over: what curves are drawn over.
        colours: of algorithms.
        chart: name of its file.
    """
    title, unit = DIAGNOSTICS[name]
    lines = []
    for algorithm, own in runs.items():
        x, y = middle([s.curve(name, over) for s in own])
        if len(x):
            lines.append(Line(algorithm, x, y, colours[algorithm]))
    if not lines or (name.startswith("stop/") and not any(np.any(line.y) for line in lines)):
        return None
    share = unit.startswith("share")
    label = f"sampled {over}" if over == "tokens" else over
    floor = None if name.startswith("reward") else 0.0
    return Curves(chart, title, label, unit, tuple(lines), y_range=(floor, None), percent=share)


# ---- Pieces ------------------------------------------------------------------------------------


def _curves(
    series: Series,
    name: str,
    title: str,
    unit: str,
    lines: Sequence[Line],
    note: str = "",
    floor: float | None = None,
    *,
    percent: bool = False,
) -> Curves | None:
    if not lines:
        return None
    if len(lines) == 1 and lines[0].colour >= 0:  # nothing to tell it from: ink, and its name
        lines, unit = [replace(lines[0], colour=-1)], f"{unit}: {lines[0].label}"
    over = "sampled tokens" if series.over == "tokens" else series.over
    return Curves(name, title, over, unit, tuple(lines), note, (floor, None), percent=percent)


def _line(series: Series, key: str, label: str, colour: int = -1) -> Line:
    """Give a noisy curve: the values pale, their running mean strong."""
    x, y = series.curve(key)
    mean: Array = smooth(y)
    thin, strong = thinned(x, mean)
    return Line(label, thin, strong, colour, faint=thinned(x, y)[1])


def _many(series: Series, prefix: str, colours: Colours) -> list[Line]:
    names = {k: k.removeprefix(prefix) for k in series.values if k.startswith(prefix)}
    return [_line(series, k, label, colours[label]) for k, label in names.items()]


def _shares_panel(
    series: Series, colours: Colours, prefix: str, title: str, unit: str
) -> Curves | None:
    lines = _many(series, prefix, colours)
    name = prefix.rstrip("/")
    floor = 0.0 if name == "illegal_rate" else None
    return _curves(series, name, title, unit, lines, floor=floor, percent=True)


def _by_policy(series: Series, name: str, colours: Colours) -> list[Line]:
    """Give a metric that has the policy's name before it where there are several."""
    keys = [key for key in series.values if key.rpartition("/")[2] == name]
    if len(keys) == 1:
        return [_line(series, keys[0], name)]
    return [
        _line(series, k, k.rpartition("/")[0] or name, colours[k.rpartition("/")[0] or name])
        for k in keys
    ]
