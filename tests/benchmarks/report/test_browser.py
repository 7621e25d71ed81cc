"""The page in a real browser: silent, alone, usable by hand, keyboard and phone."""

import itertools
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coevo.benchmarks.report import style
from coevo.benchmarks.report.page import report

HOSTILE = [
    "</script><script>alert('script')</script>",
    "<img src=x onerror=alert('img')><svg onload=alert('svg')>",
    '"><iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "<!--<script>",
    "{{verdict}} ${alert(1)} &lt;b&gt;",
    "\u202e[dloF]\u2066 \u200b\u200b\u200b",
    "\x00\x1b[2J\ud800",
    "<a href='javascript:alert(1)'>" * 30_000,
]
PHONE = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def page_of_run(make, tmp_path_factory) -> Path:
    """Return the page about a run of twelve episodes, one of them forfeited and one truncated."""
    return report(make["run"](tmp_path_factory.mktemp("page") / "run")).page


@pytest.fixture(scope="module")
def page_of_comparison(comparison, tmp_path_factory) -> Path:
    return report(comparison, tmp_path_factory.mktemp("page") / "comparison.html").page


def found(page) -> str:
    return page.locator("#found").inner_text()


def chip(page, facet: str, value: str):
    return page.locator(f"#filter-{facet} button[data-value='{value}']")


# ---- Plays -------------------------------------------------------------------------------------


def test_episodes_are_filtered_by_clicking(open_page, page_of_run):
    page = open_page(page_of_run).page
    assert found(page) == "12 of 12 episodes"
    chip(page, "outcome", "player_1 forfeits").click()
    assert found(page) == "1 of 12 episodes"
    assert page.locator("#list button").count() == 1
    assert page.locator("#episode h3").inner_text() == "player_1 forfeits"
    assert "no move found" in page.locator("#episode").inner_text()
    assert chip(page, "outcome", "player_1 forfeits").get_attribute("aria-pressed") == "true"
    chip(page, "outcome", "player_1 forfeits").click()
    assert found(page) == "12 of 12 episodes"
    page.locator("#filter-from").fill("20")
    page.locator("#filter-to").fill("20")
    assert found(page) == "4 of 12 episodes"
    assert chip(page, "outcome", "truncated").inner_text() == "truncated0"
    chip(page, "outcome", "truncated").click()
    assert found(page) == "0 of 12 episodes"
    assert "No episode fits" in page.locator("#episode").inner_text()
    assert page.locator("#next").is_disabled()


def test_a_turn_shows_who_saw_said_and_got_what(open_page, page_of_run):
    page = open_page(page_of_run).page
    first, second = page.locator(".turn").all()
    assert "1. player_0" in first.inner_text()
    assert "policy after 10 updates" in first.inner_text()
    assert "You are player 0. Card: king. Deal 10." in first.inner_text()
    assert first.locator(".said").inner_text() == "[bet]"
    assert first.locator(".moves .played").inner_text() == "bet"
    assert "advantage +0.750" in first.inner_text()
    assert re.search(r"format\s+\+0.050\s+–", first.inner_text())
    assert "advantage −0.500" in second.inner_text()
    assert re.search(r"payoff\s+\+1\s+−1", second.inner_text())
    assert "player_0 said: [bet]" in second.locator(".read").inner_text()


def test_episodes_are_chosen_by_keyboard_alone(open_page, page_of_run):
    page = open_page(page_of_run).page
    page.keyboard.press("j")
    assert page.locator("#list button").nth(1).get_attribute("aria-current") == "true"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("k")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#list button").nth(0).get_attribute("aria-current") == "true"
    wanted = "player_1 forfeits"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.value") == wanted:
            break
    page.keyboard.press("Enter")
    assert found(page) == "1 of 12 episodes"
    assert page.evaluate("document.activeElement.dataset.value") == wanted


def test_letters_typed_into_a_field_are_not_commands(open_page, page_of_run):
    page = open_page(page_of_run).page
    page.locator("#filter-from").focus()
    page.keyboard.press("j")
    assert page.locator("#list button").nth(0).get_attribute("aria-current") == "true"


def test_the_address_keeps_the_state(open_page, page_of_run):
    page = open_page(page_of_run).page
    chip(page, "outcome", "player_1 wins").click()
    page.locator("#next").click()
    page.locator("#next").click()
    shown = page.locator("#episode").inner_text()
    address = page.evaluate("location.hash")
    assert "outcome=player_1+wins" in address
    again = open_page(page_of_run).page
    again.goto(page_of_run.absolute().as_uri() + address)
    again.reload()
    assert found(again) == found(page)
    assert again.locator("#episode").inner_text() == shown


