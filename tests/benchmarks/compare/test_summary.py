import json
import math

import numpy as np
import pytest

from coevo.benchmarks.compare.records import rows
from coevo.benchmarks.compare.runs import RESULT, PlannedRun, RunResult, results, write_result
from coevo.benchmarks.compare.summary import summarise
from coevo.benchmarks.statistics.aggregates import interquartile_mean
from coevo.envs.core.errors import DataError
from coevo.trainers.run_folder import RunFolder
from tests.benchmarks.compare.conftest import FACTS, KUHN, METRICS, TTT, made_up, plan, read_rows


def normalised(value):
    return 1 - value / (11 / 24)


def test_scores_are_normalised_by_the_references_of_the_manifest(six):
    root, manifest = six
    found = summarise(root, manifest, FACTS)["environments"][KUHN]["algorithms"]["grpo"]
    wanted = [normalised(0.05 + 0.01 * s) for s in range(6)]
    assert found["scores"] == pytest.approx(wanted)
    assert found["values"] == pytest.approx([0.05 + 0.01 * s for s in range(6)])
    assert found["iqm"] == pytest.approx(float(interquartile_mean(np.array(wanted)[:, None])))
    low, high = found["interval"]
    assert min(wanted) <= low < found["iqm"] < high <= max(wanted)
    assert found["n"] == 6


def test_seeds_pair_the_runs_and_six_that_agree_separate_two_algorithms(six):
    root, manifest = six
    (test,) = summarise(root, manifest, FACTS)["overall"]["comparisons"]
    # all 64 sign patterns, two of which are as extreme: 1/32
    assert test["p"] == test["p_adjusted"] == pytest.approx(0.03125)
    assert test["separated"]
    assert (test["a"], test["b"]) == ("mars", "grpo")
    assert test["difference"] == pytest.approx(-0.1 / (11 / 24))
    assert "grpo is better than mars" in test["verdict"]
    assert test["improvement"] == 0.0


def test_what_the_test_does_not_separate_is_said_to_be_not_separated(tmp_path):
    manifest = plan()
    made_up(
        tmp_path,
        manifest,
        lambda c: 0.1 + (0.02 if (c.seed + (c.algorithm == "mars")) % 2 else 0.03),
    )
    summary = summarise(tmp_path, manifest, FACTS)
    (test,) = summary["overall"]["comparisons"]
    assert not test["separated"]
    assert "not separated" in test["verdict"]
    assert any("not separated" in line for line in summary["headline"])
    assert not any("better than" in line for line in summary["headline"])


def test_the_pairs_of_a_table_are_one_family(tmp_path):
    manifest = plan(environments=(KUHN, TTT), algorithms=("mars", "grpo", "rloo"))
    shift = {"mars": 0.1, "grpo": 0.0, "rloo": 0.05}
    made_up(
        tmp_path,
        manifest,
        lambda c: (0.2 if c.environment == KUHN else -0.5) - shift[c.algorithm] - 0.001 * c.seed,
    )
    summary = summarise(tmp_path, manifest, FACTS)
    parts = [*summary["environments"].values(), summary["overall"]]
    tests = [t for part in parts for t in part["comparisons"]]
    assert {t["family"] for t in tests} == {3}
    assert len(tests) == 9
    # three p-values of 1/32 each: none survives, and no six seeds could have
    assert [t["p_adjusted"] for t in tests] == pytest.approx([3 / 32] * 9)
    assert "With 6 seeds no difference can pass" in summary["headline"][1]
    assert "7 seeds is the least" in summary["headline"][1]


def test_a_seed_that_one_algorithm_lacks_leaves_for_all_and_is_named(tmp_path):
    manifest = plan()
    made_up(
        tmp_path,
        manifest,
        lambda c: None if (c.algorithm, c.seed) == ("grpo", 2) else 0.1 + 0.01 * c.seed,
    )
    write_result(tmp_path, PlannedRun(KUHN, "grpo", 2), RunResult("failed", "out of memory"))
    summary = summarise(tmp_path, manifest, FACTS)
    part = summary["environments"][KUHN]
    assert part["dropped_seeds"] == [2]
    assert part["algorithms"]["mars"]["n"] == part["algorithms"]["grpo"]["n"] == 5
    assert part["algorithms"]["grpo"]["failed"] == [
        {"seed": 2, "environment": KUHN, "reason": "out of memory"}
    ]
    assert "1 failed" in summary["headline"][0]


