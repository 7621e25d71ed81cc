"""Samples per second and memory of a whole GRPO step, ours beside TRL's.

    python studies/train_throughput.py [--env FOLDER] [--steps N] [--model FOLDER [--replies N]]

With --model a pretrained one is measured in the place of the small ones, its whole weights and an
adapter of rank 16. Every case is run by our loop and by TRL's
`GRPOTrainer`, each in a process of its own on one thread, in turns, a step at a time: generate (by
transformers' models on both sides), score, update. Models, prompts, lengths, group size, learning
rate, rewards and AdamW's kernel (fused, TRL's default) are the same. TRL runs twice: its loss over
the whole batch at once, as a plain configuration of it does, and in passes of as many tokens as
ours may have. TRL is installed into `--env` unless it is there. Ratios are medians over steps of
TRL's time over ours at the same turn; the first step of each side is not counted. Processor seconds
are those of the process, which other work on the machine changes less than those of the wall.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from trl_env import default_env, prepare

from coevo.agents.models.folders import STARTER_MODEL
from coevo.envs import make

HERE = Path(__file__).parent
QUESTION = (
    "coevo/debate-v0",
    {"agents": 1, "rounds": 1, "prompt_style": "terse", "illegal": "forfeit"},
)
"""One question, one reply, never a second attempt: what TRL's trainer plays."""
EIGHT_TURNS = ("coevo/iterated_game-v0", {"rounds": 4, "prompt_style": "terse"})
LLAMA = {
    "model_type": "llama",
    "vocab_size": 32_000,
    "hidden_size": 384,
    "intermediate_size": 1024,
    "num_hidden_layers": 8,
    "num_attention_heads": 6,
    "num_key_value_heads": 6,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}
"""26 million parameters."""
GROUP = 8
BUDGET = 2048
"""Tokens of one pass of ours, padding included."""

Case = dict[str, Any]
Step = dict[str, float]


class Side:
    """A process that takes steps on demand."""

    def __init__(self, python: str, script: str, case: Case, folder: Path) -> None:
        path = folder / f"{len(list(folder.iterdir()))}.json"
        path.write_text(json.dumps(case), encoding="utf-8")
        named = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
        named["OMP_NUM_THREADS"] = str(case["threads"])
        self.errors = path.with_suffix(".err")
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [python, str(HERE / script), str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=os.environ | named,
                text=True,
            )
        self._answer()

    def step(self) -> Step:
        """Return what one step took."""
        assert self.process.stdin is not None  # it is a pipe
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found: Step = self._answer()
        return found

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()

    def _answer(self) -> Any:
        assert self.process.stdout is not None  # it is a pipe
        line = self.process.stdout.readline()
        if not line:
            said = self.errors.read_text(encoding="utf-8", errors="replace").strip()
            raise RuntimeError(" ".join(said.splitlines()[-3:]) or "the process ended")
        return json.loads(line)


@dataclass(frozen=True)
class Row:
    """The steps of one side in one case."""

    case: str
    side: str
    steps: Sequence[Step]

    def of(self, name: str) -> float:
        """Return the median of a measure."""
        return median(s[name] for s in self.steps)

    @property
    def peak(self) -> float:
        """Most memory of any step, MiB."""
        return max(s["peak"] for s in self.steps)


