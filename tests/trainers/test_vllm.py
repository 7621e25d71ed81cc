"""Promises of the vLLM engine, against the learner's own numerics; `make test-vllm` runs them."""

import contextlib
import copy
import itertools
import signal
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import pytest
import torch

from coevo.agents.engines.engine import Ask, EngineError, Prompt
from coevo.agents.engines.scoring import Span
from coevo.agents.engines.settings import Vllm
from coevo.agents.models.adapters import Adapter
from coevo.agents.policy_maker import PolicyMaker
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.config import assign
from coevo.envs.core.episode import PolicyRef
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import updates
from coevo.trainers.remote.processes import start_processes
from coevo.trainers.run import start
from coevo.trainers.run_folder import RunFolder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # vLLM and what it imports give many
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM has an environment of its own"),
]
SAMPLING = SamplingConfig(max_new_tokens=12, temperature=0.7)


def config_of(name, steps, changes=None, guided="choice", **engine):
    return TrainConfig(
        algorithm=assign(algorithm(name), {"collect.episodes": 32, **(changes or {})}),
        env="coevo/kuhn_poker-v0",
        env_options={"prompt_style": "terse"},
        sampling=replace(SAMPLING, guided=guided),
        engine=Vllm(**engine),
        steps=steps,
        checkpoint_every=2,
        probe_every=100,
        device="cpu",
        threads=1,
        seed=1,
    )


def run_of(tmp_path, *args, **kwargs):
    given, folder = config_of(*args, **kwargs), RunFolder(tmp_path)
    folder.create(given)
    return start(given, folder)


def gap(policy, turns):
    """Return |sampled - learner's log-probability| of every token of some replies."""
    found = []
    for t in turns:
        logp = policy.weights.score([span(t)], policy.sampling)
        places = span(t).places([tuple(map(tuple, t.choices or ()))])
        logp = replace(logp, processors=policy.processors, places=places)
        with torch.no_grad():
            found += (logp.logp_N() - torch.tensor(t.logprobs)).abs().tolist()
    return found


def noted(run, policy):
    """Let a run note the gaps of everything that its policy writes here."""
    gaps, writing = [], policy.writing

    def checked(requests):
        replies = yield from writing(requests)
        assert {r.policy for r in replies} == {PolicyRef("policy", run.progress.step)}
        gaps.extend(gap(policy, replies))
        return replies

    policy.writing = checked
    return gaps


def told(capsys, what, gaps):
    """Print how far sampled log-probabilities are from the learner's, and hold them to a bound."""
    mean, most = sum(gaps) / len(gaps), max(gaps)
    with capsys.disabled():
        sys.stdout.write(f"\n{what}: {len(gaps)} tokens, mean {mean:.1e}, max {most:.1e}\n")
    assert mean < 1e-3 and most < 1e-3
    return mean


def span(turn):
    at = len(turn.prompt_ids)
    ids = (*turn.prompt_ids, *turn.token_ids)
    return Span(ids, (at,), (len(ids),))


@pytest.mark.parametrize(("name", "guided"), [("grpo", "none"), ("mars", "choice")])
def test_twenty_updates_agree_with_the_learner_and_every_publication_answers(
    tmp_path, name, guided, capsys
):
    run = run_of(tmp_path / "run", name, 20, guided=guided)
    (policy,) = run.population.learners.values()
    gaps, stale, before = noted(run, policy), [], []
    writing = policy.writing

    def checked(requests):
        replies = yield from writing(requests)
        if before:
            now = policy.weights.model
            policy.weights.model = before[-1]
            stale.extend(gap(policy, replies))
            policy.weights.model = now
        return replies

    policy.writing = checked
    for _ in updates(run):
        if not before:
            before.append(copy.deepcopy(policy.model))
    policy.engine.close()
    assert run.progress.step == 20
    mean, old = told(capsys, name, gaps), sum(stale) / len(stale)
    with capsys.disabled():
        sys.stdout.write(f"against those after one update: mean {old:.1e}\n")
    assert old > 10 * mean


