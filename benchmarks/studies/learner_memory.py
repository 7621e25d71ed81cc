"""Peak memory of a learner's step at a large vocabulary: in pieces, and whole as in version one.

    python -m coevo.benchmarks.studies.learner_memory [--tokens N]

from the tree. A random model with 151,936 ids (those of Qwen) and a small trunk scores N response
tokens in one pass, with an entropy bonus, and the gradient of every weight is taken: by the shipped
learner's way (`Scored.reduce`) and by whole matrices [N, vocabulary] of log-probabilities and of
entropies, as in version one (commit a8ca257, `trainers/objective.py`). Each runs in a process of
its own on one thread; memory is the high-water mark above what the process held before. Loss and
gradients of the two are compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from coevo.agents.scoring import Scored, Span, chosen, score
from coevo.trainers.estimators import exact_entropy

VOCABULARY = 151_936
HIDDEN = 128
REPLY = 128
"""Response tokens of a sequence, behind as many of its prompt."""
BONUS = 0.01
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def with_entropy(ids_N: Tensor, logp_NV: Tensor) -> tuple[Tensor, ...]:
    """Return the log-probability of every token, and the entropy before it."""
    return chosen(logp_NV, ids_N), exact_entropy(logp_NV)


def whole(scored: Scored) -> tuple[Tensor, ...]:
    """Return the same by matrices of all tokens."""
    logits_NV = scored.logits(slice(None))
    logp_N = chosen(logits_NV.log_softmax(-1), scored.ids_N)
    return logp_N, exact_entropy(logits_NV.log_softmax(-1))


def step(way: str, tokens: int, folder: Path) -> None:
    """Take the gradient in one way, and write what it took."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=256,
        num_hidden_layers=1,
        num_attention_heads=2,
        tie_word_embeddings=True,
        initializer_range=0.1,
    )
    model = LlamaForCausalLM(shape).eval()
    ids = torch.randint(VOCABULARY, (tokens // REPLY, 2 * REPLY)).tolist()
    spans = [Span(tuple(row), (REPLY,), (2 * REPLY,)) for row in ids]
    sign_N = torch.randn(tokens)
    score(model, spans[:1])  # what is set up once
    before, began = held("VmRSS"), time.process_time()
    CLEAR.write_text("5", encoding="ascii")
    scored = score(model, spans)
    logp_N, entropy_N = scored.reduce(with_entropy) if way == "pieces" else whole(scored)
    loss = -(sign_N * logp_N).mean() - BONUS * entropy_N.mean()
    loss.backward()
    found = {"peak": held("VmHWM") - before, "seconds": time.process_time() - began}
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    save_file({**gradients, "loss": loss.detach()}, folder / f"{way}.safetensors")
    (folder / f"{way}.json").write_text(json.dumps(found), encoding="utf-8")


def held(name: str) -> float:
    """Return a size of this process, MiB."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text(encoding="ascii").splitlines())
    return int(lines[name].split()[0]) / 1024


def main(argv: Sequence[str] | None = None) -> None:
    """Run both ways and print what they took, and how far they are apart."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=1024, help="response tokens, by 128")
    parser.add_argument("--way", nargs=2, metavar=("WAY", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.way:
        step(given.way[0], given.tokens, Path(given.way[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        folder, found = Path(name), {}
        for way in ("whole", "pieces"):
            command = [sys.executable, "-P", "-m", "coevo.benchmarks.studies.learner_memory"]
            command += ["--tokens", str(given.tokens), "--way", way, name]
            subprocess.run(command, check=True)
            found[way] = json.loads((folder / f"{way}.json").read_text(encoding="utf-8"))
        one, other = (load_file(folder / f"{way}.safetensors") for way in found)
    loss = float((one.pop("loss") - other.pop("loss")).abs())
    most = max(float(g.abs().max()) for g in one.values())
    gap = max(float((one[n] - other[n]).abs().max()) for n in one)
    say = sys.stdout.write
    say("| way | response tokens | peak MiB above start | processor seconds |\n|---|---|---|---|\n")
    for way, took in found.items():
        say(f"| {way} | {given.tokens} | {took['peak']:.0f} | {took['seconds']:.1f} |\n")
    say(f"\npieces / whole: {found['pieces']['peak'] / found['whole']['peak']:.3f} of the memory; ")
    say(
        f"loss differs by {loss:.1e}, a gradient by {gap:.1e} at most (greatest entry {most:.1e})\n"
    )


if __name__ == "__main__":
    main()
