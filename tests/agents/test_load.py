import json
import pickle
import shutil
import warnings

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertLMHeadModel

from coevo.agents import RandomAgent, load
from coevo.agents.agent import Request
from coevo.agents.api.agent import ApiAgent
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_agent, load_model, no_progress_bars, pick_device
from coevo.agents.models import manifest
from coevo.agents.models.folders import STARTER_MODEL, model_folder
from coevo.agents.sampling import SamplingConfig
from coevo.commands.players import Habits, habits
from coevo.envs.core.errors import ConfigError, DataError, MissingExtraError


def test_a_folder_becomes_a_policy(tiny_model_dir):
    agent = load_agent(str(tiny_model_dir), sampling=SamplingConfig(max_new_tokens=3), device="cpu")
    assert isinstance(agent, LanguageModelAgent) and agent.sampling.max_new_tokens == 3
    assert agent.model.dtype == torch.float32 and not agent.model.training


def test_scripted_players_are_found_by_name():
    assert isinstance(load_agent("random"), RandomAgent)


def test_a_mistyped_name_lists_the_near_ones():
    with pytest.raises(ConfigError, match=r"unknown agent 'randm'; did you mean 'random'"):
        load_agent("randm")


def test_a_missing_folder_lists_its_neighbours(tmp_path):
    (tmp_path / "kuhn_run").mkdir()
    with pytest.raises(DataError, match=r"no model folder .*there is kuhn_run"):
        load_agent(str(tmp_path / "kuhn_rum"))


def test_a_run_gives_its_newest_checkpoint(tiny_model_dir, tmp_path):
    for step in ("step_000020", "step_000100", "step_1000000", "step_999999"):
        folder = tmp_path / "checkpoints" / step
        shutil.copytree(tiny_model_dir, folder / "policy")
        (folder / manifest.FILE).write_text(manifest.described(folder))
    unfinished = tmp_path / "checkpoints" / ".step_2000000.tmp"
    shutil.copytree(tiny_model_dir, unfinished / "policy")
    newest = tmp_path / "checkpoints" / "step_1000000"
    assert model_folder(str(tmp_path)) == newest / "policy"
    assert model_folder(str(newest)) == newest / "policy"
    assert model_folder(str(newest / "policy")) == newest / "policy"


def test_several_policies_must_be_chosen_from(tiny_model_dir, tmp_path):
    for seat in ("player_0", "player_1"):
        shutil.copytree(tiny_model_dir, tmp_path / seat)
    with pytest.raises(DataError, match=r"several policies.*player_0"):
        model_folder(str(tmp_path))


@pytest.mark.parametrize("harm", ["cut", "json", "kind", "tokenizer", "weights", "layer"])
def test_a_damaged_model_is_one_clear_line(tiny_model_dir, tmp_path, harm):
    folder = tmp_path / "model"
    shutil.copytree(tiny_model_dir, folder)
    if harm == "cut":
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:5000])
    elif harm == "json":
        (folder / "config.json").write_text("{")
    elif harm == "kind":
        (folder / "config.json").write_text(json.dumps({"model_type": "vit"}))
    elif harm == "tokenizer":
        (folder / "tokenizer.json").write_text("[]")
    elif harm == "weights":
        (folder / "model.safetensors").unlink()
    else:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(DataError, match=r"cannot load a causal|is damaged") as caught:
        load_model(str(folder), device="cpu")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('{"a": "' + "x" * 2**20 + '"}', "bytes; 1048576 is the most"),
        ('{"model_type": "llama", "num_hidden_layers": 1000000}', "1000000 layers; 2000 is"),
        ('{"model_type": "gpt2", "n_layer": 3000}', "3000 layers"),
        ('{"model_type": "gemma3", "text_config": {"num_hidden_layers": 2001}}', "2001 layers"),
        ("[" * 200_000, "config.json is damaged"),
    ],
)
def test_a_description_beyond_any_size_is_refused_before_a_model_is_made(tmp_path, config, said):
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(DataError, match=said):
        load_agent(str(tmp_path), device="cpu")
    assert habits(str(tmp_path)) == Habits()


