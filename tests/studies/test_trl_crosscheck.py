"""What can be tested of the cross-check without TRL and without a network."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
import trl_crosscheck
import trl_env
import trl_side
from trl_batch import END, Case, make_batch
from trl_cases import CASES
from trl_crosscheck import Gap, Line, ask, compare, gap, prepare, read_answers
from trl_ours import cut_off, ours, trajectories

from coevo.envs.core.errors import ConfigError, DataError

BATCH = make_batch(0)
WIDE = make_batch(0, wide=True)
BY_NAME = {case.name: case for case in CASES}
ZERO, FAR = Gap(0.0, 0.0, 0.0), Gap(0.0, 2e-5, 0.0)
posix = pytest.mark.skipif(os.name == "nt", reason="the stand-in interpreter is a shell script")


def stand_in(folder, script):
    """An environment whose interpreter is a shell script."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return folder


def write_answers(folder, cases, answers):
    stored = {}
    for case, one in zip(cases, answers, strict=True):
        parts = {"loss": one.loss, "gradient": one.gradient_BLV, "advantage": one.advantage_B}
        stored |= {f"{case.name}/{key}": np.asarray(value) for key, value in parts.items()}
    np.savez(folder / "answers.npz", **stored)
    (folder / "versions.json").write_text(json.dumps({"trl": "0"}))


def test_the_batch_has_what_can_go_wrong():
    ratio_N = (BATCH.logp_CL - BATCH.logp_old_CL)[BATCH.mask_CL].exp()
    a_B = ours(BY_NAME["grpo"], BATCH, same=False).advantage_B
    a_N = a_B.unsqueeze(1).expand_as(BATCH.mask_CL)[BATCH.mask_CL]
    assert ((a_N > 0) & (ratio_N > 1.2)).sum() > 5
    assert ((a_N < 0) & (ratio_N < 0.8)).sum() > 5
    assert ((a_N < 0) & (ratio_N > 1.5)).sum() > 5  # what the two-sided clip is for
    assert len(BATCH.length_B.unique()) > 5
    assert BATCH.length_B.max() == BATCH.tokens_BL.shape[1] < BATCH.max_length
    assert cut_off(BATCH).nonzero().tolist() == [[12]]
    group = BATCH.rewards["outcome"].reshape(-1, BATCH.group_size)
    assert [bool((row == row[0]).all()) for row in group] == [False, True, False, False]


def test_the_batch_is_a_function_of_its_seed():
    again, other = make_batch(0), make_batch(1)
    assert torch.equal(again.logits_BLV, BATCH.logits_BLV)
    assert not torch.equal(other.logits_BLV, BATCH.logits_BLV)
    assert WIDE.logp_old_CL.dtype == torch.float64


def test_the_batch_crosses_the_border_without_pickles(tmp_path):
    np.savez(tmp_path / "batch.npz", **BATCH.arrays())
    with np.load(tmp_path / "batch.npz", allow_pickle=False) as stored:
        assert np.array_equal(stored["logp_old"], BATCH.logp_old_CL.numpy())
        assert int(stored["end"]) == END


def test_cases_have_names_of_their_own_and_travel_as_json():
    assert len(BY_NAME) == len(CASES)
    wanted = {"grpo", "dr_grpo", "dapo", "gspo", "rloo", "cispo", "sapo", "gdpo"}
    assert wanted <= {case.record for case in CASES}
    kinds = {str(case.trl.get("loss_type")) for case in CASES}
    assert {"grpo", "dr_grpo", "dapo", "bnpo", "simpo", "['sigmoid']", "['ipo']"} <= kinds
    for case in CASES:
        assert json.loads(json.dumps(case.asked_of_trl()))["name"] == case.name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_taken_over_changes_the_answer_exactly_where_a_reason_is_given(case):
    asked, same = ours(case, BATCH, same=False), ours(case, BATCH, same=True)
    assert asked.gradient_BLV[BATCH.mask_CL].abs().sum() > 0
    mask_BL = BATCH.own_BL if case.holes else BATCH.mask_CL
    assert not asked.gradient_BLV[~mask_BL].any()
    assert gap(asked, same).closed != (bool(case.why) and not case.open)