@pytest.mark.parametrize(
    "address", ["#episode=999&outcome=nobody", "#episode=-1", "#from=%00&=&episode=x", "#training"]
)
def test_an_address_that_fits_nothing_shows_everything(open_page, page_of_run, address):
    page = open_page(page_of_run).page
    page.goto(page_of_run.absolute().as_uri() + address)
    page.reload()
    assert found(page) == "12 of 12 episodes"


def test_runs_of_a_comparison_are_filtered_by_algorithm_environment_and_seed(
    open_page, page_of_comparison
):
    page = open_page(page_of_comparison).page
    everything = int(found(page).split()[0])
    chip(page, "algorithm", "mars").click()
    chip(page, "environment", "leduc_poker").click()
    page.locator("#filter-seed").select_option("2")
    listed = page.locator("#list small").all_inner_texts()
    assert 0 < len(listed) < everything
    assert all(t.startswith("leduc_poker · mars · seed 2 · update") for t in listed)
    assert "runs/leduc_poker/mars/2/episodes.jsonl, line" in page.locator("#episode").inner_text()


def test_a_curve_is_brought_out_in_all_charts(open_page, page_of_comparison):
    page = open_page(page_of_comparison).page
    fading = (
        "[...document.querySelectorAll('.series')].filter(e => getComputedStyle(e).opacity < 1)"
    )
    assert page.evaluate(f"{fading}.length") == 0
    page.get_by_role("button", name="mars", exact=True).first.click()
    page.wait_for_timeout(300)
    assert set(page.evaluate(f"{fading}.map(e => e.dataset.series)")) == {"0", "1"}


# ---- Text of agents is data --------------------------------------------------------------------


def test_hostile_text_stays_text(open_page, make, tmp_path):
    episodes = [make["episode"](k, 0, text=text) for k, text in enumerate(HOSTILE, start=1)]
    for episode, text in zip(episodes, HOSTILE, strict=True):
        episode.note, episode.task = text, text
        episode.turns[1].player = text[:100]
        episode.turns[1].legal = (text, "call")
    run = make["run"](tmp_path / "run", episodes=episodes)
    page = open_page(report(run).page).page
    assert found(page) == f"{len(HOSTILE)} of {len(HOSTILE)} episodes"
    for number, text in enumerate(HOSTILE):
        page.locator("#list button").nth(number).click()
        said = page.locator(".said").first.inner_text()
        if text.isprintable() and len(text) < 1000:
            assert said == text
        assert (
            page.locator("#episode :is(img, iframe, script, a, svg:not(.advantage svg))").count()
            == 0
        )
    assert page.locator("script").count() == 3
    page.locator("#list button").nth(5).click()
    assert page.locator(".said").first.inner_text() == "U+202E[dloF]U+2066 U+200B ×3"
    page.locator("#list button").nth(6).click()
    assert page.locator(".said").first.inner_text() == "U+0000U+001B[2JU+D800"
    page.locator("#list button").nth(7).click()
    assert page.locator(".said").first.inner_text().endswith("880,000 more characters in the file")


def test_an_injected_script_would_not_run(open_page, page_of_run):
    opened = open_page(page_of_run)
    opened.page.evaluate(
        """() => {
          const bad = document.createElement("script");
          bad.textContent = "document.title = 'owned'";
          document.body.append(bad);
          const image = "<img src=x onerror=\\"document.title='owned'\\">";
          document.body.insertAdjacentHTML("beforeend", image);
        }"""
    )
    opened.page.wait_for_timeout(200)
    assert "owned" not in opened.page.title()
    assert any("Content Security Policy" in e for e in opened.errors)
    opened.errors.clear()
    opened.requests.clear()  # the image was asked for, and refused


# ---- Looks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["page_of_run", "page_of_comparison"])
def test_a_phone_never_scrolls_sideways(open_page, request, which):
    page = open_page(request.getfixturevalue(which), **PHONE).page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    wider = """() => [...document.body.querySelectorAll("*")].filter(e => {
        const scrolls = e.closest(".wide, pre, #list, .series") || e.closest("svg");
        return !scrolls && !e.closest(".skip") && e.getBoundingClientRect().right > 376;
    }).map(e => e.tagName + "." + e.className)"""
    assert page.evaluate(wider) == []


LUMINANCE = """(names) => Object.fromEntries(names.map(name => {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const rgb = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255);
  probe.remove();
  const [r, g, b] = rgb.map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return [name, 0.2126 * r + 0.7152 * g + 0.0722 * b];
}))"""
TEXT = ["ink", "muted", "accent", "warning"]
SERIES = [f"series-{i}" for i in range(len(style.SERIES))]


