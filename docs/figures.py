"""Figures of the published comparison as SVG, in the colours of the page."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results" / "2026-11-21-comparison"
CAPTION = (
    "0 is random play, 1 the oracle. Ten seeds each, equal tokens, a model of 1.2 million "
    "parameters (an earlier starter model)."
)


@cache
def comparison() -> dict[str, Any]:
    """Return the stored comparison of seven algorithms on three games."""
    found: dict[str, Any] = json.loads((RESULTS / "comparison.json").read_text(encoding="utf-8"))
    return found


def compared() -> list[str]:
    """Return the algorithms of the comparison, best first."""
    found = comparison()["overall"]["algorithms"]
    return sorted(found, key=lambda name: -found[name]["iqm"])


def forest() -> str:
    """Return the score of every algorithm over the three games with its interval and seeds."""
    found = comparison()["overall"]["algorithms"]

    def x(score: float) -> float:
        return 90 + 420 * (score + 0.2) / 0.75

    shapes = [
        f'<line x1="{x(v):g}" y1="4" x2="{x(v):g}" y2="{24 * len(found):g}" class="grid"/>'
        f'<text x="{x(v):g}" y="{24 * len(found) + 14:g}" class="tick">{v:g}</text>'
        for v in (-0.2, 0, 0.2, 0.4)
    ]
    for i, name in enumerate(compared()):
        row, y = found[name], 24 * i + 16
        low, high = map(x, row["interval"])
        for seed in row["scores"]:
            shapes.append(f'<circle cx="{x(seed):.1f}" cy="{y}" r="2.5" class="seed"/>')
        shapes += [
            f'<line x1="{low:.1f}" y1="{y}" x2="{high:.1f}" y2="{y}" class="range"/>',
            f'<circle cx="{x(row["iqm"]):.1f}" cy="{y}" r="5" class="mean"/>',
            f'<text x="82" y="{y}" class="name">{name}</text>',
        ]
    said = f"Interquartile mean over Kuhn poker, Leduc poker and tic-tac-toe. {CAPTION}"
    return figure(530, 24 * len(found) + 24, shapes, said)


def curves(name: str, env: str = "coevo/kuhn_poker-v0") -> str:
    """Return the learning curve of one algorithm beside those of the others."""
    curve = comparison()["environments"][env]["curve"]
    most, low, high = max(curve["tokens"]), -1.2, 1.0

    def points(values: list[float]) -> list[str]:
        return [
            f"{50 + 440 * t / most:.1f},{10 + 180 * (high - max(v, low)) / (high - low):.1f}"
            for t, v in zip(curve["tokens"], values, strict=True)
        ]

    shapes = []
    for v in (-1, -0.5, 0, 0.5, 1):
        y = 10 + 180 * (high - v) / (high - low)
        shapes.append(f'<line x1="50" y1="{y:.1f}" x2="490" y2="{y:.1f}" class="grid"/>')
        shapes.append(f'<text x="42" y="{y:.1f}" class="name">{v:g}</text>')
    for tokens in (0, 50_000, 100_000, 150_000):
        x = 50 + 440 * tokens / most
        shapes.append(f'<text x="{x:.1f}" y="206" class="tick">{tokens // 1000}k</text>')
    for other, lines in curve["algorithms"].items():
        if other != name:
            shapes.append(f'<polyline points="{" ".join(points(lines["iqm"]))}" class="other"/>')
    own = curve["algorithms"][name]
    band = points(own["low"]) + points(own["high"])[::-1]
    shapes.append(f'<polygon points="{" ".join(band)}" class="band"/>')
    shapes.append(f'<polyline points="{" ".join(points(own["iqm"]))}" class="own"/>')
    said = f"Kuhn poker: score of {name} by sampled tokens, the other six in grey. {CAPTION}"
    return figure(515, 216, shapes, said)


def figure(width: float, height: float, shapes: list[str], caption: str) -> str:
    """Return an SVG with its caption."""
    return (
        f'<figure class="chart"><svg viewBox="0 0 {width:g} {height:g}" role="img">'
        f"{''.join(shapes)}</svg><figcaption>{caption}</figcaption></figure>"
    )