def moved(policy, version, seed):
    """Let a policy have other weights, and publish them."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in policy.model.parameters():
            if p.requires_grad:
                p.add_(0.05 * torch.randn(p.shape, generator=generator))
    policy.publish(version)


def asked(policy):
    """Return what asks a policy for 64 replies to one prompt."""
    prompt = Prompt(tuple(policy.tokens.prompt(({"role": "user", "content": "Card: K."},))))
    return Ask(policy.ref, [prompt] * 64, SAMPLING, range(64), policy.tokens.end_ids)


def answers(policy):
    """Return 64 replies to one prompt, which have the learner's log-probabilities."""
    ask = asked(policy)
    (found,) = policy.engine.generate([ask])
    replies = [tuple(s.ids) for s in found]
    claimed = policy.engine.logprobs(policy.ref, ask.prompts, replies, SAMPLING)
    for s, logp_N in zip(found, claimed, strict=True):
        assert s.logprobs == pytest.approx(logp_N.tolist(), abs=1e-3)
    return replies


@pytest.mark.parametrize("own_process", [False, True])
def test_adapters_and_a_whole_model_answer_side_by_side_as_the_learner_says(own_process):
    engine = Vllm(own_process=own_process)
    maker = PolicyMaker("starter", sampling=SAMPLING, device="cpu", engine=engine)
    policies = [maker("whole"), *(maker(n, adapter=Adapter(rank=4)) for n in ("one", "two"))]
    assert len({p.engine for p in policies}) == 1
    for number, policy in enumerate(policies):
        moved(policy, 1, number)
    found = [answers(policy) for policy in (*policies, *policies)]
    assert found[:3] == found[3:]
    at_once = policies[0].engine.generate([asked(policy) for policy in (*policies, *policies)])
    assert [[tuple(s.ids) for s in samples] for samples in at_once] == found
    assert found[0] != found[1] != found[2] != found[0]
    policies[0].engine.close()


# ---- Sleep -----------------------------------------------------------------------------------


def asleep(engine, level):
    """Let an engine on a CPU sleep as on a GPU, and return the list of what is called from now on.

    Level 2 leaves no number in weights and adapters.
    """
    engine._start()
    llm, calls = engine._llm, []
    engine.settings = replace(engine.settings)
    object.__setattr__(engine.settings, "sleep_level", level)
    worker = llm.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker
    rpc, generate = llm.collective_rpc, llm.generate

    @torch.no_grad()
    def sleep(level):
        calls.append(f"sleep {level}")
        llm.reset_prefix_cache()
        for module in worker.model_runner.model.modules() if level == 2 else ():
            for parameter in module.parameters(recurse=False):
                parameter.fill_(torch.nan)
            for slots in (getattr(module, f"lora_{x}_stacked", ()) for x in "ab"):
                for slot in slots if isinstance(slots, tuple) else (slots,):
                    slot[:-1] = torch.nan  # who has no adapter reads the last one on a CPU

    def noting(name, call):
        def noted(*args, **kwargs):
            calls.append(name)
            return call(*args, **kwargs)

        return noted

    llm.sleep, llm.wake_up = sleep, noting("wake", lambda: None)
    llm.collective_rpc, llm.generate = noting("load", rpc), noting("generate", generate)
    return calls


@pytest.mark.parametrize(("level", "loads"), [(1, ["load"]), (2, ["load"])])
def test_an_engine_sleeps_while_a_learner_computes_and_wakes_with_what_was_published(
    tmp_path, level, loads, capsys
):
    run = run_of(tmp_path / "run", "grpo", 3)
    (policy,) = run.population.learners.values()
    calls, gaps = asleep(policy.engine, level), noted(run, policy)
    for _ in updates(run):
        pass
    policy.engine.close()
    turns = [name for name, _ in itertools.groupby(calls)]
    assert turns == [
        "load",
        "generate",
        f"sleep {level}",
        *["wake", *loads, "generate", f"sleep {level}"] * 2,
    ]
    told(capsys, f"sleep_level={level}", gaps)