def by_hand(batch, loss_type, eps=1e-4, high=0.2, divide=True):
    """Loss of the papers, token by token in Python."""
    logp, old = batch.logp_CL.tolist(), batch.logp_old_CL.tolist()
    reward, size = batch.rewards["outcome"].tolist(), batch.group_size
    rows, lengths = [], batch.length_B.tolist()
    for i, length in enumerate(lengths):
        group = reward[i // size * size : (i // size + 1) * size]
        mean = sum(group) / size
        std = (sum((r - mean) ** 2 for r in group) / (size - 1)) ** 0.5
        a = (reward[i] - mean) / (std + eps if divide else 1.0)
        total = 0.0
        for t in range(length):
            s = np.exp(logp[i][t] - old[i][t])
            total -= min(s * a, min(max(s, 0.8), 1 + high) * a)
        rows.append(total)
    if loss_type == "grpo":
        return sum(x / n for x, n in zip(rows, lengths, strict=True)) / len(rows)
    return sum(rows) / (sum(lengths) if loss_type == "bnpo" else len(rows) * batch.max_length)


@pytest.mark.parametrize(
    ("name", "loss_type", "divide"),
    [
        ("grpo", "grpo", True),
        ("dr_grpo", "dr_grpo", False),
        ("bnpo: token mean of each micro-batch, one of them", "bnpo", False),
        ("grpo, 3 micro-batches", "grpo", True),
    ],
)
def test_our_side_is_the_formula(name, loss_type, divide):
    found = ours(BY_NAME[name], WIDE, same=True).loss
    assert found == pytest.approx(by_hand(WIDE, loss_type, divide=divide), abs=1e-12)


def test_pairs_are_neighbouring_rows_the_first_preferred():
    """DPO by hand, token by token in Python."""
    logp, ref, lengths = (x.tolist() for x in (WIDE.logp_CL, WIDE.logp_ref_CL, WIDE.length_B))
    gain = [sum(logp[i][:n]) - sum(ref[i][:n]) for i, n in enumerate(lengths)]
    losses = [np.log1p(np.exp(-0.3 * (gain[i] - gain[i + 1]))) for i in range(0, len(gain), 2)]
    assert ours(BY_NAME["dpo"], WIDE, same=False).loss == pytest.approx(sum(losses) / len(losses))


def test_gradients_are_those_of_the_loss():
    case, step = BY_NAME["rloo, KL 0.05 in the reward"], 1e-6
    case = replace(case, asked={**case.asked, **case.value}, value={})
    moved = WIDE.logits_BLV.clone()
    moved[3, 0, 2] += step
    before, after = ours(case, WIDE, True), ours(case, replace(WIDE, logits_BLV=moved), True)
    slope = float(before.gradient_BLV[3, 0, 2]) * float(WIDE.length_B[3])
    # a value that counts rows once has 1/length of the gradient that is compared with TRL's
    gradient = ours(BY_NAME["rloo, KL 0.05 in the reward"], WIDE, True).gradient_BLV[3, 0, 2]
    assert slope == pytest.approx(float(gradient), rel=1e-9)
    assert (after.loss - before.loss) / step == pytest.approx(slope, rel=1e-4)


def test_rewards_become_components():
    batch = trajectories(BY_NAME["gdpo"], BATCH)
    assert batch.components == ("outcome", "style")
    assert torch.equal(batch.reward_BTK[:, 0, 1], BATCH.rewards["style"])


def test_a_gap_is_seen_in_loss_gradient_and_advantage():
    one = ours(BY_NAME["dapo"], BATCH, same=False)
    assert gap(one, one) == ZERO
    assert not gap(replace(one, loss=one.loss + 2e-5), one).closed
    assert not gap(replace(one, gradient_BLV=one.gradient_BLV * (1 + 2e-5)), one).closed
    assert not gap(replace(one, advantage_B=one.advantage_B + 2e-5), one).closed
    assert gap(replace(one, loss=one.loss + 1e-6), one).closed


@pytest.mark.parametrize(
    ("why", "is_open", "asked", "same", "verdict", "good"),
    [
        ("", False, ZERO, ZERO, "equal", True),
        ("", False, FAR, FAR, "UNEXPLAINED", False),
        ("eps", False, FAR, ZERO, "explained", True),
        ("eps", False, FAR, FAR, "NOT REPRODUCED", False),
        ("eps", False, ZERO, ZERO, "STALE REASON", False),
        ("rounding", True, FAR, FAR, "open", True),
    ],
)
def test_verdicts(why, is_open, asked, same, verdict, good):
    case = Case(name="x", trl={}, record="grpo", why=why, open=is_open)
    line = Line(case, asked, same)
    assert (line.verdict, line.good) == (verdict, good)
    assert verdict in trl_crosscheck.report([line])


def test_the_report_gives_each_reason_once_with_its_cases():
    lines = [Line(case, FAR, ZERO) for case in CASES[:2]]
    text = trl_crosscheck.report(lines)
    assert text.count(CASES[0].why) == 1
    assert f"{CASES[0].name}; {CASES[1].name}: " in text
    assert "2.0e-05" in text


def test_answers_are_read_back_and_compared(tmp_path):
    cases = CASES[:3]
    write_answers(tmp_path, cases, [ours(case, BATCH, same=True) for case in cases])
    answers, versions = read_answers(tmp_path, cases)
    lines = compare(cases, BATCH, answers)
    assert [line.verdict for line in lines] == ["explained"] * 3
    assert all(line.same == ZERO for line in lines)
    assert versions == {"trl": "0"}


def test_a_missing_answer_is_an_error(tmp_path):
    write_answers(tmp_path, CASES[:1], [ours(CASES[0], BATCH, same=True)])
    with pytest.raises(DataError, match="no answer to every case"):
        read_answers(tmp_path, CASES[:2])
    with pytest.raises(DataError, match="no answer to every case"):
        read_answers(tmp_path / "nowhere", CASES[:1])


@posix
def test_a_pip_that_fails_is_quoted(tmp_path, capsys):
    env = stand_in(tmp_path / "env", "echo 'ERROR: no matching distribution' >&2; exit 1")
    with pytest.raises(ConfigError, match=r"(?s)pip could not install.*trl==.*no matching"):
        prepare(env)
    with pytest.raises(SystemExit) as stop:
        trl_crosscheck.main(["--env", str(env)])
    assert stop.value.code == 2
    assert "no matching distribution" in capsys.readouterr().err


@posix
def test_an_environment_with_the_pins_is_used_as_it_is(tmp_path):
    found = " ".join([f"{v}+cpu" for v in trl_env.PINS.values()])
    env = stand_in(tmp_path, f'[ "$2" = -c ] && echo {found} || exit 7')
    assert prepare(env) == env / "bin" / "python"


@posix
def test_an_environment_with_other_versions_is_installed_into(tmp_path):
    env = stand_in(
        tmp_path, f'if [ "$2" = -c ]; then echo 1 2 3; else echo "$@" > {tmp_path}/said; fi'
    )
    prepare(env)
    said = (tmp_path / "said").read_text()
    assert all(f"{name}=={version}" in said for name, version in trl_env.PINS.items())


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(ConfigError, match="no virtual environment"):
        prepare(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@posix
def test_a_failure_on_the_side_of_trl_is_quoted(tmp_path):
    env = stand_in(tmp_path, "echo 'AttributeError: no beta' >&2; exit 1")
    with pytest.raises(ConfigError, match=r"(?s)side of TRL failed.*no beta"):
        ask(env / "bin" / "python", CASES[:1], BATCH)


def run_main(monkeypatch, spoil):
    answers = [spoil(case, ours(case, BATCH, same=True)) for case in CASES]
    monkeypatch.setattr(trl_crosscheck, "prepare", lambda env: env)
    monkeypatch.setattr(trl_crosscheck, "ask", lambda *_: (answers, {"trl": "0"}))
    with pytest.raises(SystemExit) as stop:
        trl_crosscheck.main([])
    return stop.value.code


def noisy(case, one):
    """An open case differs by what nothing of ours does."""
    return replace(one, loss=one.loss + 1e-3) if case.open else one


def test_the_command_succeeds_when_all_is_understood(monkeypatch, capsys):
    assert run_main(monkeypatch, noisy) == 0
    assert f"{len(CASES)} of {len(CASES)} cases are understood\n" in capsys.readouterr().out


def test_the_command_fails_on_one_unexplained_difference(monkeypatch, capsys):
    def spoil(case, one):
        worse = replace(one, loss=one.loss + 2e-5)
        return worse if case.name == "dr_grpo" else noisy(case, one)

    assert run_main(monkeypatch, spoil) == 1
    assert "; not: dr_grpo\n" in capsys.readouterr().out


def test_the_side_of_trl_needs_nothing_of_ours():
    code = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='side'); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, trl_side.__file__],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    assert "torch" in loaded
    assert not [m for m in loaded if m.split(".")[0] in ("coevo", "trl", "transformers")]


