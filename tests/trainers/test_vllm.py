"""Promises of the vLLM engine, against the learner's own numerics; `make test-vllm` runs them."""

import copy
import sys
from dataclasses import replace
from importlib.util import find_spec

import pytest
import torch

from coevo.agents.adapters import Adapter
from coevo.agents.engines.engine import EngineError, Prompt
from coevo.agents.engines.settings import VllmConfig
from coevo.agents.policy_maker import PolicyMaker
from coevo.agents.sampling import SamplingConfig
from coevo.agents.scoring import Span
from coevo.envs.core.config import assign
from coevo.envs.core.episode import PolicyRef
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import updates
from coevo.trainers.run import start
from coevo.trainers.run_folder import RunFolder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # vLLM and what it imports give many
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM has an environment of its own"),
]
SAMPLING = SamplingConfig(max_new_tokens=12, temperature=0.7)


def run_of(tmp_path, name, steps, changes=None, mask=True):
    given = TrainConfig(
        algorithm=assign(algorithm(name), {"collect.episodes": 32, **(changes or {})}),
        env="coevo/kuhn_poker-v0",
        env_options={"prompt_style": "terse", **({"illegal": "mask"} if mask else {})},
        sampling=SAMPLING,
        engine=VllmConfig(),
        steps=steps,
        checkpoint_every=2,
        probe_every=100,
        device="cpu",
        threads=1,
        seed=1,
    )
    folder = RunFolder(tmp_path)
    folder.create(given)
    return start(given, folder)


def gap(policy, turns):
    """Return |sampled - learner's log-probability| of every token of some replies."""
    found = []
    for t in turns:
        logp = policy.weights.score([span(t)], policy.sampling)
        logp = replace(logp, allowed=t.allowed or ())
        with torch.no_grad():
            found += (logp.logp_N() - torch.tensor(t.logprobs)).abs().tolist()
    return found


def span(turn):
    at = len(turn.prompt_ids)
    ids = (*turn.prompt_ids, *turn.token_ids)
    return Span(ids, (at,), (len(ids),))


@pytest.mark.parametrize(("name", "mask"), [("grpo", False), ("mars", True)])
def test_twenty_updates_agree_with_the_learner_and_every_publication_answers(
    tmp_path, name, mask, capsys
):
    run = run_of(tmp_path / "run", name, 20, mask=mask)
    (policy,) = run.population.learners.values()
    gaps, stale = [], []
    act = policy.act

    def checked(requests):
        replies = act(requests)
        assert {r.policy for r in replies} == {PolicyRef("policy", run.progress.step)}
        gaps.extend(gap(policy, replies))
        if before:
            now = policy.weights.model
            policy.weights.model = before[-1]
            stale.extend(gap(policy, replies))
            policy.weights.model = now
        return replies

    before = []
    policy.act = checked
    for _ in updates(run):
        if not before:
            before.append(copy.deepcopy(policy.model))
    policy.engine.close()
    mean, most = sum(gaps) / len(gaps), max(gaps)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{name}: {len(gaps)} tokens, mean {mean:.1e}, max {most:.1e}; "
            f"against those after one update {sum(stale) / len(stale):.1e}\n"
        )
    assert run.progress.step == 20
    assert mean < 1e-3 and most < 1e-3
    assert sum(stale) / len(stale) > 10 * mean


def test_two_adapters_on_one_base_answer_differently_and_each_as_the_learner_says():
    maker = PolicyMaker("starter", sampling=SAMPLING, device="cpu", engine=VllmConfig())
    one, two = (maker(n, adapter=Adapter(rank=4)) for n in ("one", "two"))
    assert one.engine is two.engine
    for number, policy in enumerate((one, two)):
        generator = torch.Generator().manual_seed(number)
        with torch.no_grad():
            for p in policy.model.parameters():
                if p.requires_grad:
                    p.add_(0.05 * torch.randn(p.shape, generator=generator))
        policy.publish(1)
    ids = tuple(one.tokens.prompt(({"role": "user", "content": "Your card: K."},)))
    prompts, found = [Prompt(ids)] * 64, {}
    for policy in (one, two):
        found[policy.name] = policy.engine.generate(
            policy.ref, prompts, SAMPLING, range(64), one.tokens.end_ids
        )
        replies = [tuple(s.ids) for s in found[policy.name]]
        claimed = policy.engine.logprobs(policy.ref, prompts, replies, SAMPLING)
        for s, logp_N in zip(found[policy.name], claimed, strict=True):
            assert s.logprobs == pytest.approx(logp_N.tolist(), abs=1e-3)
    assert [s.ids for s in found["one"]] != [s.ids for s in found["two"]]
    one.engine.close()


def test_an_engine_that_died_is_one_line_and_the_run_resumes(tmp_path):
    whole = run_of(tmp_path / "whole", "grpo", 4)
    for _ in updates(whole):
        pass
    cut = run_of(tmp_path / "cut", "grpo", 4)
    (policy,) = cut.population.learners.values()
    with pytest.raises(EngineError, match=r"vLLM engine has stopped .*--resume"):
        for seen in updates(cut):
            if seen.step == 2:
                policy.engine._llm.collective_rpc = None  # what its death looks like from here
    again = start(cut.config, cut.folder)
    for _ in updates(again):
        pass
    states = [r.learners["policy"].model.state_dict() for r in (whole, again)]
    assert again.progress.step == 4
    assert all(torch.equal(v, states[1][k]) for k, v in states[0].items())
    for run in (whole, again):
        run.population.learners["policy"].engine.close()
