"""Folders as `coevo` writes them, without training, and a browser that must not call out."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
import yaml

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status

KUHN, LEDUC = "coevo/kuhn_poker-v0", "coevo/leduc_poker-v0"
REFERENCES = {"random": 0.9166666666666667, "oracle": 0.0, "start": 0.27}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def build_episode(
    step: int = 1,
    winner: int | None = 0,
    text: str = "[bet]",
    seed: int = 0,
    stop: str = "finished",
) -> Episode:
    """Return an episode of Kuhn poker in two turns; without a winner nobody is paid."""
    pay = {0: (1.0, -1.0), 1: (-1.0, 1.0), None: (0.0, 0.0)}[winner]
    seats = ("player_0", "player_1")
    chat = ({"role": "user", "content": f"You are player 0. Card: king. Deal {seed}."},)
    reply = {"role": "assistant", "content": text}
    news = {"role": "user", "content": f"player_0 said: {text}"}
    forfeit = stop == "forfeit"
    first = Turn("player_0", chat, text, "bet", Status.LEGAL, ("check", "bet"), player="policy")
    first.version, first.advantage, first.token_ids = step, 0.75, [1, 2, 3]
    first.pay("format", {"player_0": 0.05})
    second = Turn(
        "player_1",
        (*chat, reply, news),
        "nonsense" if forfeit else "[call]",
        None if forfeit else "call",
        Status.UNPARSABLE if forfeit else Status.LEGAL,
        ("fold", "call"),
        player="policy",
        version=step,
        advantage=-0.5,
    )
    second.pay("payoff", dict(zip(seats, pay, strict=True)))
    outcome = {"return/player_0": pay[0], "return/player_1": pay[1], "step": step}
    note = "player_1 gave no legal move" if forfeit else ""
    options = {"prompt_style": "terse"}
    return Episode(
        KUHN, seed, options, seats, f"deal-{seed}", [first, second], StopReason(stop), outcome, note
    )


def build_line(
    step: int, rng: np.random.Generator, exploitability: float | None = None
) -> dict[str, float]:
    """Return the metrics of one update."""
    won = float(rng.normal(0.05, 0.02))
    line = {
        "step": step,
        "return/player_0": won,
        "return/player_1": -won,
        "win_rate/player_0": 0.5 + won / 2,
        "win_rate/player_1": 0.5 - won / 2,
        "illegal_rate/player_0": 0.01,
        "illegal_rate/player_1": 0.02,
        "outcome/unread": 0.04,
        "outcome/near_misses": 0.01,
        "stop/finished": 0.96,
        "stop/turn_limit": 0.01,
        "forfeit_rate": max(0.0, float(rng.normal(0.03, 0.01))),
        "reward/payoff": 0.0,
        "reward/format": 0.05,
        "reward/mean": 0.05,
        "advantage/std": float(rng.normal(1.2, 0.1)),
        "approx_kl": float(rng.exponential(0.01)),
        "entropy": 0.2 / (1 + 0.02 * step) + float(rng.normal(0, 0.005)),
        "grad_norm": float(rng.exponential(0.2)),
        "tokens": 500,
        "total_tokens": 500 * step,
        "total_turns": 120 * step,
        "total_seconds": 0.9 * step,
    }
    return line if exploitability is None else line | {"exploitability": exploitability}


def write_lines(path: Path, lines: list[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def write_episodes(path: Path, episodes: Iterator[Episode] | list[Episode]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for episode in episodes:
            file.write(episode.to_json() + "\n")


def build_run(
    folder: Path, updates: int = 40, episodes: list[Episode] | None = None, ended: bool = True
) -> Path:
    """Write the folder of a run: configuration, metrics, episodes, summary."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    config = {"algorithm": {"name": "mars"}, "env": KUHN, "model": "seed", "seed": 3, "steps": 40}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    probed = {step: 0.25 / step for step in range(10, updates + 1, 10)}
    lines = [build_line(step, rng, probed.get(step)) for step in range(1, updates + 1)]
    write_lines(folder / "metrics.jsonl", lines)
    mixed = [
        *(build_episode(step, winner, seed=step) for step in (10, 20, 30) for winner in (0, 1, 1)),
        build_episode(20, None),
        build_episode(30, None, stop="turn_limit"),
        build_episode(30, 0, stop="forfeit", text="[check]"),
    ]
    write_episodes(folder / "episodes.jsonl", mixed if episodes is None else episodes)
    before = {"exploitability": 0.27, "win_rate_vs_random": 0.5, "forfeit_rate": 0.01}
    after = {"exploitability": 0.02, "win_rate_vs_random": 0.6, "forfeit_rate": 0.0}
    done = {"after": after, "steps": updates, "seconds": 36.0} if ended else {}
    summary = {"before": before, "command": "coevo train mars", "commit": "abc", **done}
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def build_comparison(
    root: Path,
    algorithms: tuple[str, ...] = ("reinforce", "grpo", "mars"),
    environments: tuple[str, ...] = (KUHN, LEDUC),
    seeds: int = 6,
    failed: Mapping[tuple[str, str, int], str] | None = None,
    missing: tuple[tuple[str, str, int], ...] = (),
    points: int = 5,
    summary: bool = True,
) -> Path:
    """Write a comparison with made-up results, its tables computed by coevo itself.

    Later algorithms are better, by more than the noise between neighbours only for the last.
    """
    from coevo.benchmarks.compare.manifest import Manifest, write
    from coevo.benchmarks.compare.runs import PlannedRun, RunResult, runs, write_result
    from coevo.benchmarks.compare.summary import summarise

    manifest = Manifest(
        algorithms=algorithms,
        environments=environments,
        seeds=tuple(range(seeds)),
        budgets={env: {"tokens": 20_000} for env in environments},
        baseline=algorithms[0],
        points=points,
    )
    measured = {"metric": "exploitability", "higher_is_better": False, "references": REFERENCES}
    metrics = {env: dict(measured) for env in environments}
    write(root, manifest, lambda: metrics)
    for run in runs(manifest):
        key = (run.environment, run.algorithm, run.seed)
        if key in missing:
            continue
        reason = (failed or {}).get(key)
        end = _train(run.folder(root), run, algorithms.index(run.algorithm), points)
        used = {"steps": 40, "tokens": 20_000, "turns": 4_800, "seconds": 36.0}
        rates = {"unread_rate": 0.125, "near_miss_rate": 0.03125}
        done = RunResult("done", value=end, rates=rates, **used)
        found = RunResult("failed", reason) if reason else done
        write_result(root, PlannedRun(*key), found)
    if summary:
        summarise(root, manifest, json.loads((root / "manifest.json").read_text()))
    return root


