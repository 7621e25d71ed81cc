"""Whether TRL and our losses give the same loss and gradient on the same batch.

    python studies/trl_crosscheck.py [--env FOLDER] [--float64]

TRL is no dependency: the command installs the versions of `trl_env.PINS` into a virtual environment
of its own (minutes the first time, kept for the next) and runs `trl_side` there, which calls TRL's
own code for advantages and losses. Every case of `trl_cases` is computed twice by ours: as our
record has it, and with what TRL is known to do differently. The command exits with 1 if a
difference is left that no case explains, or if an explanation is given for a difference that is
not there.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import trl_side
from trl_batch import Batch, Case, make_batch
from trl_cases import CASES
from trl_env import default_env, prepare, run
from trl_ours import Answer, ours

from coevo.envs.core.errors import ConfigError, DataError

TOLERANCE = 1e-5
"""On the loss, on the advantages, and on the gradient over its greatest entry."""


@dataclass(frozen=True)
class Gap:
    """How far two answers are apart."""

    loss: float
    """|difference| of the losses."""
    gradient: float
    """Greatest |difference| of the gradients, over TRL's greatest entry."""
    advantage: float
    """Greatest |difference| of the advantages."""

    @property
    def closed(self) -> bool:
        """Whether all three are within the tolerance."""
        return max(self.loss, self.gradient, self.advantage) <= TOLERANCE


@dataclass(frozen=True)
class Line:
    """One case of the report."""

    case: Case
    asked: Gap
    """Our record against TRL."""
    same: Gap
    """Ours with what TRL does differently, against TRL."""

    @property
    def verdict(self) -> str:
        """`equal`, `explained`, `open` (explained, no option reproduces it) or what is wrong."""
        case = self.case
        if self.asked.closed:
            return "STALE REASON" if case.why else "equal"
        if not case.why:
            return "UNEXPLAINED"
        if case.open:
            return "open"
        return "explained" if self.same.closed else "NOT REPRODUCED"

    @property
    def good(self) -> bool:
        """Whether nothing about the case is left to be understood."""
        return self.verdict in ("equal", "explained", "open")


def ask(python: Path, cases: Sequence[Case], batch: Batch) -> tuple[list[Answer], dict[str, str]]:
    """Let TRL answer the cases; give the answers and the versions that gave them.

    Raises:
        ConfigError: TRL's side failed.
        DataError: It answered with something else.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "batch.npz", **batch.arrays())
        questions = [case.asked_of_trl() for case in cases]
        (folder / "cases.json").write_text(json.dumps(questions), encoding="utf-8")
        # -I: neither the caller's folders nor ours beside the script are imported from
        command = [str(python), "-I", trl_side.__file__, str(folder)]
        run(command, f"the side of TRL failed in {python.parent.parent}")
        return read_answers(folder, cases)


def read_answers(folder: Path, cases: Sequence[Case]) -> tuple[list[Answer], dict[str, str]]:
    """Read what `trl_side` wrote.

    Raises:
        DataError: An answer is missing.
    """
    try:
        versions = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
        with np.load(folder / "answers.npz") as stored:
            answers = [
                Answer(
                    float(stored[f"{case.name}/loss"]),
                    torch.from_numpy(stored[f"{case.name}/gradient"]),
                    torch.from_numpy(stored[f"{case.name}/advantage"]),
                )
                for case in cases
            ]
    except (OSError, KeyError, ValueError) as error:
        raise DataError(f"TRL's side left no answer to every case: {error}") from error
    return answers, versions


def gap(own: Answer, other: Answer) -> Gap:
    """Measure how far our answer is from TRL's."""
    size = max(float(other.gradient_BLV.abs().max()), torch.finfo(torch.float32).tiny)
    return Gap(
        loss=abs(own.loss - other.loss),
        gradient=float((own.gradient_BLV - other.gradient_BLV).abs().max()) / size,
        advantage=float((own.advantage_B - other.advantage_B).abs().max()),
    )


def compare(cases: Sequence[Case], batch: Batch, answers: Sequence[Answer]) -> list[Line]:
    """Compute every case with ours and set it beside TRL's answer."""
    return [
        Line(case, gap(ours(case, batch, same=False), a), gap(ours(case, batch, same=True), a))
        for case, a in zip(cases, answers, strict=True)
    ]


def report(lines: Sequence[Line]) -> str:
    """Write the table and the reasons, in Markdown."""
    head = "| case | TRL's loss_type | our record | loss | gradient | advantage | "
    rows = [f"{head}with TRL's ways | verdict |", "|---|---|---|---|---|---|---|---|"]
    for line in lines:
        case, a, same = line.case, line.asked, line.same
        kind = case.trl.get("loss_type", case.trainer)
        kind = kind if isinstance(kind, str) else " + ".join(kind)
        left = "" if a.closed else f"{max(same.loss, same.gradient, same.advantage):.1e}"
        numbers = f"{a.loss:.1e} | {a.gradient:.1e} | {a.advantage:.1e} | {left}"
        rows.append(f"| {case.name} | {kind} | {case.record} | {numbers} | {line.verdict} |")
    reasons = dict.fromkeys(line.case.why for line in lines if line.case.why)
    named = {why: [li.case.name for li in lines if li.case.why == why] for why in reasons}
    return "\n".join([*rows, "", *(f"- {'; '.join(n)}: {why}." for why, n in named.items())])


def main(argv: Sequence[str] | None = None) -> None:
    """Compare every case and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--env", type=Path, default=default_env(), help="environment of TRL")
    parser.add_argument("--seed", type=int, default=0, help="of the batch")
    parser.add_argument("--float64", action="store_true", help="compute in double precision")
    given = parser.parse_args(argv)
    batch = make_batch(given.seed, wide=given.float64)
    try:
        answers, versions = ask(prepare(given.env), CASES, batch)
        lines = compare(CASES, batch, answers)
    except (ConfigError, DataError) as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(error.exit_code) from None
    mine = f"python {platform.python_version()}, torch {torch.__version__}"
    theirs = ", ".join(f"{name} {number}" for name, number in versions.items())
    rows, tokens = len(batch.length_B), int(batch.length_B.sum())
    say = sys.stdout.write
    say(f"ours: {mine}; TRL's side: {theirs}\n")
    say(f"seed {given.seed}, {batch.logits_BLV.dtype}, {rows} rows, {tokens} tokens, ")
    say(f"tolerance {TOLERANCE:.0e}\n\n{report(lines)}\n")
    wrong = [line.case.name for line in lines if not line.good]
    say(f"\n{len(lines) - len(wrong)} of {len(lines)} cases are understood")
    say(f"; not: {', '.join(wrong)}\n" if wrong else "\n")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