def test_a_pickle_is_refused_without_a_warning_and_other_warnings_are_heard(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    shutil.copytree(STARTER_MODEL, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": print}))
    with pytest.raises(DataError, match="Weights only load failed"):
        load_agent(str(folder), device="cpu")
    loaded = AutoTokenizer.from_pretrained

    def warned(*given, **named):
        warnings.warn("of another kind", stacklevel=1)
        return loaded(*given, **named)

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", warned)
    with pytest.warns(UserWarning, match="of another kind"):
        load_agent("starter", device="cpu")


def test_an_empty_folder_says_what_was_expected(tmp_path):
    with pytest.raises(DataError, match=r"holds no model: expected config\.json"):
        model_folder(str(tmp_path))


def test_devices_are_checked():
    assert pick_device("cpu") == torch.device("cpu")
    with pytest.raises(ConfigError, match="device='tpu'"):
        pick_device("tpu")
    if not torch.cuda.is_available():
        assert pick_device("auto") == torch.device("cpu")
        with pytest.raises(ConfigError, match="sees no GPU"):
            pick_device("cuda")


def test_loading_draws_no_bars_and_leaves_the_setting_as_it_was(tiny_model_dir, capfd):
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    load_model(str(tiny_model_dir), device="cpu")
    assert logging.is_progress_bar_enabled() == shown
    with no_progress_bars():
        assert not logging.is_progress_bar_enabled()
    assert capfd.readouterr().err == ""


def test_a_prefix_names_another_loader(monkeypatch, tmp_path):
    monkeypatch.setenv("COEVO_API_CACHE", str(tmp_path))
    monkeypatch.setenv("COEVO_API_PRICE_IN", "3")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    sampling = SamplingConfig(temperature=0.5, max_new_tokens=7)
    agent = load_agent("openai:org/model:free", sampling=sampling, seed=4)
    assert isinstance(agent, ApiAgent) and agent.name == "openai:org/model:free"
    settings = agent.settings
    assert (settings.model, settings.base_url) == ("org/model:free", "http://127.0.0.1:9/v1")
    assert (settings.temperature, settings.max_tokens, settings.seed) == (0.5, 7, 4)
    assert (settings.price_in, settings.cache) == (3.0, tmp_path)


def test_a_mistyped_prefix_names_the_near_one(monkeypatch):
    with pytest.raises(ConfigError, match=r"did you mean 'openai:MODEL'.*openai:MODEL.*a folder"):
        load_agent("opnai:gpt")
    with pytest.raises(ConfigError, match="openai:NAME"):
        load_agent("openai:")


def test_a_loader_without_its_extra_names_it(monkeypatch):
    monkeypatch.setitem(load.PREFIXES, "far", ("no_such_package.agent", "api"))
    with pytest.raises(MissingExtraError, match=r"'no_such_package'.*-e '\.\[api\]'"):
        load_agent("far:away")


def test_prefixes_say_what_a_path_holds(tiny_model_dir):
    agent = load_agent(f"hf:{tiny_model_dir}", device="cpu")
    assert isinstance(agent, LanguageModelAgent)
    assert agent.sampling_settings == {"temperature": 1.0, "max_new_tokens": 16}
    with pytest.raises(DataError, match="holds no policy of stable-baselines3"):
        load_agent(f"sb3:{tiny_model_dir}")
    assert load_agent("expert:0.25").name == "expert:0.25"


def test_a_reseeded_agent_repeats_itself_and_leaves_the_first_alone(tiny_model_dir):
    agent = load_agent(str(tiny_model_dir), device="cpu", seed=1)
    asked = [Request("player_0", ({"role": "user", "content": "hello"},), {}, None)] * 3

    def said(agent):
        return [reply.token_ids for reply in agent.act(asked)]

    first, again, other = (said(agent.reseeded(seed)) for seed in (3, 3, 4))
    assert first == again != other
    assert said(agent) == said(load_agent(str(tiny_model_dir), device="cpu", seed=1))


def test_a_model_that_cannot_be_a_policy_is_refused_by_its_name(tiny_model_dir, tmp_path):
    config = BertConfig(
        vocab_size=512,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        initializer_range=1.0,
    )
    shutil.copytree(tiny_model_dir, tmp_path / "bert")
    BertLMHeadModel(config).save_pretrained(tmp_path / "bert")
    with pytest.raises(DataError, match=r"bert': a bert model cannot be a policy: what it says"):
        load_model(str(tmp_path / "bert"), device="cpu")
