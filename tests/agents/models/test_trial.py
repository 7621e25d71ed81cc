"""Tokenizers and chat templates that come with a model are tried in a process of its own."""

import json
import os
import shutil
import signal

import pytest
import torch
from safetensors.torch import load_file, save_file

from coevo.agents.load import load_agent
from coevo.agents.models import trial
from coevo.envs.core.errors import ConfigError, DataError

ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
DOUBLING = (
    "{% set ns = namespace(x='ab') %}{% for m in messages %}{% set ns.x = ns.x ~ ns.x %}"
    "{% endfor %}{{ ns.x }}"
)
RECURSIVE = "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}"


@pytest.fixture(autouse=True)
def _cache(monkeypatch, tmp_path):
    monkeypatch.setenv("COEVO_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def model(tiny_model_dir, tmp_path):
    """Return a function that copies a model with words before its chat template."""

    def made(before=""):
        folder = shutil.copytree(tiny_model_dir, tmp_path / "model")
        path = folder / "chat_template.jinja"
        path.write_text(before + path.read_text())
        return folder

    return made


def test_a_template_without_end_is_one_line(model, monkeypatch):
    monkeypatch.setattr(
        trial, "IMPORTED", "from coevo.agents.models import trial; trial.CPU_SECONDS = 1"
    )
    with pytest.raises(DataError, match="do not end within") as caught:
        load_agent(str(model(ENDLESS)), device="cpu")
    assert "\n" not in str(caught.value)
    assert not (trial.cache_folder() / "tokenizers_tried").exists()


def test_a_template_that_doubles_with_every_message_is_one_line(model):
    with pytest.raises(DataError, match=r"(need more than|may take|make \d+ tokens)"):
        load_agent(str(model(DOUBLING)), device="cpu")


def test_what_passed_or_was_written_here_is_not_tried_again(model, monkeypatch):
    folder = model()
    agent = load_agent(str(folder), device="cpu")
    monkeypatch.setattr(trial.subprocess, "run", None)
    assert load_agent(str(folder), device="cpu").name == agent.name
    agent.weights.write(folder.with_name("written"), agent.weights.model)
    load_agent(str(folder.with_name("written")), device="cpu")
    (folder / "chat_template.jinja").write_text(ENDLESS)
    with pytest.raises(TypeError):
        load_agent(str(folder), device="cpu")


@pytest.mark.parametrize("before", [RECURSIVE, "{{ 1 // 0 }}", "{{ 'a' + 1 }}"])
def test_a_template_that_breaks_off_is_one_line(model, before):
    folder = model(before)
    trial.remember(folder)
    with pytest.raises(ConfigError, match="the chat template does not take the roles"):
        load_agent(str(folder), device="cpu")


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weights_that_are_no_numbers_are_refused(model, value):
    folder = model()
    trial.remember(folder)
    weights = load_file(folder / "model.safetensors")
    name = sorted(weights)[-1]
    weights[name].view(-1)[-1] = value
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(DataError, match=f"the weights {name} hold NaN or infinity"):
        load_agent(str(folder), device="cpu")


def test_a_pipe_among_the_files_is_not_opened(model):
    folder = model()
    os.mkfifo(folder / "vocab.json")
    with pytest.raises(DataError, match="is neither a file nor a folder"):
        load_agent(str(folder), device="cpu")


def test_what_stops_a_trial_is_named():
    assert "within" in trial._limit(-signal.SIGXCPU, "")
    assert "signal 9" in trial._limit(-signal.SIGKILL, "")
    assert trial._limit(0, "make 9 tokens\n") == "make 9 tokens" and not trial._limit(0, "\n")


def test_a_tokenizer_that_multiplies_what_it_reads_is_refused(model):
    folder = model()
    path = folder / "tokenizer.json"
    data = json.loads(path.read_text())
    grown = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 3000}
    data["normalizer"] = {"type": "Sequence", "normalizers": [grown, grown]}
    path.write_text(json.dumps(data))
    with pytest.raises(DataError, match="the tokenizer and chat template of"):
        load_agent(str(folder), device="cpu")
