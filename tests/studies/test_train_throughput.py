"""The studies of speed compare like with like."""

import torch
from gpu_report import SHAPES, shape
from train_throughput import GROUP, Row, case_of, ratio, sides_of
from transformers import AutoConfig, AutoModelForCausalLM

PUBLISHED = {"Qwen3-0.6B": 596_049_920, "Qwen3-4B": 4_022_468_096}
"""Parameters by the files of weights on the Hub, tied embeddings counted once."""


def test_shapes_have_the_parameters_of_the_models_that_they_are_named_after():
    for name in SHAPES:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**shape(name, "cuda")))
        assert sum(p.numel() for p in model.parameters()) == PUBLISHED[name]


def test_ratios_are_medians_over_turns_not_of_medians():
    ours = Row("c", "ours", [{"seconds": s} for s in (1.0, 10.0, 100.0)])
    theirs = Row("c", "TRL", [{"seconds": s} for s in (4.0, 20.0, 300.0)])
    assert ratio(theirs, ours, "seconds") == 3.0


def test_both_sides_get_one_question_for_each_group_and_passes_that_divide_the_batch():
    case = case_of("model", 32, steps=2, longest=300)
    assert len(case["prompts"]) == 2 * 32 // GROUP
    assert len({p[0]["content"] for p in case["prompts"]}) > 1
    sides = sides_of(case, "python")
    assert [given["trl_rows"] for _, _, given in list(sides.values())[1:]] == [32, 4]