def _train(folder: Path, run: object, rank: int, points: int) -> float:
    rng = np.random.default_rng([rank, run.seed, len(run.environment)])
    best = 0.2 - 0.02 * rank - 0.06 * (rank >= 2) + 0.02 * rng.normal()
    probed = {40 * k // points: best + 0.1 / k for k in range(1, points + 1)}
    lines = [build_line(step, rng, probed.get(step)) for step in range(1, 41)]
    write_lines(folder / "metrics.jsonl", lines)
    episodes = [build_episode(step, int(rng.integers(2)), seed=step) for step in (10, 20, 40)]
    episodes.append(build_episode(40, 0, stop="forfeit"))
    write_episodes(folder / "episodes.jsonl", episodes)
    return best + 0.02


@pytest.fixture(scope="session")
def make() -> dict[str, Callable]:
    """Return the builders."""
    return {
        "episode": build_episode,
        "run": build_run,
        "comparison": build_comparison,
        "episodes": write_episodes,
        "lines": write_lines,
    }


@pytest.fixture(scope="session")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a comparison of three algorithms with a failed run and one not begun; keep it."""
    return build_comparison(
        tmp_path_factory.mktemp("comparison") / "kuhn",
        failed={(KUHN, "grpo", 5): "the loss is not finite <b>here</b>"},
        missing=((LEDUC, "mars", 5),),
    )


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """Return a headless Chromium; where there is none, what needs it is skipped."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no Chromium on this machine: the page is not opened")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """A page that remembers what went wrong while it was open."""

    def __init__(self, browser: object, path: Path, **context: object) -> None:
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on(
            "console",
            lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None,
        )
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("dialog", lambda d: (self.errors.append(d.message), d.dismiss()))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.address = path.absolute().as_uri()
        self.page.goto(self.address)


@pytest.fixture
def open_page(chromium: object) -> Iterator[Callable[..., Opened]]:
    """Return a function that opens a page; at the end it must have been silent and alone."""
    opened: list[Opened] = []

    def call(path: Path, **context: object) -> Opened:
        opened.append(Opened(chromium, path, **context))
        return opened[-1]

    yield call
    for one in opened:
        one.context.close()
        assert one.errors == []
        assert [u for u in one.requests if u.partition("#")[0] not in (one.address, "data:,")] == []