@pytest.mark.parametrize("level", [1, 2])
def test_adapters_and_whole_models_survive_a_sleep(level):
    maker = PolicyMaker("starter", sampling=SAMPLING, device="cpu", engine=Vllm())
    policies = [maker("whole"), *(maker(n, adapter=Adapter(rank=4)) for n in ("one", "two"))]
    for number, policy in enumerate(policies):
        moved(policy, 1, number)
    engine = policies[0].engine
    calls = asleep(engine, level)
    before = [answers(policy) for policy in policies]
    engine.rest()
    engine.rest()
    assert calls.count(f"sleep {level}") == 1
    moved(policies[1], 2, 7)
    after = [answers(policy) for policy in policies]
    assert calls.count("wake") == 1
    assert after[0] == before[0] and after[1] != before[1] and after[2] == before[2]
    engine.close()


# ---- Processes -------------------------------------------------------------------------------


def test_an_engine_in_a_process_of_its_own_changes_nothing_here_and_dies_in_one_line(
    tmp_path, capsys
):
    psutil = pytest.importorskip("psutil")
    threads, drawn = torch.get_num_threads(), torch.initial_seed()
    run = run_of(tmp_path / "run", "grpo", 4, own_process=True)
    (policy,) = run.population.learners.values()
    gaps = noted(run, policy)
    with pytest.raises(EngineError, match=r"vLLM engine has stopped .*--resume"):
        for seen in updates(run):
            (engine,) = (p for p in psutil.Process().children() if "EngineCore" in p.name())
            for each in (engine, *engine.children(recursive=True)):
                each.send_signal(signal.SIGINT)  # as Ctrl-C does, which is no end for them
            if seen.step == 3:
                engine.kill()
    told(capsys, "own_process", gaps)
    assert seen.step == 3
    assert (torch.get_num_threads(), torch.initial_seed()) == (threads, drawn)
    assert not torch.distributed.is_initialized()
    torch.set_num_threads(threads)


KILLED = """
import os, signal
from pathlib import Path
from coevo.agents.engines.engine import Ask, Prompt
from coevo.agents.engines.settings import Vllm
from coevo.agents.policy_maker import PolicyMaker
from coevo.agents.sampling import SamplingConfig
if __name__ == "__main__":
    policy = PolicyMaker("starter", device="cpu", engine=Vllm(own_process=True))("policy")
    ask = Ask(policy.ref, [Prompt((5, 6))], SamplingConfig(max_new_tokens=2), [0])
    policy.engine.generate([ask])
    Path(__file__).with_suffix(".pid").write_text(str(policy.engine._processes[0].pid))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_engine_in_a_process_of_its_own_does_not_outlive_a_run_that_is_killed(tmp_path):
    psutil, script = pytest.importorskip("psutil"), tmp_path / "run.py"
    script.write_text(KILLED)
    assert subprocess.run([sys.executable, "-P", script], check=False).returncode == -signal.SIGKILL
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(script.with_suffix(".pid").read_text())).wait(timeout=60)


@pytest.mark.parametrize(
    ("share", "own_process"), [({"workers": 2}, False), ({"ranks": 2}, True)], ids=str
)
def test_workers_have_engines_of_their_own_and_ranks_one_beside_them(
    tmp_path, share, own_process, capsys
):
    pytest.importorskip("ray")
    given = replace(config_of("grpo", 5, own_process=own_process), rollout_parts=2)
    gaps, folder = [], RunFolder(tmp_path)
    folder.create(given)
    with start_processes("local", given, folder, **share) as processes:
        run = start(given, folder, make_backend=processes.backend)
        (policy,) = run.population.learners.values()
        played = copy.deepcopy(policy.model)
        for done in updates(run):
            turns = [t for e in done.episodes for t in e.turns]
            assert {t.version for t in turns} == {done.step - 1}
            now, policy.weights.model = policy.weights.model, played
            gaps += gap(policy, turns)
            policy.weights.model, played = now, copy.deepcopy(now)
        policy.engine.close()
    assert run.progress.step == 5
    told(capsys, str(share), gaps)


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
