"""Commands that train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from coevo.commands.arguments.fields import (
    Command,
    Device,
    MaxTokens,
    Pairs,
    Shown,
    Switch,
    Temperature,
)


@dataclass(frozen=True, kw_only=True)
class Train(Command):
    """Train a model by self-play; measure it before and after.

    A run ends at the first of its limits (--steps, --budget, --budget-tokens). Everything is
    written to its folder as it happens, so that --resume continues after any interruption.
    """

    runs: ClassVar[str] = "coevo.commands.train"
    example: ClassVar[str] = "coevo train mars --env coevo/kuhn_poker-v0 --budget 4m --seed 1"

    algo: Annotated[str | None, Shown("ALGO")] = None
    """Algorithm; `coevo algos` lists them."""
    env: Annotated[str | None, Shown("ID")] = None
    """Environment; `coevo envs` lists them."""
    model: Annotated[str | None, Shown("PATH", "starter, the shipped model")] = None
    """Start model: a folder, a run folder, or owner/name on the Hugging Face Hub."""
    steps: Annotated[int | None, Shown("N", low=1)] = None
    """Limit: updates."""
    budget: Annotated[str | None, Shown("TIME", "4m, if there is no other limit")] = None
    """Limit: training time, evaluation not counted, such as 90s, 5m or 1h30m."""
    budget_tokens: Annotated[float | None, Shown("N", low=1)] = None
    """Limit: sampled tokens, such as 2e6."""
    seed: Annotated[int | None, Shown("K", "0")] = None
    """Root of all randomness."""
    out: Annotated[str | None, Shown("DIR", "runs/<algo>-<env>-<seed>")] = None
    """Folder of the run."""
    variant: Annotated[str | None, Shown("NAME")] = None
    """Variant of the algorithm; `coevo algos ALGO` lists them."""
    set: Pairs = ()
    """Changes of settings, such as optim.lr=1e-3 'advantage.credit={name: gae, lam: 0.95}'."""
    env_option: Pairs = ()
    """Arguments of the environment, such as prompt_style=full illegal=mask."""
    device: Device = None
    """Where to compute."""
    threads: Annotated[int | None, Shown("N", "0, torch's choice")] = None
    """CPU threads; equal results need equal numbers."""
    ray: Annotated[Literal["auto", "local"] | None, Shown("auto|local", "one process")] = None
    """Share the run out: auto joins the Ray cluster of RAY_ADDRESS, local starts one here."""
    rollout_workers: Annotated[int, Shown("N", "0")] = 0
    """With --ray: processes that play, with environments and engines of their own."""
    ranks: Annotated[int, Shown("M", "1", low=1)] = 1
    """With --ray: processes that learn together (FSDP2), this one included."""
    temperature: Temperature = None
    """Divides the logits when sampling."""
    max_new_tokens: MaxTokens = None
    """Longest reply in tokens."""
    log: Annotated[str | None, Shown("NAMES", "none; with --resume, those of the run")] = None
    """Show the metrics in tensorboard, wandb or trackio too; several with commas between."""
    trust_remote_code: Switch = False
    """Run code that comes with the model; said anew in every call, as no file can say it."""
    resume: Annotated[str | None, Shown("DIR")] = None
    """Continue this run; a limit given here replaces the old ones, counted from the start."""
    skip_damaged: Switch = False
    """With --resume: set damaged checkpoints aside and continue from the newest whole one."""
    config: Annotated[str | None, Shown("FILE")] = None
    """Repeat the run that this config.yaml describes."""
    no_eval: Switch = False
    """Skip the tables before and after."""
    eval_games: Annotated[int, Shown("N", "400", low=1)] = 400
    """Episodes per opponent in the tables."""