def test_the_stand_ins_speak_the_recorded_tokens():
    arrays = {name: np.asarray(value) for name, value in BATCH.arrays().items()}
    rows = len(BATCH.length_B)
    _, tokens, tool_mask, _, roll, *_ = trl_side._speaker(arrays, holes=False, grouped=True)(
        ["p"] * rows
    )
    assert [len(row) for row in tokens] == [len(row) for row in roll] == BATCH.length_B.tolist()
    assert tool_mask is None
    *_, own_tokens, _, _, _, _, _ = trl_side._speaker(arrays, holes=True, grouped=True)(
        ["p"] * rows
    )
    assert sum(map(sum, own_tokens)) == BATCH.own_BL.sum() < BATCH.mask_CL.sum()
    assert tokens[0] == BATCH.tokens_BL[0, : len(tokens[0])].tolist()
    own = trl_side.Rows(torch.zeros(0))
    read = trl_side._reader(own, arrays)
    ids = torch.cat([torch.ones(rows, 2, dtype=torch.int64), BATCH.tokens_BL], dim=1)
    width = BATCH.tokens_BL.shape[1]
    logp, entropy, _ = read(trl_side.Rows(BATCH.logits_BLV), ids, None, width)
    assert torch.equal(logp, BATCH.logp_CL)
    assert entropy.shape == logp.shape
    assert torch.equal(read(own, ids, None, width)[0], BATCH.logp_old_CL)
    assert torch.equal(read("ref", ids, None, width)[0], BATCH.logp_ref_CL)