def test_an_algorithm_without_any_result_does_not_take_the_others_with_it(tmp_path):
    manifest = plan(algorithms=("mars", "grpo", "rloo"))
    made_up(tmp_path, manifest, lambda c: None if c.algorithm == "rloo" else 0.1)
    for seed in manifest.seeds:
        write_result(tmp_path, PlannedRun(KUHN, "rloo", seed), RunResult("failed", "no such thing"))
    part = summarise(tmp_path, manifest, FACTS)["environments"][KUHN]
    assert part["algorithms"]["rloo"]["n"] == 0
    assert part["algorithms"]["mars"]["n"] == 6
    assert [(t["a"], t["b"]) for t in part["comparisons"]] == [("mars", "grpo")]


def test_curves_start_at_the_start_model_and_end_with_the_budget(six):
    root, manifest = six
    part = summarise(root, manifest, FACTS)["environments"][KUHN]
    curve = part["curve"]
    start = normalised(METRICS[KUHN]["references"]["start"])
    assert curve["by"] == "tokens"
    assert (curve["tokens"][0], curve["tokens"][-1]) == (0, 1000)
    assert curve["algorithms"]["grpo"]["iqm"][0] == pytest.approx(start)
    ends = [normalised(0.05 + 0.01 * s) for s in range(6)]
    middle = float(interquartile_mean(np.array(ends)[:, None]))
    assert curve["algorithms"]["grpo"]["iqm"][-1] == pytest.approx(middle)
    # straight lines: the area is half way between the ends
    area = np.mean([(start + end) / 2 for end in ends])
    assert part["algorithms"]["grpo"]["auc"] == pytest.approx(area)


def test_rows_are_tidy(six):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    root, manifest = six
    summarise(root, manifest, FACTS)
    table = read_rows(root)
    assert len(table) == 2 * 6 * (1 + 4 + 1)
    assert {tuple(row) for row in table} == {tuple(table[0])}
    assert pyarrow.read_table(root / "records.parquet").to_pylist() == table


def test_one_seed_has_tables_without_intervals(tmp_path):
    manifest = plan(seeds=(3,))
    made_up(tmp_path, manifest, lambda r: 0.05 if r.algorithm == "grpo" else 0.15)
    summary = summarise(tmp_path, manifest, FACTS)
    for table in summary["environments"][KUHN]["algorithms"].values():
        assert table["n"] == 1 and table["iqm"] == table["mean"]
        assert table["interval"] == table["auc_interval"] == [None, None]
    (test,) = summary["overall"]["comparisons"]
    assert not test["separated"] and test["p"] == 1
    assert "grpo has the highest interquartile mean" in " ".join(summary["headline"])
    assert not any("nan" in sentence for sentence in summary["headline"])


def test_the_same_runs_give_the_same_bytes(six):
    root, manifest = six
    summarise(root, manifest, FACTS)
    names = ("records.jsonl", "comparison.json")
    before = [(root / name).read_bytes() for name in names]
    summarise(root, manifest, FACTS)
    assert [(root / name).read_bytes() for name in names] == before
    assert math.nan not in json.loads(before[1])  # strict JSON


@pytest.mark.parametrize("lines", [slice(0, 3), slice(1, 4), slice(0, 0)])
def test_a_curve_of_which_points_are_missing_is_not_drawn(six, lines):
    root, manifest = six
    log = RunFolder(PlannedRun(KUHN, "mars", 2).folder(root)).metrics
    log.write_text("".join(log.read_text().splitlines(keepends=True)[lines]))
    with pytest.raises(DataError, match=r"mars/2/metrics.jsonl is damaged.*1 to 4"):
        summarise(root, manifest, FACTS)


def test_a_run_that_is_not_done_is_in_no_table(six):
    root, manifest = six
    run = PlannedRun(KUHN, "mars", 0)
    (run.folder(root) / RESULT).unlink()
    found = results(root, manifest)
    assert run not in found
    assert not [
        r
        for r in rows(root, manifest, METRICS, found)
        if (r["algorithm"], r["seed"]) == ("mars", 0)
    ]
