import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from coevo.benchmarks.report import gallery
from coevo.benchmarks.report.page import report
from coevo.benchmarks.report.run import ONE_SEED
from coevo.benchmarks.report.sources import kind
from coevo.envs.core.errors import DataError

VOID = {"meta", "link", "br", "hr", "img", "input"}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Draw no PNG: it takes most of the time, and test_charts looks at it."""
    real = gallery.saved
    monkeypatch.setattr(
        gallery, "saved", lambda f, kind: real(f, "svg") if kind == "svg" else b"png"
    )


class Page(HTMLParser):
    """The elements of a page, and its text by section."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: dict[str, str] = {}
        self.section = ""
        self.feed(self.source)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("section", "header"):
            self.section = dict(attrs).get("id", tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words[self.section] = self.words.get(self.section, "") + " " + data.strip()


@pytest.fixture
def run(make, tmp_path) -> Path:
    return make["run"](tmp_path / "run")


@pytest.fixture(scope="session")
def compared(comparison) -> tuple[Page, Path]:
    """Return the page about the comparison; PNGs are drawn for it alone."""
    return Page(report(comparison).page), comparison


# ---- A run -------------------------------------------------------------------------------------


def test_a_finished_run_begins_with_what_came_of_it(run):
    page = Page(report(run).page)
    words = page.words["header"]
    assert "mars on kuhn_poker" in words
    assert words.index("Exploitability fell from 0.270 to 0.020") < words.index(
        "One run of one seed"
    )
    assert "40" in words
    assert "20,000" in words
    assert "Win rate against random play, draws counted half 50.0 % 60.0 %" in re.sub(
        r"\s+", " ", page.words["before-after"]
    )


def test_the_charts_of_a_run_are_in_the_page_and_beside_it(run):
    done = report(run)
    page = Page(done.page)
    drawn = {attrs["aria-label"] for tag, attrs in page.tags if tag == "svg"}
    assert {"Reward components", "Entropy of the policy", "KL divergence"} <= drawn
    assert {"Episodes that did not end by the rules", "Norm of the gradient"} <= drawn
    assert len(done.plots) == 2 * len(drawn)
    assert {p.parent for p in done.plots} == {run / "plots"}
    assert all(p.is_file() for p in done.plots)


def test_the_same_run_gives_the_same_bytes(run, tmp_path):
    first = report(run).page.read_bytes()
    assert report(run).page.read_bytes() == first
    moved = Path(shutil.copytree(run, tmp_path / "elsewhere" / "run"))
    assert report(moved).page.read_bytes() == first


def test_a_run_in_progress_says_how_far_it_is(make, tmp_path):
    run = make["run"](tmp_path / "run", updates=10, ended=False)
    with (run / "episodes.jsonl").open("a") as file:
        file.write('{"schema": 1, "env": "coevo/ku')
    words = Page(report(run).page).words["header"]
    assert "This run has not ended: 10 of 40 updates (25.0 %)" in words
    assert "No table before and after: it has not ended." in words


def test_a_run_without_evaluation_says_what_was_measured_on_the_way(make, tmp_path):
    run = make["run"](tmp_path / "run")
    (run / "summary.json").write_text(json.dumps({"steps": 40, "seconds": 36.0}))
    words = Page(report(run).page).words["header"]
    assert "Exploitability fell from 0.025 to 0.006 during training." in words
    assert "--no-eval" in words
    assert ONE_SEED.partition(":")[0] in words
    assert "has not ended" not in words


def test_a_run_that_has_just_begun_has_a_page(make, tmp_path):
    run = make["run"](tmp_path / "run")
    for name in ("metrics.jsonl", "episodes.jsonl", "summary.json"):
        (run / name).unlink()
    done = report(run)
    page = Page(done.page)
    assert "Nothing is logged yet" in page.words["header"]
    assert "No episodes are recorded here." in page.words["episodes"]
    assert done.plots == ()


def test_fewer_episodes_can_be_shown_and_the_page_says_so(run):
    done = report(run, episodes=4)
    assert (done.episodes, done.shown) == (12, 4)
    page = Page(done.page)
    assert "4 of 12 recorded episodes" in page.words["episodes"]
    assert "player_1 wins 6" in page.words["episodes"]
    assert report(run, episodes=0).shown == 0


def test_the_page_may_lie_elsewhere(run, tmp_path):
    done = report(run, tmp_path / "new" / "page.html")
    assert done.page == tmp_path / "new" / "page.html"
    assert done.plots[0].parent == tmp_path / "new" / "plots"
    assert not (run / "report.html").exists()


# ---- A comparison ------------------------------------------------------------------------------


def test_a_comparison_begins_with_the_verdict_and_ends_with_its_manifest(compared):
    page, folder = compared
    words = page.words["header"]
    headline = json.loads((folder / "comparison.json").read_text())["headline"]
    best = next(s for s in headline if "highest interquartile mean" in s)
    assert words.index(best) < words.index("34 of 36 runs are done, 1 failed")
    assert "not separated" in words
    assert "references" in page.words["origin"]


def test_tables_of_a_comparison_hold_what_was_computed(compared):
    page, folder = compared
    overall = json.loads((folder / "comparison.json").read_text())["overall"]
    words = page.words["result"]
    for name, own in overall["algorithms"].items():
        assert re.search(rf"{name}\s+{own['n']}\s+{own['iqm']:.3f}", words)
        low, high = own["interval"]
        assert f"[{low:.3f}, {high:.3f}]" in words
    assert "Unread" in words and words.count("12.5 %") == len(overall["algorithms"])
    for pair in overall["comparisons"]:
        assert pair["verdict"] in page.words["pairs"]
        assert f"{pair['improvement']:.2f}" in page.words["pairs"]


def test_a_comparison_has_curves_and_profiles_of_every_environment(compared):
    page, folder = compared
    drawn = {attrs["aria-label"] for tag, attrs in page.tags if tag == "svg"}
    assert {"kuhn_poker, n = 5", "leduc_poker, n = 5", "All environments, n = 5"} <= drawn
    names = {p.name for p in (folder / "plots").iterdir()}
    for name in ("aggregate", "curve-kuhn_poker", "profile", "training-leduc_poker-entropy"):
        assert {f"{name}.svg", f"{name}.png"} <= names


def test_failed_and_missing_runs_are_listed_with_their_reasons(compared):
    page, _ = compared
    words = page.words["missing"]
    assert "grpo on kuhn_poker" in words
    assert "the loss is not finite <b>here</b>" in words
    assert "<b>here</b>" not in page.source
    assert "1 runs have no result yet; 0 of them have begun." in words


def test_a_comparison_without_tables_yet_shows_what_there_is(make, tmp_path):
    root = make["comparison"](
        tmp_path / "c", ("grpo", "mars"), seeds=2, missing=(("coevo/kuhn_poker-v0", "mars", 1),),
        summary=False,
    )  # fmt: skip
    page = Page(report(root).page)
    assert "7 of 8 runs are done" in page.words["header"]
    assert "There are no tables yet" in page.words["header"]
    assert "Entropy of the policy" in {a.get("aria-label") for t, a in page.tags if t == "svg"}
    assert "result" not in page.words


def test_one_seed_and_one_algorithm_make_a_page(make, tmp_path):
    root = make["comparison"](tmp_path / "c", ("mars",), ("coevo/kuhn_poker-v0",), seeds=1)
    page = Page(report(root).page)
    assert "n = 1" in page.words["environments"]
    assert "pairs" not in page.words


# ---- A tournament ------------------------------------------------------------------------------

AGENTS = ["oracle", "seed", "random"]


@pytest.fixture
def tournament(tmp_path) -> Path:
    """Return a tournament as `coevo tournament` leaves it."""
    root = tmp_path / "t"
    root.mkdir()
    manifest = {"kind": "tournament", "agents": AGENTS, "env": "coevo/kuhn_poker-v0", "games": 400}
    (root / "manifest.json").write_text(json.dumps(manifest))
    points = [
        [None, [0.5, 0.61, 0.7], [0.6, 0.7, 0.8]],
        [[0.3, 0.39, 0.5], None, [0.4, 0.55, 0.6]],
        [[0.2, 0.3, 0.4], [0.4, 0.45, 0.6], None],
    ]
    tasks = [[0, 20, 20], [20, 0, 20], [20, 20, 0]]
    elo = [{"rating": x, "interval": [x - 9, x + 9], "games": 80} for x in (90.0, 45.0, 0.0)]
    sweep = [{"alpha": 10.0**k, "shares": dict.fromkeys(AGENTS, 1 / 3)} for k in (-2, 0, 2)]
    exact = {"exploitability": 0.0003, "nash_conv": 0.0006}
    summary = {
        "kind": "tournament",
        "env": "coevo/kuhn_poker-v0",
        "agents": AGENTS,
        "headline": ["oracle beats every other agent."],
        "matrix": {"agents": AGENTS, "points": points, "tasks": tasks},
        "ratings": {
            "bradley_terry": {
                "agents": dict(zip(AGENTS, elo, strict=True)),
                "apart": [["oracle"], ["seed", "random"]],
            },
            "alpha_rank": {
                "sweep": sweep,
                "limit": {key: {"share": 1 / 3, "interval": [0.1, 0.6]} for key in AGENTS},
            },
            "nash_averaging": {
                "margin": {key: {"weight": 1.0, "interval": None} for key in AGENTS}
            },
        },
        "table": {key: {"mean_return": [0.1, 0.2, 0.3], "forfeit_rate": 0.01} for key in AGENTS},
        "results": [{"text": "oracle beats random: 70 % of points"}],
        "exploitability": {
            "agents": {"oracle": {"exact": exact, "why": "", "exploiter": None}},
            "sentences": ["Exact exploitability: oracle 0.0003."],
        },
    }
    (root / "tournament.json").write_text(json.dumps(summary))
    return root


def test_a_tournament_shows_everybody_against_everybody_and_the_ratings(tournament):
    done = report(tournament)
    page = Page(done.page)
    assert "oracle beats every other agent." in page.words["header"]
    words = re.sub(r"\s+", " ", page.words["cross-play"])
    assert "oracle · 0.61 [0.50, 0.70] n = 20 0.70 [0.60, 0.80] n = 20" in words
    assert "No chain of wins connects these groups: oracle; seed, random." in page.words["ratings"]
    assert "Nash averaging, of margin" in page.words["ratings"]
    assert "oracle beats random" in page.words["pairs"]
    assert "1.0 %" in page.words["agents"]
    names = {p.stem for p in done.plots}
    assert names == {"ratings", "alpha_rank"}


def test_a_tournament_of_bare_numbers_is_shown_too(tournament):
    matrix = {
        "mean": [[0.0, 0.5], [-0.5, 0.0]],
        "win": [[0.5, 0.8], [0.2, 0.5]],
        "played": [[0, 9], [9, 0]],
    }
    bare = {
        "agents": ["a", "b"],
        "matrix": matrix,
        "ratings": {"elo": {"agents": {"a": 10.0, "b": 0.0}}},
    }
    (tournament / "tournament.json").write_text(json.dumps(bare))
    page = Page(report(tournament).page)
    assert "0.80" in page.words["cross-play"]
    assert "n = 9" in page.words["cross-play"]
    assert "elo" in page.words["ratings"]


def test_a_tournament_in_progress_counts_its_episodes(tournament):
    (tournament / "tournament.json").unlink()
    (tournament / "records.jsonl").write_text("{}\n{}\n{}")
    assert "not ended: 2 episodes so far" in Page(report(tournament).page).words["header"]


# ---- Whatever folder ---------------------------------------------------------------------------


def test_a_folder_that_is_nothing_is_refused_with_what_was_expected(make, tmp_path):
    with pytest.raises(DataError, match=r"a run \(config.yaml\), or a comparison or a tournament"):
        kind(tmp_path)
    make["run"](tmp_path / "runs" / "kuhn")
    with pytest.raises(DataError, match=r"there is one in .*runs/kuhn"):
        kind(tmp_path / "runs")
    with pytest.raises(DataError, match=r"no folder .*did you mean .*runs/kuhn"):
        kind(tmp_path / "runs" / "kuhm")
    (tmp_path / "manifest.json").write_text('{"kind": "sweep"}')
    with pytest.raises(DataError, match="of kind 'sweep'"):
        kind(tmp_path)


@pytest.mark.parametrize(
    "said", ["config.yaml is not YAML", "summary.json is damaged"], ids=lambda s: s.split()[0]
)
def test_a_damaged_file_is_named(run, said):
    (run / said.split()[0]).write_text("{ [")
    with pytest.raises(DataError, match=said):
        report(run)


def test_nothing_in_the_page_comes_from_elsewhere(run, compared):
    for page in (Page(report(run).page), compared[0]):
        for tag, attrs in page.tags:
            assert tag not in ("img", "iframe", "object", "embed", "base")
            for name in ("src", "href", "xlink:href", "action", "srcset"):
                assert attrs.get(name, "#").startswith(("#", "data:,")), (tag, attrs)
            assert not [name for name in attrs if name.startswith("on")]
        style = re.search(r"<style>(.*?)</style>", page.source, re.DOTALL)[1]
        assert "url(" not in style
        assert "@import" not in style
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_names_that_look_like_markup_or_slots_are_text(make, tmp_path):
    run = make["run"](tmp_path / "run")
    config = (
        (run / "config.yaml").read_text().replace("mars", "'{{script}}<script>alert(1)</script>'")
    )
    (run / "config.yaml").write_text(config)
    page = Page(report(run).page)
    assert "{{script}}<script>alert(1)</script> on kuhn_poker" in page.words["header"]
    assert sum(tag == "script" for tag, _ in page.tags) == 3
