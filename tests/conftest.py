"""What every test shares: an offline, headless, single-threaded process and a tiny model."""

import os

# Read once by torch, matplotlib and the model libraries when they are first imported.
os.environ.update(
    HF_HUB_OFFLINE="1",
    TRANSFORMERS_OFFLINE="1",
    TOKENIZERS_PARALLELISM="false",
    MPLBACKEND="Agg",
    OMP_NUM_THREADS="1",
    MKL_NUM_THREADS="1",
)

import functools
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Timing is not under test, and a run must not depend on the one before it.
settings.register_profile("coevo", derandomize=True, deadline=None, database=None)
settings.load_profile("coevo")


def pytest_addoption(parser):
    parser.addoption("--games", type=int, default=2, help="random games of each skin of a game")
    parser.addoption("--fault-seed", type=int, default=0, help="of the faults that are injected")
    parser.addoption("--commands", type=int, default=1500, help="wrong ones that are tried")
    parser.addoption("--every-fault", action="store_true", help="all of them, not a sample")


@pytest.fixture(scope="session")
def games(request):
    """Number of random games that a skin is compared with its engine in."""
    return request.config.getoption("--games")


@pytest.fixture(scope="session")
def fault_seed(request) -> int:
    """Seed of the faults."""
    return request.config.getoption("--fault-seed")


@pytest.fixture(scope="session")
def every_fault(request) -> bool:
    """Whether all faults are injected, not a sample of them."""
    return request.config.getoption("--every-fault")


CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|assistant|>' if message['role'] == 'assistant' else '<|user|>' }}"
    "{{ message['content'] }}<|end|>"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SENTENCES = [
    "You are player 0. Your card is the king. Legal moves: [check] [bet]. Your move?",
    "You are player 1. Your card is the queen. Legal moves: [fold] [call]. Your move?",
    "The other player said: I propose to split the pie. [accept] or [reject]",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of what is not here: an accelerator (`gpu`), a fetched model (`smollm2`)."""
    absent = {"gpu": "needs an accelerator", "smollm2": "needs `coevo fetch smollm2`"}
    for item in items:
        for mark in absent:
            if item.get_closest_marker(mark) and not _is_here(mark):
                item.add_marker(pytest.mark.skip(reason=absent[mark]))


@functools.cache
def _is_here(mark: str) -> bool:
    if mark == "gpu":
        import torch

        return torch.cuda.is_available()
    from coevo.agents.cache_folder import cache_folder

    return (cache_folder() / "SmolLM2-135M-Instruct" / "config.json").is_file()


@pytest.fixture(autouse=True)
def _one_seed() -> None:
    """Start every test from the same torch state, without importing torch for those that do not."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "manual_seed"):
        torch.set_num_threads(1)
        torch.manual_seed(0)


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Leave written files to the system: no test cuts the power, which is what `fsync` is for."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture
def usual_signals() -> Iterator[None]:
    """Let signals to stop arrive: under nohup, or in the background, some are ignored."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    usual |= {signal.SIGHUP: signal.SIG_DFL} if hasattr(signal, "SIGHUP") else {}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def tiny_model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a random Llama of about 40 thousand parameters and its byte tokenizer.

    The special tokens are `<|pad|>`, `<|user|>`, `<|assistant|>` and `<|end|>`, which ends a turn.
    Rendering a chat that grows only ever appends tokens.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from coevo.agents.models import trial

    folder = tmp_path_factory.mktemp("tiny_model")
    tokenizer = _byte_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    trial.remember(folder)
    return folder


def _byte_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=384,
        special_tokens=["<|pad|>", "<|user|>", "<|assistant|>", "<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(SENTENCES, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        additional_special_tokens=["<|user|>", "<|assistant|>"],
        chat_template=CHAT_TEMPLATE,
    )