def case_of(
    model: str | dict[str, Any],
    samples: int,
    *,
    world: tuple[str, dict[str, Any]] = QUESTION,
    turns: int = 1,
    new: int = 16,
    steps: int = 8,
    **others: Any,
) -> Case:
    """Return a case: so many replies a step, by a model or a random one of a shape."""
    env, options = world
    case = {
        "model": model,
        "tokenizer": str(STARTER_MODEL),
        "env": env,
        "options": options,
        "samples": samples,
        "episodes": samples // turns,
        "group": GROUP,
        "new": new,
        "lr": 1e-6,
        "device": "cpu",
        "dtype": "float32",
        "threads": 1,
        "lora": 0,
        "settings": {"optim.token_budget": BUDGET, "optim.fused": True},
        "prompts": prompts(env, options, steps * samples // GROUP),
    }
    return case | others


def prompts(env: str, options: dict[str, Any], count: int) -> list[list[dict[str, str]]]:
    """Return chats that an environment begins with."""
    made, found = make(env, **options), []
    for seed in range(count):
        made.reset(seed=seed)
        found.append([dict(m) for m in made.chat(made.awaiting[0])])
    return found


def measure(name: str, sides: dict[str, tuple[str, str, Case]], steps: int) -> list[Row]:
    """Return the steps of every side, taken in turns.

    Args:
        name: of the case.
        sides: name -> interpreter, script, case.
        steps: of each, one more not counted.
    """
    with tempfile.TemporaryDirectory() as folder:
        open_sides: dict[str, Side] = {}
        try:
            for side, (python, script, case) in sides.items():
                open_sides[side] = Side(python, script, case, Path(folder))
            found: dict[str, list[Step]] = {side: [] for side in sides}
            for _ in range(steps + 1):
                for side, process in open_sides.items():
                    found[side].append(process.step())
        finally:
            for process in open_sides.values():
                process.close()
    return [Row(name, side, taken[1:]) for side, taken in found.items()]


def sides_of(case: Case, trl: str | None) -> dict[str, tuple[str, str, Case]]:
    """Return ours and, with an interpreter that has TRL, TRL's in large and in equal passes."""
    found = {"ours": (sys.executable, "step_ours.py", case)}
    if trl is not None:
        whole, longest = case["samples"], case.get("longest", 21)
        rows = max(1, min(whole, case["settings"]["optim.token_budget"] // longest))
        rows = max(n for n in range(1, rows + 1) if whole % n == 0)
        found["TRL, whole batch"] = (trl, "step_trl.py", case | {"trl_rows": whole})
        if rows < whole:
            found[f"TRL, {rows} rows a pass"] = (trl, "step_trl.py", case | {"trl_rows": rows})
    return found


def table(rows: Sequence[Row]) -> str:
    """Return the measurements in Markdown; ratios are to our side of the same case."""
    head = (
        "| case | side | prompt + reply tokens | samples/s | seconds | processor s | peak MiB | "
        "above start MiB | time / ours | processor / ours | peak / ours |"
    )
    lines = [head, "|" + "---|" * 11]
    for row in rows:
        ours = next(r for r in rows if r.case == row.case and r.side == "ours")
        cells = [row.case, row.side, f"{row.of('prompt_tokens'):.1f} + {row.of('tokens'):.1f}"]
        cells += [f"{row.of('samples') / row.of('seconds'):.1f}"]
        cells += [f"{row.of('seconds'):.2f}", f"{row.of('processor'):.2f}", f"{row.peak:.0f}"]
        cells += [f"{row.peak - row.steps[0].get('base', 0):.0f}"]
        cells += [f"{ratio(row, ours, name):.2f}" for name in ("seconds", "processor")]
        cells += [f"{row.peak / ours.peak:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def ratio(row: Row, ours: Row, name: str) -> float:
    """Return the median over turns of a measure over ours."""
    pairs = zip(row.steps, ours.steps, strict=True)
    return median(one[name] / max(other[name], 1e-9) for one, other in pairs)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all cases and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--env", type=Path, default=default_env(), help="environment of TRL")
    parser.add_argument("--steps", type=int, default=5, help="of every side, counted ones")
    parser.add_argument("--model", type=Path, help="folder of a pretrained model")
    parser.add_argument("--replies", type=int, default=64, help="a step, of --model")
    given = parser.parse_args(argv)
    trl = str(prepare(given.env))
    if given.model is None:
        rows = small(trl, given.steps)
    else:
        rows = pretrained(given.model.resolve(), given.replies, trl, given.steps)
    sys.stdout.write(table(rows) + "\n")


def small(trl: str, steps: int) -> list[Row]:
    """Measure the starter model and a random Llama."""
    more = {"steps": steps + 2}
    starter = case_of(str(STARTER_MODEL), 512, **more)
    llama = case_of(LLAMA, 128, longest=34, **more)
    chat = case_of(str(STARTER_MODEL), 512, world=EIGHT_TURNS, turns=8, **more)
    rows = measure("starter model, 512 replies", sides_of(starter, trl), steps)
    rows += measure("26M Llama, 128 replies", sides_of(llama, trl), steps)
    return rows + measure("starter model, 64 plays of 8 turns", sides_of(chat, None), steps)


def pretrained(model: Path, replies: int, trl: str, steps: int) -> list[Row]:
    """Measure a model's whole weights, and an adapter on it."""
    rows = []
    for kind, rank in (("whole weights", 0), ("adapter of rank 16", 16)):
        given = {"tokenizer": str(model), "lora": rank, "longest": 80, "steps": steps + 2}
        case = case_of(str(model), replies, **given)
        rows += measure(f"{model.name}, {kind}, {replies} replies", sides_of(case, trl), steps)
    return rows


if __name__ == "__main__":
    main()
