"""What the studies of speed and memory put beside each other."""

import pytest
import torch
from gpu_report import SHAPES, shape
from learner_memory import main
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


def test_pieces_give_the_loss_and_gradient_of_whole_matrices(capsys, monkeypatch, tmp_path):
    import learner_memory
    from safetensors.torch import load_file

    monkeypatch.setattr(learner_memory, "VOCABULARY", 200_000)
    monkeypatch.setattr(learner_memory, "HIDDEN", 16)
    for way in ("whole", "pieces"):
        main(["--tokens", "128", "--way", way, str(tmp_path)])
    whole, pieces = (load_file(tmp_path / f"{way}.safetensors") for way in ("whole", "pieces"))
    assert whole.keys() == pieces.keys()
    for name, tensor in whole.items():
        assert tensor.flatten().tolist()[:50] == pytest.approx(
            pieces[name].flatten().tolist()[:50], abs=1e-5
        )
        assert torch.allclose(tensor, pieces[name], atol=1e-5)
