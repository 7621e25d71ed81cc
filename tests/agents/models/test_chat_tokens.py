import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from coevo.agents.models.chat_tokens import ChatTokens
from coevo.envs.core.errors import ConfigError

MARKERS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "[INST]", "[/INST]", "</s>", "<s>")
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
THINKING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' and '</think>' in m.content and not loop.last %}"
    "{{ m.content.split('</think>')[-1].lstrip('\n') }}"
    "{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NO_SYSTEM = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate') }}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
DROPS_SYSTEM = CHATML.replace(
    "{% for m in messages %}", "{% for m in messages if m.role != 'system' %}"
)
SPACED_END = (
    "{% for m in messages %}{% if m.role == 'assistant' %} {{ m.content }} </s>"
    "{% else %}[INST] {{ m.content }} [/INST]{% endif %}{% endfor %}"
)
TEMPLATES = {
    "chatml": CHATML,
    "thinking": THINKING,
    "no_system": NO_SYSTEM,
    "drops_system": DROPS_SYSTEM,
    "spaced_end": SPACED_END,
    "none": None,
}


def tokenizer_with(template, eos="<|endoftext|>"):
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(MARKERS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(["user assistant system " * 3, "<|im_end|> </s> [INST]" * 5], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token=eos, bos_token="<s>", chat_template=template
    )


@pytest.fixture(scope="module")
def tokenizers():
    ends = {"chatml": "<|im_end|>", "spaced_end": "</s>"}
    return {
        name: tokenizer_with(template, ends.get(name, "<|endoftext|>"))
        for name, template in TEMPLATES.items()
    }


@pytest.fixture(scope="module")
def every(tokenizers):
    return {name: ChatTokens(tokenizer) for name, tokenizer in tokenizers.items()}


def chat(*contents, system="You play poker."):
    roles = ("user", "assistant")
    said = [{"role": roles[i % 2], "content": c} for i, c in enumerate(contents)]
    return tuple([{"role": "system", "content": system}] * bool(system) + said)


def raw(tokens, ids):
    return tokens.tokenizer.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("name", ["chatml", "thinking"])
def test_a_prompt_reads_as_the_template_renders_it(every, tokenizers, name):
    talk = chat("Your card: K.", "[bet]", "They call.")
    rendered = tokenizers[name].apply_chat_template(
        list(talk), tokenize=False, add_generation_prompt=True
    )
    assert raw(every[name], every[name].prompt(talk)) == rendered


@pytest.mark.parametrize("name", ["no_system", "drops_system"])
def test_a_template_without_system_role_reads_it_in_the_first_user_message(every, name):
    read = raw(every[name], every[name].prompt(chat("Your card: K.")))
    assert read.endswith(
        "<|im_start|>user\nYou play poker.\n\nYour card: K.<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_model_without_template_reads_plain_lines(every):
    tokens = every["none"]
    read = raw(tokens, tokens.prompt(chat("Your card: K.", "[bet]", "They call.")))
    assert read == (
        "<s>System: You play poker.\nUser: Your card: K.\nAssistant: [bet]<|endoftext|>\n"
        "User: They call.\nAssistant:"
    )


@pytest.mark.parametrize("name", sorted(TEMPLATES))
@pytest.mark.parametrize("ended", [True, False])
def test_a_growing_chat_reads_like_a_fresh_one_when_the_reply_was_spelled_as_usual(
    every, name, ended
):
    tokens = every[name]
    first, both = chat("Your card: K."), chat("Your card: K.", "[bet]", "They call.")
    reply = tokens.answer("[bet]") if ended else tokens.answer("[bet]")[:-1]
    grown = tokens.prompt(first) + reply
    grown += tokens.continuation(both, len(first), grown)
    spoken = raw(tokens, grown).replace(" ", "")
    assert spoken == raw(tokens, tokens.prompt(both)).replace(" ", "")
    ends = raw(tokens, [tokens.end_ids[0]])
    assert spoken.count(ends) == raw(tokens, tokens.prompt(both)).count(ends)


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_what_follows_a_reply_does_not_depend_on_what_the_reply_was(every, name):
    tokens = every[name]
    found = {
        tuple(tokens.continuation(chat("a", reply, "b"), 2, tokens.answer(reply)))
        for reply in ("[bet]", "<think>long\n</think>\n\n[bet]", "\ue0001\ue001", "  ", "")
    }
    assert len(found) == 1


def test_another_end_token_does_not_replace_the_one_of_the_template(every):
    tokens = every["thinking"]
    other = tokens.tokenizer.eos_token_id
    assert tokens.end_ids == (tokens.tokenizer.convert_tokens_to_ids("<|im_end|>"), other)
    after = tokens.continuation(chat("a", "[bet]", "b"), 2, [*tokens.answer("[bet]")[:-1], other])
    assert raw(tokens, after).startswith("<|im_end|>\n<|im_start|>user\nb<|im_end|>")


@pytest.mark.parametrize("name", sorted(TEMPLATES))
@given(text=st.text(max_size=20), marker=st.sampled_from(MARKERS))
def test_text_never_becomes_a_control_token(every, name, text, marker):
    tokens = every[name]
    special = set(tokens.tokenizer.all_special_ids) | {
        tokens.tokenizer.convert_tokens_to_ids(m) for m in MARKERS
    }

    def controls(content):
        return [i for i in tokens.prompt(chat(content)) if i in special]

    assert controls(f"{text}{marker}\n{marker}{text}") == controls("x")
    assert not special & set(tokens.answer(text + marker)[:-1])


def test_threads_take_turns_with_a_tokenizer(tokenizers, monkeypatch):
    """How special tokens are read is set on the tokenizer by every call (episodes played ahead)."""
    real, inside, most = PreTrainedTokenizerFast.__call__, [], []

    def slow(self, *args, **kwargs):
        inside.append(self)
        most.append(len(inside))
        time.sleep(0.001)
        inside.pop()
        return real(self, *args, **kwargs)

    monkeypatch.setattr(PreTrainedTokenizerFast, "__call__", slow)
    tokens = ChatTokens(tokenizers["chatml"])
    talks = [chat(f"Your card: {n}.", f"<|im_end|>{n}") for n in range(8)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(tokens.prompt, talks))
    assert max(most) == 1


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40))
def test_text_survives_tokens(every, text):
    tokens = every["chatml"]
    assert tokens.text(tokens.answer(text)) == text


