import pytest

from coevo.benchmarks.compare.manifest import per_environment, read, write
from coevo.envs.core.errors import ConfigError, DataError, UnknownNameError
from tests.benchmarks.compare.conftest import KUHN, METRICS, TTT, plan


def test_a_manifest_comes_back_as_it_was_written_and_says_where_it_was_written(tmp_path):
    manifest = plan(changes={"optim.lr": 1e-3, "mars.collect.episodes": 64})
    write(tmp_path, manifest, lambda: METRICS)
    found, facts = read(tmp_path)
    assert found == manifest
    assert facts["metrics"] == METRICS
    assert facts["hardware"]["cores"] >= 1
    assert facts["packages"]["torch"]
    write(tmp_path, manifest, lambda: pytest.fail("nothing is measured twice"))


def test_other_settings_are_refused_with_the_setting_that_differs(tmp_path):
    write(tmp_path, plan(), lambda: METRICS)
    with pytest.raises(ConfigError, match=r"points=20, not 30.*--out"):
        write(tmp_path, plan(points=30), lambda: METRICS)


def test_changes_reach_the_algorithm_or_the_environment_that_they_name():
    manifest = plan(
        environments=(KUHN, TTT),
        changes={
            "collect.episodes": 256,
            "mars.optim.lr": 0.5,
            "tic_tac_toe.collect.episodes": 64,
        },
    )
    assert manifest.algorithm("mars", KUHN).collect.episodes == 256
    assert manifest.algorithm("mars", TTT).collect.episodes == 64
    assert manifest.algorithm("mars", TTT).optim.lr == 0.5
    assert manifest.algorithm("grpo", TTT).optim.lr != 0.5


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"algorithms": ()}, "algorithms"),
        ({"algorithms": ("mars", "mars")}, "each once"),
        ({"seeds": ()}, "seeds"),
        ({"baseline": "rloo"}, "rloo"),
        ({"points": 1}, "points=1"),
        ({"games": 0}, "games=0"),
        ({"budgets": {}}, "needs a budget"),
        ({"budgets": {KUHN: {"tokens": 0}}}, "budget above 0"),
        ({"algorithms": ("marz",), "baseline": "marz"}, "mars"),
        ({"algorithms": ("mars:plian",), "baseline": "mars:plian"}, "plain"),
        ({"changes": {"mars.optim.lrr": 1}}, "lr"),
        ({"algorithms": ("sb3:ppo", "mars")}, "--budget-turns"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused_in_words(fields, said):
    with pytest.raises((ConfigError, UnknownNameError), match=said):
        plan(**fields)


def test_budgets_go_to_all_environments_or_to_the_named_ones():
    found = per_environment((KUHN, TTT), {"tokens": {"kuhn_poker": 10, TTT: 20}, "turns": None})
    assert found == {KUHN: {"tokens": 10}, TTT: {"tokens": 20}}
    assert per_environment((KUHN,), {"tokens": 5, "seconds": 2.0}) == {
        KUHN: {"tokens": 5, "seconds": 2.0}
    }


@pytest.mark.parametrize("text", ["{", "[]", '{"kind": "tournament"}', '{"kind": "comparison"}'])
def test_a_file_that_is_no_manifest_is_named(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises((DataError, ConfigError)):
        read(tmp_path)
    with pytest.raises(DataError, match="holds no comparison"):
        read(tmp_path / "nowhere")
