"""What of vLLM is refused before it starts; vLLM itself is tested in tests/trainers/test_vllm."""

import pytest
import torch

from coevo.agents.engines import vllm_engine
from coevo.agents.engines.settings import Vllm
from coevo.agents.engines.vllm_engine import VllmEngine
from coevo.agents.policy_maker import PolicyMaker
from coevo.envs.core.errors import ConfigError


def test_nothing_sleeps_on_a_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for level in (1, 2):
        with pytest.raises(ConfigError, match=rf"engine.sleep_level={level} .* leave it out"):
            VllmEngine("starter", Vllm(sleep_level=level))
    with pytest.raises(ConfigError, match="sleep_level"):
        Vllm(sleep_level=3)


def test_an_engine_leaves_the_process_group_to_ranks(monkeypatch):
    monkeypatch.setattr(vllm_engine.dist, "is_initialized", lambda: True)
    monkeypatch.setattr(vllm_engine.dist, "get_world_size", lambda: 1)  # vLLM's own
    VllmEngine("starter", Vllm())
    monkeypatch.setattr(vllm_engine.dist, "get_world_size", lambda: 2)
    with pytest.raises(ConfigError, match=r"engine\.own_process=true"):
        VllmEngine("starter", Vllm())
    VllmEngine("starter", Vllm(own_process=True))


def test_engines_of_two_start_models_do_not_sleep_in_one_process(monkeypatch, tiny_model_dir):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for own in (False, True):
        engine = Vllm(sleep_level=1, own_process=own)
        maker = PolicyMaker("starter", device="cpu", engine=engine)
        one = maker("one")
        if own:
            assert maker("two", model=str(tiny_model_dir)).engine is not one.engine
        else:
            with pytest.raises(ConfigError, match=r"only one in a process can sleep"):
                maker("two", model=str(tiny_model_dir))


def test_an_engine_that_was_not_started_has_nothing_to_give_back():
    engine = VllmEngine("starter", Vllm())
    engine.rest()
    assert engine._llm is None
