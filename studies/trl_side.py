"""The half of `trl_crosscheck` that runs inside TRL's environment; it imports nothing of coevo.

    python trl_side.py FOLDER

FOLDER holds `batch.npz` (see `trl_batch.Batch`) and `cases.json`, a list of {name, trainer,
config, rewards, micro_batches, windows, holes, fresh}. Advantages come from TRL's
`_generate_and_score_completions`, losses from its `_compute_loss` (of pairs: that of `DPOTrainer`,
and `get_batch_logps` and `cpo_loss` of `CPOTrainer`); only generation and the forward pass are
replaced, by the tokens and logits of the file. Written: `answers.npz` with
`<name>/loss`, `<name>/gradient` [B, L, V] with respect to the logits and `<name>/advantage` [B],
and `versions.json`.
"""

from __future__ import annotations

import json
import platform
import sys
from collections import defaultdict, deque
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

Arrays = Mapping[str, Any]
PROMPT = [1, 2]
"""Token ids of every prompt; nothing reads them."""
READ_IN_PLACE = {
    "aux_loss_enabled": False,
    "chat_template_kwargs": {},
    "current_gradient_accumulation_steps": 1,
    "environment_factories": None,
    "environments": None,
    "pad_to_multiple_of": None,
    "ref_model": "ref",
    "rollout_func": None,
    "tools": [],
    "_entropy_window_stats": None,
    "_is_vlm": False,
    "_last_world_entropy": float("inf"),
    "_step": 0,
}
"""What a trainer sets up around a model and its tools, as it is without them."""


