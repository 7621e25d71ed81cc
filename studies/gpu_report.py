"""What a GPU does with this package, in under eleven minutes: `make gpu-report`.

    python studies/gpu_report.py [--trl PYTHON] [--out FOLDER]

Tests of the GPU, then seconds and memory of whole GRPO steps of models with the shapes of
Qwen3-0.6B and Qwen3-4B and random weights, all weights trained or a LoRA adapter: ours, and TRL's
where the interpreter has it. Nothing comes from the network. Every part is a process of its own
with a limit of time; a part that fails or takes too long is named in the report and costs no other.
The report is written after every part. Without a GPU everything runs on the CPU, with shapes that
are scaled down: widths, heads and vocabulary to an eighth, two layers.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from train_throughput import Case, case_of, measure, table

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("torch", "transformers", "peft", "trl", "vllm")
SHAPES: dict[str, dict[str, Any]] = {
    "Qwen3-0.6B": {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28},
    "Qwen3-4B": {"hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 36},
}
HEADS = {"Qwen3-0.6B": 16, "Qwen3-4B": 32}
VOCABULARY = 151_936
RANKS = {"all weights": 0, "LoRA": 16}
TESTS, STEPS = "tests", 2
LIMITS = {TESTS: 120, "Qwen3-0.6B": 110, "Qwen3-4B": 150}
"""Seconds of a part; together 640: a machine that just started reads its libraries for long."""


def shape(name: str, device: str) -> dict[str, Any]:
    """Return the configuration of a model, scaled down where there is no GPU."""
    size = 1 if device == "cuda" else 8
    found = {k: v // size for k, v in SHAPES[name].items()}
    return found | {
        "model_type": "qwen3",
        "vocab_size": VOCABULARY // size,
        "num_attention_heads": HEADS[name] // size,
        "num_key_value_heads": 8 // size,
        "head_dim": 128 // size,
        "num_hidden_layers": SHAPES[name]["num_hidden_layers"] if size == 1 else 2,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": True,
    }


def case(name: str, rank: int, device: str) -> Case:
    """Return what both sides train: 64 replies of 64 tokens; on a CPU 16 of 16."""
    large = device == "cuda"
    return case_of(
        shape(name, device),
        64 if large else 16,
        new=64 if large else 16,
        steps=STEPS + 2,
        device=device,
        dtype="bfloat16" if large else "float32",
        threads=os.cpu_count() or 1 if large else 1,
        lora=rank,
        settings={"optim.token_budget": 8_192, "optim.fused": True},
    )


def part(name: str, trl: str | None, device: str) -> str:
    """Return what a part has to say, in Markdown."""
    if name == TESTS:
        return tests(device)
    model, _, trained = name.partition(", ")
    given = case(model, RANKS[trained], device)
    sides = {"ours": (sys.executable, "step_ours.py", given)}
    if trl is not None:
        sides["TRL"] = (trl, "step_trl.py", given | {"trl_rows": given["samples"]})
    rows, failures = [], []
    for side, what in sides.items():  # one after another: they share one memory
        try:
            rows += measure(name, {side: what}, STEPS)
        except RuntimeError as error:
            failures.append(f"{side} failed: {error}")
        if side == "ours" and not rows:
            break
    return "\n\n".join([*([table(rows)] if rows else []), *failures])


def tests(device: str) -> str:
    """Return the last line of the tests of the GPU."""
    if device != "cuda":
        return "No GPU: its tests are skipped."
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider"]
    command.append("--continue-on-collection-errors")  # other tests need other packages
    done = subprocess.run(
        [*command, "tests/trainers"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    said = (done.stdout + done.stderr).strip().splitlines()
    failed = [line for line in said if line.startswith(("FAILED", "ERROR"))]
    return "\n".join([*failed, said[-1] if said else "nothing was said"])


def within(name: str, given: argparse.Namespace) -> str:
    """Return what a part says in a process of its own, or why it said nothing."""
    command = [sys.executable, __file__, "--part", name]
    command += ["--trl", given.trl] if given.trl else []
    limit = LIMITS[name.partition(",")[0]] * given.patience
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, error = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        said, error = "", f"it took more than {limit:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the sides that it may have left
    if process.returncode or not said.strip():
        said += f"Failed: {' '.join(error.strip().splitlines()[-2:])}"
    return f"{said.strip()}\n\n{time.monotonic() - began:.0f} s\n"


def head(device: str, given: argparse.Namespace) -> str:
    """Return on what, of what and how."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    name = torch.cuda.get_device_name() if device == "cuda" else "no GPU"
    have = []
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            have.append(f"{package} {version(package)}")
    beside = f", beside TRL of {Path(given.trl).name}" if given.trl else ", without TRL"
    return (
        f"# GPU report: {name}, {datetime.date.today()}\n\n    make gpu-report\n\n"
        f"Commit {commit.stdout.strip() or 'unknown'}; {name}, {os.cpu_count()} cores of "
        f"{platform.machine()}; {', '.join(have)}{beside}. Random weights; a step generates, "
        f"scores and updates; medians of {STEPS} steps after one that is not counted.\n"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run all parts, or one of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    here = sys.executable if find_spec("trl") else None
    parser.add_argument("--trl", default=here, help="interpreter that has TRL")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--patience", type=float, default=1.0, help="factor on the limits of time")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if given.part:
        sys.stdout.write(part(given.part, given.trl, device) + "\n")
        return
    path = given.out / f"{datetime.date.today()}-gpu-report-{device}.md"
    text = head(device, given)
    for name in (TESTS, *(f"{model}, {trained}" for model in SHAPES for trained in RANKS)):
        text += f"\n## {name}\n\n{within(name, given)}"
        path.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
