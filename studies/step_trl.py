"""TRL's side of `train_throughput`: steps of its `GRPOTrainer`; see `step_side`.

Settings are those of the case, and otherwise those that cost TRL least: no gradient checkpointing
(its default saves memory for time), no reference model, nothing logged or saved.
"""

from __future__ import annotations

import tempfile
from importlib import import_module
from typing import Any

from step_side import Case, Meter, model_of, read_case, reward, say, wait
from transformers import TrainerCallback


class Stepwise(TrainerCallback):
    """Lets a trainer take a step for every line, and measures it."""

    def __init__(self, device: str, samples: int) -> None:
        self.meter, self.samples = Meter(device), samples
        self.tokens: list[int] = []
        self.prompts: list[int] = []

    def on_step_begin(self, *given: Any, **named: Any) -> None:
        """Wait for the line."""
        wait()
        self.tokens, self.prompts = [], []
        self.meter.start()

    def on_step_end(self, *given: Any, **named: Any) -> None:
        """Answer."""
        found = self.meter.stop(
            sum(self.tokens) / len(self.tokens), sum(self.prompts) / len(self.prompts)
        )
        say(found | {"samples": self.samples})


def settings(case: Case, folder: str) -> dict[str, Any]:
    """Return the arguments of TRL's configuration."""
    samples, rows = case["samples"], case["trl_rows"]
    return {
        "output_dir": folder,
        "per_device_train_batch_size": rows,
        "gradient_accumulation_steps": samples // rows,
        "num_generations": case["group"],
        "max_completion_length": case["new"],
        "temperature": 1.0,
        "top_k": 0,
        "beta": 0.0,
        "loss_type": "grpo",
        "learning_rate": case["lr"],
        "max_steps": 10**6,
        "bf16": case["device"] == "cuda",
        "gradient_checkpointing": False,
        "use_cpu": case["device"] == "cpu",
        "report_to": [],
        "logging_strategy": "no",
        "save_strategy": "no",
        "disable_tqdm": True,
    }


def main() -> None:
    """Take steps on demand."""
    case = read_case()
    trl: Any = import_module("trl")
    datasets: Any = import_module("datasets")
    model, tokenizer = model_of(case)
    watch = Stepwise(case["device"], case["samples"])

    def rewarded(completion_ids: list[list[int]], prompts: list[Any], **others: Any) -> list[float]:
        watch.tokens += [len(ids) for ids in completion_ids]
        watch.prompts += [
            len(tokenizer.apply_chat_template(p, add_generation_prompt=True)["input_ids"])
            for p in prompts[: case["group"]]
        ]
        return [reward(list(map(int, ids))) for ids in completion_ids]

    adapter = None
    if case["lora"]:
        peft: Any = import_module("peft")
        adapter = peft.LoraConfig(r=case["lora"], lora_alpha=32, target_modules="all-linear")
    with tempfile.TemporaryDirectory() as folder:
        trainer = trl.GRPOTrainer(
            model=model,
            args=trl.GRPOConfig(**settings(case, folder)),
            reward_funcs=rewarded,
            train_dataset=datasets.Dataset.from_list([{"prompt": p} for p in case["prompts"]]),
            processing_class=tokenizer,
            peft_config=adapter,
        )
        trainer.add_callback(watch)
        say("ready")
        trainer.train()


if __name__ == "__main__":
    main()
