"""What an episode costs as its chats grow from 1 to 32 turns.

One policy plays both seats of a repeated game in full style, where every prompt is the chat so far
and something new. Two counts are taken of the record: new tokens, each once (what linear cost would
follow), and tokens that stand in all prompts and replies together (what an engine reads that keeps
nothing from turn to turn). The exponent is the slope of the logarithm of the seconds of this
process's CPU over that of the new tokens, from 4 turns on: 1 is linear.

The model is a small Llama of random weights with room for long chats, so that its replies are noise
of full length; a choice is played in their place.

Engines that need environments of their own are run one by one: `--json` writes what was measured,
and `--beside` adds such files to the table and the picture.

    python -P benchmarks/studies/episode_cost.py --engine vllm --json vllm.json
    python -P benchmarks/studies/episode_cost.py --beside vllm.json --plot episode_cost.png
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from coevo.agents.engines.engine import Engine, Prompt
from coevo.agents.engines.settings import TorchConfig, VllmConfig
from coevo.agents.engines.torch_engine import TorchEngine
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_model
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.episode import Episode
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

TURNS = (1, 2, 4, 8, 16, 32)
SEATS = ("player_0", "player_1")
ROOM = 16_384
"""Tokens of the model's context."""


@dataclass(frozen=True)
class Cost:
    """What episodes of one length took."""

    turns: int
    new: int
    """Tokens of all chats at their ends."""
    read: int
    """Tokens of all prompts and replies."""
    seconds: float


@dataclass(frozen=True)
class Costs:
    """What episodes of several lengths took with one engine."""

    engine: str
    costs: tuple[Cost, ...]

    @classmethod
    def read(cls, path: str) -> Costs:
        """Return what `--json` wrote."""
        found = json.loads(Path(path).read_text())
        return cls(found["engine"], tuple(Cost(**c) for c in found["costs"]))

    def write(self, path: str) -> None:
        """Write a file for `--beside`."""
        Path(path).write_text(json.dumps(asdict(self), indent=1) + "\n")

    def exponent(self, least: int = 4) -> float:
        """Return the slope of log seconds over log new tokens, from so many turns on."""
        long = [c for c in self.costs if c.turns >= least]
        new, seconds = [c.new for c in long], [c.seconds for c in long]
        return float(np.polyfit(np.log(new), np.log(seconds), 1)[0])


def saved_model(folder: str, seed: int, width: int) -> None:
    """Write a Llama of random weights with the starter model's tokenizer; heads are 32 wide."""
    _, tokenizer = load_model("starter", device="cpu")
    torch.manual_seed(seed)
    shape = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=width * 8 // 3,
        num_hidden_layers=3,
        num_attention_heads=width // 32,
        num_key_value_heads=width // 32,
        max_position_embeddings=ROOM,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    LlamaForCausalLM(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def engine_of(name: str, folder: str, cache_gib: float) -> Engine:
    """Return an engine by name, with so much memory for keys and values."""
    if name == "torch":
        return TorchEngine(TorchConfig(cache_gib=cache_gib))
    from coevo.agents.engines.vllm_engine import VllmEngine

    return VllmEngine(folder, VllmConfig(context=ROOM, cache_gib=cache_gib))


def count(episode: Episode) -> tuple[int, int]:
    """Return new tokens and read tokens of an episode."""
    read = dict.fromkeys(episode.agents, 0)
    new = dict(read)
    for turn in episode.turns:
        new[turn.agent] = len(turn.prompt_ids or ()) + len(turn.token_ids or ())
        read[turn.agent] += new[turn.agent]
    return sum(new.values()), sum(read.values())


def refreshed(agent: LanguageModelAgent) -> None:
    """Let an engine forget earlier repetitions, and load what it loads when it is asked first."""
    agent.publish(agent.version + 1)
    one = SamplingConfig(max_new_tokens=1)
    agent.engine.generate(agent.ref, [Prompt((5,))], one, [0])


def cost(agent: LanguageModelAgent, turns: int, episodes: int, repeats: int) -> Cost:
    """Return what the fastest of some repetitions took."""
    players = dict.fromkeys(SEATS, "policy")
    specs = [EpisodeSpec(seed, players) for seed in range(episodes)]
    options = {"prompt_style": "full", "rounds": turns, "unparsable": "B"}
    seconds, counts = [], []
    for _ in range(repeats):
        agent.reseed(0)
        agent.forget()
        refreshed(agent)
        began = time.process_time()
        found = rollout("coevo/iterated_game-v0", specs, {"policy": agent}, options)
        seconds.append(time.process_time() - began)
        counts = [count(episode) for episode in found]
    new, read = (sum(column) for column in zip(*counts, strict=True))
    return Cost(turns, new, read, min(seconds))


def table(engines: Sequence[Costs]) -> str:
    """Return all figures as a table, with the exponents below it."""
    lines = ["| engine | turns | new tokens | read tokens | seconds | ms per new token |"]
    lines += ["|---|---|---|---|---|---|"]
    for e in engines:
        lines += [
            f"| {e.engine} | {c.turns} | {c.new:,} | {c.read:,} | {c.seconds:.3f} | "
            f"{1000 * c.seconds / c.new:.3f} |"
            for c in e.costs
        ]
    lines += ["", *(f"engine {e.engine}: exponent {e.exponent():.2f}" for e in engines)]
    return "\n".join(lines)


def plotted(engines: Sequence[Costs], path: str) -> None:
    """Draw seconds over new tokens, each engine beside a line through its point at 4 turns."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for e in engines:
        x, y = [c.new for c in e.costs], [c.seconds for c in e.costs]
        label = f"engine {e.engine}: exponent {e.exponent():.2f}"
        (line,) = axes.loglog(x, y, "o-", label=label)
        (middle,) = (c for c in e.costs if c.turns == 4)
        linear = [middle.seconds * n / middle.new for n in x]
        axes.loglog(x, linear, "--", color=line.get_color(), alpha=0.5)
    axes.set_xlabel("new tokens of all episodes (1 to 32 turns a seat)")
    axes.set_ylabel("CPU seconds (dashed: linear)")
    axes.legend()
    figure.savefig(path, dpi=100)


def main(arguments: list[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--engine", choices=("torch", "vllm"), default="torch")
    parser.add_argument("--cache-gib", type=float, default=1.0, help="0 keeps nothing (torch)")
    parser.add_argument("--width", type=int, default=192, help="of the model, a multiple of 96")
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", default="", help="where the figures of this engine go")
    parser.add_argument("--beside", nargs="*", default=[], help="figures of other engines")
    parser.add_argument("--plot", default="", help="where a picture goes")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        saved_model(folder, given.seed, given.width)
        model, tokenizer = load_model(folder, device="cpu")
        sampling = SamplingConfig(max_new_tokens=16)
        engine = engine_of(given.engine, folder, given.cache_gib)
        agent = LanguageModelAgent(model, tokenizer, sampling=sampling, engine=engine)
        cost(agent, 1, given.episodes, 1)  # what happens once only
        costs = tuple(cost(agent, turns, given.episodes, given.repeats) for turns in TURNS)
    kept = "" if given.cache_gib else ", nothing kept"
    wide = "" if given.width == parser.get_default("width") else f", width {given.width}"
    measured = Costs(given.engine + wide + kept, costs)
    if given.json:
        measured.write(given.json)
    engines = [measured, *map(Costs.read, given.beside)]
    sys.stdout.write(table(engines) + "\n")
    if given.plot:
        plotted(engines, given.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
