import warnings

import pytest

CHAT = [
    {"role": "user", "content": "Your card is the 王. 🂡\nLegal moves: [check] [bet]"},
    {"role": "assistant", "content": "[bet]"},
    {"role": "user", "content": "[fold] or [call]?"},
]


@pytest.fixture(scope="module")
def tokenizer(tiny_model_dir):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_model_dir)


def test_every_text_survives_the_tiny_tokenizer(tokenizer):
    text = CHAT[0]["content"]
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_a_growing_chat_only_appends_tokens(tokenizer):
    def ids(chat):
        return tokenizer.apply_chat_template(
            chat, add_generation_prompt=chat[-1]["role"] == "user", return_dict=False
        )

    first, second, third = ids(CHAT[:1]), ids(CHAT[:2]), ids(CHAT)
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert second[-1] == tokenizer.eos_token_id != tokenizer.pad_token_id


def test_the_tiny_model_generates_and_knows_its_end_token(tiny_model_dir, tokenizer):
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny_model_dir).eval()
    batch = tokenizer(["<|user|>hello<|end|><|assistant|>"], return_tensors="pt")
    with torch.no_grad():
        out = model.generate(**batch, max_new_tokens=4, min_new_tokens=4, do_sample=False)
    assert out.shape[1] == batch["input_ids"].shape[1] + 4
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id
    assert torch.get_num_threads() == 1


def test_warnings_are_errors():
    with pytest.raises(UserWarning, match="loud"):
        warnings.warn("loud", UserWarning, stacklevel=1)
