import json
from pathlib import Path

import pytest


def test_a_real_run_becomes_a_page(cli, run_folder):
    done = cli("report", run_folder)
    assert done.status == 0, done.err
    assert done.out.splitlines()[0].startswith(f"{run_folder / 'report.html'}: run, ")
    assert f"{run_folder / 'plots'}: " in done.out
    page = (run_folder / "report.html").read_text(encoding="utf-8")
    summary = json.loads((run_folder / "summary.json").read_text())
    for table in ("before", "after"):
        assert f"{summary[table]['exploitability']:.3f}" in page
    assert summary["command"].split()[2] in page
    recorded = (run_folder / "episodes.jsonl").read_text().count("\n")
    index = json.loads(page.split('id="episodes-index">')[1].split("</script>")[0])
    assert len(index["episodes"]) == recorded > 0


def test_the_page_and_its_plots_go_where_they_are_wanted(cli, run_folder, tmp_path):
    done = cli("report", run_folder, "--out", tmp_path / "new" / "kuhn.html", "--episodes", "1")
    assert done.status == 0, done.err
    assert "1 of " in done.out
    assert (tmp_path / "new" / "plots" / "entropy.svg").exists()
    assert not (run_folder / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "no folder nowhere; expected a run (config.yaml)"),
        ((".",), "a comparison or a tournament (manifest.json"),
        ((".", "--episodes", "-1"), "--episodes -1 must be 1 or more"),
        ((".", "--episodes", "many"), "--episodes many is not a whole number"),
        ((".", "--out", "."), "--out . is a folder"),
        ((), "DIR"),
    ],
)
def test_bad_input_is_one_line(cli, here, words, said):
    done = cli("report", *words)
    assert done.status == 2
    assert said in done.error_line()


def test_a_wrong_name_is_answered_with_the_nearest(cli, run_folder, monkeypatch):
    monkeypatch.chdir(run_folder.parent)
    assert "did you mean run?" in cli("report", Path("runn")).error_line()