class Rows(nn.Module):
    """A policy that is a table: logits of given rows at every completion position."""

    is_gradient_checkpointing = False
    """Asked by TRL of every model."""

    def __init__(self, logits_BLV: Tensor) -> None:
        """Keep the logits of some rows."""
        super().__init__()
        self.logits_BLV = logits_BLV

    def read(self, ids_BL: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probability of every token and the entropy before it."""
        log_BLV = self.logits_BLV.log_softmax(-1)
        logp_CL = log_BLV.gather(2, ids_BL.unsqueeze(2)).squeeze(2)
        return logp_CL, -(log_BLV.exp() * log_BLV).sum(-1)


def build(case: Mapping[str, Any], batch: Arrays, folder: Path) -> Any:
    """Make a trainer of TRL without its constructor, which would load a model and a data set."""
    name = case["trainer"]
    module = import_module(f"trl.trainer.{name.removesuffix('Trainer').lower()}_trainer")
    trl = import_module("trl")
    rows, parts = len(batch["tokens"]), case["micro_batches"]
    args = getattr(trl, name.replace("Trainer", "Config"))(
        output_dir=str(folder / "unused"),
        per_device_train_batch_size=rows // parts,
        gradient_accumulation_steps=parts // case["windows"],
        steps_per_generation=parts,
        num_iterations=2,  # so that the trainer reads the old log-probabilities
        num_generations=int(batch["group_size"]),
        max_completion_length=int(batch["max_length"]),
        report_to="none",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        **case["config"],
    )
    trainer = object.__new__(getattr(module, name))
    known = {k: v for k, v in vars(args).items() if not k.startswith("_")}
    high = args.epsilon if args.epsilon_high is None else args.epsilon_high
    trainer.__dict__.update(known)
    trainer.__dict__.update(READ_IN_PLACE)
    trainer.__dict__.update(
        args=args,
        accelerator=import_module("accelerate").Accelerator(cpu=True),
        epsilon_low=args.epsilon,
        epsilon_high=high,
        num_generations_eval=args.num_generations,
        _entropy_bonus_enabled=getattr(args, "entropy_coef", 0.0) != 0.0,
        _tokenizer=SimpleNamespace(pad_token_id=0),
        eos_token_ids=[int(batch["end"])],
        state=SimpleNamespace(num_input_tokens_seen=0, global_step=0),
        current_gradient_accumulation_steps=args.gradient_accumulation_steps,
    )
    trainer.__dict__.update(_logbooks(case["rewards"]), **_rewards(case["rewards"], batch))
    trainer.model = Rows(torch.zeros(0))  # stands for what generated
    trainer._get_per_token_logps_and_entropies = _reader(trainer.model, batch)
    trainer._generate = _speaker(batch, case["holes"], grouped=name == "GRPOTrainer")
    return trainer


def answer_pairs(case: Mapping[str, Any], batch: Arrays, folder: Path) -> dict[str, Any]:
    """Let TRL compare every even row with the row after it, which lost."""
    name, config = case["trainer"], dict(case["config"])
    places = {"DPOTrainer": "trl.trainer.dpo", "CPOTrainer": "trl.experimental.cpo.cpo"}
    args = getattr(import_module(f"{places[name]}_config"), name.replace("Trainer", "Config"))(
        output_dir=str(folder / "unused"), report_to="none", use_cpu=True, bf16=False, **config
    )
    trainer = object.__new__(getattr(import_module(f"{places[name]}_trainer"), name))
    trainer.__dict__.update({k: v for k, v in vars(args).items() if not k.startswith("_")})
    trainer.__dict__.update(
        args=args,
        accelerator=import_module("accelerate").Accelerator(cpu=True),
        aux_loss_enabled=False,
        loss_types=args.loss_type,
        loss_weights=getattr(args, "loss_weights", None) or [1.0],
        precompute_ref_logps=False,
        _metrics={"train": defaultdict(list), "eval": defaultdict(list)},
        _total_train_tokens=0,
        _tp_size=1,
    )
    leaf_BLV = torch.as_tensor(batch["now"]).clone().requires_grad_()
    rows = len(leaf_BLV)
    sides = torch.cat([torch.arange(0, rows, 2), torch.arange(1, rows, 2)])
    tokens_BL, own_BL = torch.as_tensor(batch["tokens"])[sides], _own(batch)[sides]
    prompt_BP = torch.tensor(PROMPT).expand(rows, -1)
    ids_BN = torch.cat([prompt_BP, tokens_BL], 1)
    mask_BN = torch.cat([torch.zeros_like(prompt_BP), own_BL], 1)
    width = len(PROMPT) - 1
    if name == "CPOTrainer":
        logits_BNV = nn.functional.pad(leaf_BLV[sides], (0, 0, width, 1))
        labels_BN = ids_BN.masked_fill(mask_BN == 0, -100)
        logp_B = trainer.get_batch_logps(logits_BNV, labels_BN, average_log_prob=True)
        loss = trainer.cpo_loss(*logp_B.chunk(2))[0].mean()
    else:
        trainer.model = _Spoken(Rows(leaf_BLV[sides]).read(tokens_BL)[0], own_BL, width)
        trainer.ref_model = _Spoken(torch.as_tensor(batch["logp_ref"])[sides], own_BL, width)
        inputs = {"input_ids": ids_BN, "attention_mask": mask_BN, "completion_mask": mask_BN}
        loss = trainer._compute_loss(trainer.model, inputs, False)
    loss.backward()
    none_B = torch.zeros(rows)
    return {"loss": float(loss.detach()), "gradient": leaf_BLV.grad, "advantage": none_B}


def _own(batch: Arrays) -> Tensor:
    """Mark the tokens of every reply with 1, padding with 0."""
    at_L = torch.arange(batch["tokens"].shape[1])
    return (at_L < torch.as_tensor(batch["lengths"]).unsqueeze(1)).long()


class _Spoken(nn.Module):
    """A model that gives recorded log-probabilities of replies behind a prompt."""

    is_gradient_checkpointing = False

    def __init__(self, logp_CL: Tensor, own_BL: Tensor, width: int) -> None:
        """Keep the log-probabilities; those of the prompt and of padding are 0."""
        super().__init__()
        self.logp_BN = nn.functional.pad(torch.where(own_BL.bool(), logp_CL, 0.0), (width, 0))

    def forward(self, **_: Any) -> SimpleNamespace:
        """Return what TRL's fused head returns; the rest is for its log."""
        rest = torch.zeros_like(self.logp_BN)
        return SimpleNamespace(
            log_probs=self.logp_BN, entropy=rest, mean_logits=rest, is_top1=rest.bool()
        )


def answer(case: Mapping[str, Any], batch: Arrays, folder: Path) -> dict[str, Any]:
    """Let TRL score one batch and compute the loss of its first optimiser step."""
    if case["fresh"]:
        batch = {**batch, "logp_old": batch["logp_now"]}
    trainer, rows = build(case, batch, folder), len(batch["tokens"])
    inputs = trainer._generate_and_score_completions([{"prompt": "p"} for _ in range(rows)])
    size = rows // case["micro_batches"]
    leaf_BLV = torch.as_tensor(batch["now"]).clone().requires_grad_()
    total = 0.0
    for start in range(0, rows // case["windows"], size):
        rows_M = slice(start, start + size)
        part = {k: v[rows_M] if torch.is_tensor(v) and v.ndim else v for k, v in inputs.items()}
        loss = trainer._compute_loss(Rows(leaf_BLV[rows_M]), part)
        if case["trainer"] == "RLOOTrainer":  # the base class divides for this one
            loss = loss / trainer.current_gradient_accumulation_steps
        loss.backward()
        total += float(loss.detach())
    return {"loss": total, "gradient": leaf_BLV.grad, "advantage": inputs["advantages"]}


def _reader(own: nn.Module, batch: Arrays) -> Any:
    """Stand in for the forward pass; `own` is the policy that generated."""
    old, ref = torch.as_tensor(batch["logp_old"]), torch.as_tensor(batch["logp_ref"])

    def read(model: Any, ids_BN: Tensor, _mask: Tensor, keep: int, *_: Any, **__: Any) -> Any:
        if model is own or model == "ref":
            return (old if model is own else ref), None, None
        return *model.read(ids_BN[:, -keep:]), None

    return read


def _speaker(batch: Arrays, holes: bool, grouped: bool) -> Any:
    """Stand in for generation: give the recorded tokens and what the sampler said of them."""

    def cut(name: str) -> list[list[Any]]:
        table = batch[name].tolist()
        return [row[:n] for row, n in zip(table, batch["lengths"].tolist(), strict=True)]

    def speak(prompts: list[Any]) -> Any:
        prompt_ids, texts = [PROMPT] * len(prompts), [""] * len(prompts)
        if not grouped:
            return prompt_ids, cut("tokens"), texts
        own = cut("own") if holes else None
        return prompt_ids, cut("tokens"), own, texts, cut("logp_behaviour"), {}, None, []

    return speak


def _rewards(names: list[str], batch: Arrays) -> dict[str, Any]:
    def column(name: str) -> Any:
        return lambda **_: batch[f"reward_{name}"].tolist()

    return {
        "reward_funcs": [column(name) for name in names],
        "reward_func_names": names,
        "reward_processing_classes": [None] * len(names),
        "reward_weights": torch.ones(len(names)),
    }


def _logbooks(names: list[str]) -> dict[str, Any]:
    logs: dict[str, Any] = {k: deque() for k in ("images", "prompt", "completion", "advantages")}
    return {
        "_metrics": {"train": defaultdict(list), "eval": defaultdict(list)},
        "_logs": logs | {"rewards": defaultdict(deque), "extra": defaultdict(deque)},
        "_pending_extra_logs": defaultdict(list),
        "_pending_metrics": defaultdict(list),
    }


def main(folder: Path) -> None:
    """Answer every case of a folder."""
    with np.load(folder / "batch.npz") as stored:
        batch = dict(stored)
    cases = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
    answers: dict[str, Any] = {}
    for case in cases:
        way = answer_pairs if case["trainer"] in ("DPOTrainer", "CPOTrainer") else answer
        for key, value in way(case, batch, folder).items():
            answers[f"{case['name']}/{key}"] = np.asarray(value)
    np.savez(folder / "answers.npz", **answers)
    versions = {name: version(name) for name in ("trl", "torch", "transformers", "accelerate")}
    versions["python"] = platform.python_version()
    (folder / "versions.json").write_text(json.dumps(versions), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
