"""What `coevo evaluate` prints for a person: a table or two for every kind of measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coevo.benchmarks.measurement import RATES, Measurement
from coevo.benchmarks.outcomes import is_contest
from coevo.benchmarks.report.formats import counts
from coevo.benchmarks.statistics.adaptability import SeverityCurve
from coevo.benchmarks.statistics.social import OUTCOMES
from coevo.benchmarks.suites import search
from coevo.benchmarks.suites.generations import GenerationSeries
from coevo.benchmarks.suites.probes import Probe
from coevo.benchmarks.suites.table import Evaluated, payoffs, replies
from coevo.benchmarks.suites.totals import Totals
from coevo.benchmarks.usage import Usage
from coevo.commands.screen import Screen, cell, share
from coevo.envs import make


def show_seats(screen: Screen, found: Measurement) -> None:
    rows = [
        (
            seat,
            s.episodes,
            f"{s.value:+.3f}",
            span(s.interval),
            *(share(rate) for rate in (s.win_rate, s.draw_rate, s.loss_rate)),
            *(share(getattr(s, rate)) for rate in RATES),
        )
        for seat, s in {"all seats": found, **found.seats}.items()
    ]
    against = f"against {found.opponent}" if found.opponent else "in self-play"
    columns = ("seat", "episodes", "mean payoff", "95 % interval", "won", "drawn", "lost")
    title = f"{found.agent} {against} in {found.env}"
    screen.table(title, (*columns, *RATES.values()), rows)
    show_social(screen, [found])
    if own := found.details.get("outcome"):
        screen.table("outcomes of episodes", ("outcome", "mean"), own.items())


def show_social(screen: Screen, rows: Sequence[Measurement]) -> None:
    """Print the social outcomes, a line per environment that has any; undefined ones are a dash."""
    lines = [
        (row.env, *(row.details["social"][name]["mean"] for name in OUTCOMES))
        for row in rows
        if "social" in row.details
    ]
    if lines:
        title = "social outcomes, means over the episodes that define them"
        screen.table(title, ("environment", *OUTCOMES), lines)


def show_suite(screen: Screen, found: Evaluated, beside: Sequence[Evaluated]) -> None:
    """Print payoffs and how replies were read, then the payoffs of other agents beside them."""
    rows, suite = list(found.rows.values()), found.settings["suite"]
    screen.table(f"{found.agent} on the suite {suite}", *payoffs([found], found.rows, str))
    least = sorted({row.metric for row in rows if not row.higher_is_better})
    if least:
        screen.say(f"less is better: {', '.join(least)} (0 is best)")
    screen.table(f"replies; {drawn(found.settings['sampling'])}", *replies(found, found.rows, str))
    if beside:
        screen.table("side by side", *payoffs([found, *beside], found.rows, str))
    show_social(screen, rows)


def show_search(screen: Screen, agent: str, found: search.SearchTable) -> None:
    """Print how questions were answered from memory, from one search, and with searches."""
    columns = [
        *("way", "hops", "exact match", "95 % interval", "F1", "answer shown"),
        *("documents found, hop by hop", "searches", "before evidence", "unread"),
    ]
    rows = [
        (
            *(row.way, row.hops, share(row.exact_match), span(row.interval), f"{row.f1:.3f}"),
            *(share(row.shown), " ".join(map(share, row.support)), f"{row.searches:.1f}"),
            *(share(row.before), share(row.unread)),
        )
        for row in found.rows
    ]
    screen.table(f"{agent}: questions over a corpus", columns, rows)
    screen.say(found.leaks)


def show_totals(screen: Screen, found: Totals) -> None:
    number = found.iqm.runs
    if number:
        screen.say(
            f"normalised (0 random, 1 oracle) over {number} environments: IQM "
            f"{between(found.iqm.point, found.iqm.low, found.iqm.high)}, mean "
            f"{between(found.mean.point, found.mean.low, found.mean.high)}; "
            "intervals over starts and samples, not over training seeds"
        )
    for env, reason in found.left_out.items():
        screen.say(f"not in the mean: {env}: {reason}")
    screen.say(usage_line(found.usage))


def show_repeats(
    screen: Screen, found: Mapping[str, Mapping[str, Any]], sampling: Mapping[str, Any]
) -> None:
    rows = []
    for env, repeats in found.items():
        for k, passed in repeats["pass_at"].items():
            rows.append(
                (
                    env,
                    repeats["opponent"] or "self",
                    repeats["questions"],
                    int(k),
                    *_estimate(passed),
                    *_estimate(repeats["pass_hat"][k]),
                    *_estimate(repeats["avg"])[:1],
                    *_estimate(repeats["maj_at"].get(k, {}))[:1],
                )
            )
    first = next(iter(found.values()))
    columns = (
        *("environment", "others", "starts", "k", "pass@k", "95 % interval", "pass^k"),
        *("95 % interval", f"avg@{first['samples']}", "maj@k"),
    )
    title = f"{first['samples']} episodes of each start; {drawn(sampling)}"
    screen.table(title, columns, rows)


def show_scenarios(screen: Screen, agent: str, rows: Mapping[str, Measurement]) -> None:
    lines = [
        (
            *(name, r.details["mode"], r.episodes, r.value, span(r.interval), r.normalised),
            *(r.details[key] for key in ("background", "collective", "gap")),
            *(share(getattr(r, rate)) for rate in RATES),
        )
        for name, r in rows.items()
    ]
    columns = (
        *("scenario", "mode", "episodes", "focal return", "95 % interval", "normalised"),
        *("background", "collective", "gap", *RATES.values()),
    )
    title = f"{agent} in company, returns per head; {drawn(next(iter(rows.values())).sampling)}"
    screen.table(title, columns, lines)
    for name, r in rows.items():
        company = r.details["by_company"].items()
        each = "; ".join(f"{names} {value:+.3f}" for names, value in company)
        screen.say(f"{name}, focal return with: {each}")


def show_sweep(
    screen: Screen, agent: str, name: str, rows: Sequence[Measurement], curve: SeverityCurve
) -> None:
    lines = [
        (
            *(r.details["label"], r.details["severity"], r.value, span(r.interval)),
            *(r.normalised, span(r.normalised_interval)),
            *(share(getattr(r, rate)) for rate in RATES),
        )
        for r in rows
    ]
    columns = (
        *("level", "severity", "mean payoff", "95 % interval"),
        *("normalised", "95 % interval", *RATES.values()),
    )
    title = f"{agent} along {name} (0 random, 1 best response)"
    screen.table(f"{title}; {drawn(rows[0].sampling)}", columns, lines)
    screen.say(f"worst case {curve.worst:.3f}, area under the severity curve {curve.area:.3f}")


def show_probe(screen: Screen, agent: str, chosen: Probe, rows: Sequence[Measurement]) -> None:
    lines = [
        (
            *(r.details["label"], r.value, span(r.interval), r.details["harm"]),
            *(r.details["payoff"], *(share(getattr(r, rate)) for rate in RATES)),
        )
        for r in rows
    ]
    columns = ("case", chosen.outcome, "95 % interval", "harm", "mean payoff", *RATES.values())
    screen.table(f"{agent} in {chosen.env_id}; {drawn(rows[0].sampling)}", columns, lines)
    screen.say(f"harm: change of {chosen.outcome} for the worse, against the first case")


def show_generations(
    screen: Screen, run: str, found: GenerationSeries, options: Mapping[str, Any]
) -> None:
    env = found.scores[0].env
    contest = is_contest(make(env, **options))
    mean_GO = found.returns_GC.reshape(len(found.names), len(found.opponents), -1).mean(-1)
    lines = []
    for g, (name, score) in enumerate(zip(found.names, found.scores, strict=True)):
        line: list[object] = [name, score.value, score.normalised, *mean_GO[g].tolist()]
        if found.table is not None:
            line.append(float(found.table.percentiles[g, 2]))
            line.append(found.table.dominates[g] if g else None)
        if found.ancestry is not None:
            parts = (found.ancestry.previous, found.ancestry.mean, found.ancestry.worst)
            line += [float(part[g]) if g else None for part in parts]
            line.append(int(found.ancestry.lost_to[g]) if g else None)
        lines.append(line)
    columns = ["generation", found.scores[0].metric, "normalised"]
    columns += [f"vs {name}" for name in found.opponents]
    columns += ["median", "dominates"] * (found.table is not None)
    columns += ["previous", "earlier", "worst", "lost to"] * contest
    screen.table(f"generations of {run} in {env}", columns, lines)
    if found.ancestry is not None:
        screen.say(f"generation-over-generation score {found.ancestry.score:.3f} (0.5: no gain)")
        screen.say(
            "previous, earlier, worst: payoff against earlier generations from 0 (lowest) to 1 "
            "(highest); lost to: number of them with under 0.5, chance included"
        )
    screen.say(found.verdict)


def usage_line(found: Usage) -> str:
    """Say what was read and written."""
    said = (
        f"{found.sampled_tokens:,} tokens sampled and {found.prompt_tokens:,} read in "
        f"{found.replies:,} replies"
    )
    if found.requests or found.hits:
        said += f"; {found.requests:,} from the server, {found.hits:,} from the cache"
    if found.failures:
        said += f"; failed requests: {counts(found.failures)}"
    return f"{said}; cost {found.cost:.4g}" if found.cost else said


def drawn(sampling: Mapping[str, Any]) -> str:
    """Say how replies were drawn."""
    if not sampling:
        return "no sampling of tokens"
    words = {"temperature": "temperature", "max_new_tokens": "max tokens"}
    return ", ".join(f"{words.get(name, name)} {cell(x)}" for name, x in sampling.items())


def span(bounds: Sequence[float] | None) -> str:
    return "-" if bounds is None else f"{bounds[0]:+.3f} .. {bounds[1]:+.3f}"


def between(point: float, low: float, high: float) -> str:
    """Write a value with its interval, if it has one."""
    return f"{point:.3f}" if low != low else f"{point:.3f} [{low:.3f}, {high:.3f}]"


def _estimate(found: Mapping[str, Any]) -> tuple[object, str]:
    return found.get("value"), span(found.get("interval"))