def test_half_a_surrogate_pair_is_spelled_as_its_escape(every):
    tokens = every["chatml"]
    assert tokens.text(tokens.answer("a\ud83d")) == "a\\ud83d"


def test_a_tokenizer_that_looks_up_whole_words_still_gives_text_no_control_token():
    core = Tokenizer(models.WordLevel({"<unk>": 0, "<end>": 1, "hello": 2}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="<unk>",
        eos_token="<end>",
        clean_up_tokenization_spaces=True,
    )
    assert ChatTokens(tokenizer).answer("hello <end> there") == [2, 0, 1]


def test_the_first_of_several_templates_is_the_one_called_default():
    tokenizer = tokenizer_with({"default": CHATML, "tool_use": "{{ raise_exception('no') }}"})
    tokens = ChatTokens(tokenizer)
    assert raw(tokens, tokens.prompt(chat("hi"))).startswith("<|im_start|>system\n")


def test_a_template_that_refuses_the_chat_is_named():
    tokens = ChatTokens(tokenizer_with(NO_SYSTEM))
    twice = ({"role": "user", "content": "a"}, {"role": "user", "content": "b"})
    with pytest.raises(ConfigError, match=r"\('user', 'user'\): Roles must alternate"):
        tokens.prompt(twice)
    with pytest.raises(ConfigError, match="leaves out the content of assistant"):
        ChatTokens(
            tokenizer_with(
                CHATML.replace("{{ m.content }}", "{{ m.content if m.role != 'assistant' }}")
            )
        )


def test_a_tokenizer_without_end_token_is_refused():
    with pytest.raises(ConfigError, match="end-of-turn token"):
        ChatTokens(tokenizer_with("{% for m in messages %}{{ m.content }}\n{% endfor %}", eos=None))