def contrast(one: float, two: float) -> float:
    return (max(one, two) + 0.05) / (min(one, two) + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_has_enough_contrast(open_page, page_of_run, scheme):
    page = open_page(page_of_run, color_scheme=scheme).page
    seen = page.evaluate(LUMINANCE, ["paper", "soft", *TEXT, *SERIES])
    assert (seen["paper"] > 0.5) == (scheme == "light")
    for ground in ("paper", "soft"):
        assert {n: c for n in TEXT if (c := contrast(seen[n], seen[ground])) < 4.5} == {}
    assert {n: c for n in SERIES if (c := contrast(seen[n], seen["paper"])) < 3} == {}


def test_the_colours_of_charts_follow_the_scheme_and_the_button(open_page, page_of_run):
    stroke = "getComputedStyle(document.querySelector('.series path')).stroke"
    ground = "getComputedStyle(document.body).backgroundColor"
    light = open_page(page_of_run, color_scheme="light").page
    dark = open_page(page_of_run, color_scheme="dark").page
    assert light.evaluate(stroke) != dark.evaluate(stroke)
    assert light.evaluate(ground) != dark.evaluate(ground)
    light.locator("#theme").click()
    assert light.evaluate(ground) == dark.evaluate(ground)
    assert light.evaluate(stroke) == dark.evaluate(stroke)
    assert light.locator("#theme").get_attribute("aria-pressed") == "true"
    light.locator("#theme").click()
    assert light.locator("#theme").get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize("which", ["page_of_run", "page_of_comparison"])
def test_everything_has_a_name(open_page, request, which):
    page = open_page(request.getfixturevalue(which)).page
    unnamed = """(kinds) => [...document.querySelectorAll(kinds)].filter(e => !e.ariaLabel
        && !e.labels?.length && !e.textContent.trim()).map(e => e.outerHTML)"""
    assert page.evaluate(unnamed, "button, select, input, svg[role], [role=region]") == []
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.evaluate("document.querySelectorAll('h1').length") == 1
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    names = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(names) == len(set(names))
    targets = page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.hash.slice(1))")
    assert set(targets) <= set(names)


def test_without_scripts_all_but_episodes_can_be_read(open_page, page_of_run):
    page = open_page(page_of_run, java_script_enabled=False).page
    assert page.get_by_text("Exploitability fell").first.is_visible()
    assert page.locator("svg.chart").first.is_visible()
    assert page.locator("#browser").is_hidden()
    assert page.locator("#without-script").is_visible()
    assert open_page(page_of_run).page.locator("#without-script").is_hidden()


# ---- A large run -------------------------------------------------------------------------------

MANY = 100_000
READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
MEASURED = """
import resource, sys
from pathlib import Path
from coevo.benchmarks.report.page import report
done = report(Path(sys.argv[1]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # on Linux never below the parent's
status = Path("/proc/self/status")
if status.exists():
    peak = next(int(x.split()[1]) for x in status.open() if x.startswith("VmHWM"))
print(done.episodes, done.shown, peak * 1024)
"""


@pytest.mark.slow
def test_a_run_of_100_000_episodes_is_streamed_and_opens_in_three_seconds(
    open_page, make, tmp_path
):
    run = make["run"](tmp_path / "run")
    lines = [make["episode"](k, k % 2, text="[bet]" + " because" * 150).to_json() for k in (1, 2)]
    lines.append(make["episode"](3, 0, stop="forfeit", text="[bet]" + " because" * 150).to_json())
    with (run / "episodes.jsonl").open("w") as file:
        for k in range(MANY):
            line = lines[2 if k % 1000 == 0 else k % 2]
            file.write(re.sub(r'"step": \d+', f'"step": {k // 10}', line) + "\n")
    size = (run / "episodes.jsonl").stat().st_size
    done = subprocess.run(
        [sys.executable, "-P", "-c", MEASURED, str(run)], capture_output=True, text=True, check=True
    )
    count, shown, memory = map(int, done.stdout.split())
    assert (count, shown) == (MANY, 400)
    assert memory < size / 2, "the file was held in memory"
    path = run / "report.html"
    assert path.stat().st_size < 4 * 2**20
    seconds = []
    for _ in range(3):  # other work on this machine may delay one of them
        page = open_page(path).page
        seconds.append(
            page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
            / 1000
        )
    assert found(page) == "400 of 400 episodes"
    assert chip(page, "outcome", "player_1 forfeits").inner_text() == "player_1 forfeits100"
    began = time.monotonic()
    chip(page, "outcome", "player_1 forfeits").click()
    assert found(page) == "100 of 400 episodes"
    assert time.monotonic() - began < 3
    assert min(seconds) < 3, seconds
    assert json.loads(page.locator("#episodes-index").inner_text())["episodes"][0]["step"] == 0
