"""What small functions of the commands give."""

from coevo.benchmarks.usage import Usage
from coevo.commands.algos import in_short, settings, source
from coevo.commands.arguments import flag
from coevo.commands.compare import _amount
from coevo.commands.evaluated import between, drawn, span, usage_line
from coevo.commands.extras import extra_of
from coevo.commands.formula import _line, readable
from coevo.commands.players import names, sampling_changes
from coevo.commands.players import settings as players_settings
from coevo.commands.progress import time_left
from coevo.commands.reproduce import _minutes
from coevo.commands.run_setup import seconds
from coevo.commands.screen import cell, share
from coevo.commands.start_model import suited_rate
from coevo.commands.tournament import between as tournament_between
from coevo.commands.tournament import budget, exploited
from coevo.trainers.algorithms import ALGORITHMS


def test_algos():
    assert (
        dict(settings({"optim": {"lr": 0.1}, "loss": {"regularise": [{"name": "kl", "coef": 1}]}}))
    ) == {"optim.lr": 0.1, "loss.regularise.kl.name": "kl", "loss.regularise.kl.coef": 1}
    assert (source(ALGORITHMS["grpo"]), source(ALGORITHMS["reinforce"])) == (
        "2402.03300",
        "Williams 1992",
    )
    assert (in_short(ALGORITHMS["dapo"])[:3]) == (
        "outcome / group_mean / group_std",
        "dual_clip 0.2,0.28",
        "token_mean",
    )


def test_arguments():
    assert (flag("max_new_tokens")) == "--max-new-tokens"


def test_compare():
    assert (_amount("2e5", "--budget-tokens", [])) == 200000
    assert (_amount("kuhn_poker=1e5", "--budget-tokens", ["coevo/kuhn_poker-v0"])) == {
        "kuhn_poker": 100000
    }


def test_evaluate():
    assert (
        usage_line(Usage(replies=2, prompt_tokens=30, sampled_tokens=1234))
    ) == "1,234 tokens sampled and 30 read in 2 replies"
    assert (drawn({"temperature": 0.5, "max_new_tokens": 16, "top_p": 0.9}), drawn({})) == (
        "temperature 0.5, max tokens 16, top_p 0.9",
        "no sampling of tokens",
    )
    assert (span([-0.5, 0.25]), span(None)) == ("-0.500 .. +0.250", "-")
    assert (between(0.5, 0.25, 0.75), between(0.5, float("nan"), float("nan"))) == (
        "0.500 [0.250, 0.750]",
        "0.500",
    )


def test_extras():
    assert (extra_of("torch"), extra_of("openskill"), extra_of("unheard")) == (
        "train",
        "compare",
        None,
    )


def test_players():
    assert (
        sampling_changes({"sampling.top_p": 0.9}),
        sampling_changes({"sampling": {"top_k": 4}}),
    ) == ({"top_p": 0.9}, {"top_k": 4})
    assert (names("starter, runs/a,")) == ("starter", "runs/a")
    assert (players_settings(("a=1", "b=x=y"), "--set")) == {"a": 1, "b": "x=y"}


def test_progress():
    assert (time_left(30, 0.25), time_left(30, 1.0), time_left(0, 0.0)) == ("1:30", "0:00", "?")


def test_reproduce():
    assert (_minutes(0.04), _minutes(1.25)) == ("< 0.1", "1.2")


def test_run_setup():
    assert (seconds("90s"), seconds("5m"), seconds("1h30m"), seconds("45")) == (
        90.0,
        300.0,
        5400.0,
        45.0,
    )


def test_screen():
    assert (cell(0.12345), cell(None), cell(True)) == ("0.1235", "-", "yes")
    assert (share(0.5)) == "50.0 %"


def test_start_model():
    assert (
        suited_rate(1e-3, 900_000),
        suited_rate(1e-3, 124_000_000),
        suited_rate(1e-3, 10**10),
    ) == (0.001, 8.1e-06, 1e-06)


def test_tournament():
    assert (budget("2e5"), budget("90s"), budget("5m")) == (
        {"tokens": 200000},
        {"seconds": 90.0},
        {"seconds": 300.0},
    )
    assert (
        tournament_between([0.1, 0.25, 0.4]),
        tournament_between([None, 0.25, None]),
        tournament_between(None),
    ) == ("0.25 [0.10, 0.40]", "0.25", "-")
    assert (
        exploited({"exact": None, "exploiter": {"score": 0.3, "gain": 0.3}})
    ) == "at least 0.3000"


def test_formula():
    assert (readable(r"A_i = \frac{R_i - \mean_g R}{\std_g R + \epsilon} \\ L = -A \log \pi")) == [
        "A_i = (R_i - mean_g R) / (std_g R + epsilon)",
        "L = -A log pi",
    ]
    assert (
        _line(r"\frac{1}{2} \sum_{k' \ge k} \gamma^{t-k}, \quad s \in \{0, 1\}")
    ) == "1/2 sum_(k' >= k) gamma^(t-k),  s in {0, 1}"
