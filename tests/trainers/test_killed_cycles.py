"""Promise: a run that is killed in the middle of an update's cycle ends with the same bits.

Each case names what has just been done when the process dies: one parameter set has learnt and
another has not, an artifact is new and nothing was scored with it yet.
"""

import pytest

from coevo.trainers.run_folder import RunFolder
from tests.trainers.run_content import content

TRAIN = """
import importlib, os, signal, sys, torch
torch.set_num_threads(1)
from dataclasses import replace
from pathlib import Path
from coevo.trainers import loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder
{given}
made = replace(given, checkpoint_every=1, device="cpu", threads=1)
kind = getattr(importlib.import_module("{module}"), "{owner}")
calls, kill, done = 0, 0, getattr(kind, "{method}")

def dying(*args, **given):
    "Do it, and kill this process the k-th time."
    global calls
    found = done(*args, **given)
    calls += 1
    if calls == kill:
        os.kill(os.getpid(), signal.SIGKILL)
    return found

setattr(kind, "{method}", dying)
for path, *kills in [sys.argv[1:2], sys.argv[2:]]:
    folder = RunFolder(Path(path))
    folder.create(made)
    for kill in [*map(int, kills), 0]:
        pid = os.fork()
        if pid == 0:
            loop.finish(loop.start(made, folder, maker()))
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == (signal.SIGKILL if kill else 0), (path, kill)
"""
STEPS = "coevo.trainers.steps"
ARM = """
from coevo.benchmarks.reproductions import claim
from coevo.benchmarks.reproductions.run import prepared
from coevo.trainers.steps import Every
it = claim({claim!r})
arm = replace(it.arms[{arm!r}], changes={{**it.arms[{arm!r}].changes, **{changes!r}}})
given, maker_of = prepared(it.world, arm, 0, it.changes)
maker = lambda: maker_of
quickly = lambda step: replace(step, updates=2, first=1) if isinstance(step, Every) else step
made_of = replace(given.algorithm, cycle=tuple(map(quickly, given.algorithm.cycle)))
given = replace(given, algorithm=made_of, steps=3)
"""


def arm(claim, arm, step, kills=(1, 2), **changes):
    """Return the case of an arm of a claim that dies after a step."""
    place = {"module": STEPS, "owner": step, "method": "__call__"}
    return ARM.format(claim=claim, arm=arm, changes=changes), place, kills


LEARNT = {"module": "coevo.trainers.learners.learner", "owner": "Learner", "method": "update"}
CASES = {
    "paired": (
        """
from coevo.benchmarks.reproductions import claim
maker, it = lambda: None, claim("paired_corridor")
made = algorithm("paired", None, {**it.changes, "collect.episodes": 8})
given = TrainConfig(algorithm=made, env=it.world.env, model="table", steps=4)
""",
        LEARNT,
        (2, 4),  # of three learners
    ),
    "mixed_pool": (
        """
maker = lambda: None
made = algorithm("mixed_pool", None, {"collect.episodes": 8, "optim.lr": 0.1})
options = {"prompt_style": "terse", "rounds": 3}
env = "coevo/iterated_game-v0"
given = TrainConfig(algorithm=made, env=env, env_options=options, model="table", steps=4)
""",
        LEARNT,
        (1, 3),  # of two learners
    ),
    "mpo": (
        """
from coevo.benchmarks.reproductions.claims import mpo_rubric as it
from coevo.benchmarks.reproductions.run import configured
from coevo.trainers.steps import Every
maker = lambda: it.makers(0)
arm = replace(it.CLAIM.arms["mpo"], changes=it._first("+keyword"))
made = configured(arm, 0, it.CLAIM.changes)
quickly = lambda step: replace(step, updates=2, first=1) if isinstance(step, Every) else step
made = replace(made, cycle=tuple(map(quickly, made.cycle)))
world = {"env": it.BANDIT, "env_options": {"prompt_style": "terse", **it.world_of(0)}}
given = TrainConfig(algorithm=made, model="table", steps=5, **world)
""",
        {"module": "coevo.trainers.steps", "owner": "RewriteText", "method": "__call__"},
        (1, 2),  # the rubric is new, and what was graded by the old one is not counted yet
    ),
    "agent_rlvr": (
        """
from coevo.benchmarks.reproductions import key_door as it
maker = it.walkers(0.9)
maker = lambda make=maker: make(0)
made = {"collect.episodes": 8, "collect.group_size": 4, "optim.optimiser": "sgd", "optim.lr": 9.0}
made = algorithm("agent_rlvr", None, made)
world = {"env": it.KeyDoor.env_id, "env_options": {"prompt_style": "terse", "moves": 12}}
given = TrainConfig(algorithm=made, model="table", steps=3, **world)
""",
        {"module": "coevo.trainers.steps", "owner": "Guide", "method": "__call__"},
        (1, 2),  # guided episodes were played, and nothing was learnt
    ),
    "complementary": (
        """
from coevo.benchmarks.reproductions.claims import experience_uplift as it
maker = lambda: it._maker(0)
made = algorithm("complementary", None, {**it.CLAIM.changes, "optim.lr": 0.1})
cycle = tuple(s for s in made.cycle if s.name != "every")
made = replace(made, cycle=cycle)
world = {"env": it.BANDIT, "env_options": {"prompt_style": "terse", **it.CLAIM.world.options}}
given = TrainConfig(algorithm=made, model="table", steps=3, **world)
""",
        {"module": "coevo.trainers.steps", "owner": "WeighArtifacts", "method": "__call__"},
        (1, 2),  # lessons have new weights, the policy was not saved
    ),
    "barfi": (
        """
from coevo.benchmarks.reproductions.claims import barfi_weights as it
from coevo.trainers.components import Entropy
maker = lambda: None
inner = {**it.INNER, "algorithm.collect.episodes": 8}
small = {"components": ["payoff", "noted_beside"], "changes": inner, "every": 2, "steps": 2}
small = {f"cycle.tune_rewards.{k}": v for k, v in {**small, "tasks": 16}.items()}
made = algorithm("barfi", None, {**it.CLAIM.changes, "collect.episodes": 8, **small})
world = {"env": it.BANDIT, "env_options": {"prompt_style": "terse", **it._world(it.MISLEADS)}}
given = TrainConfig(algorithm=made, model="table", steps=3, **world)
""",
        {"module": "coevo.trainers.steps", "owner": "TuneRewards", "method": "__call__"},
        (1, 2),  # weights are new, and nothing was learnt by them
    ),
    "psro": (
        """
maker = lambda: None
small = {"collect.episodes": 8, "population.every": 1, "cycle.solve_meta.tasks": 8}
made = algorithm("psro", None, {**small, "optim.optimiser": "sgd", "optim.lr": 3.0})
world = {"env": "coevo/kuhn_poker-v0", "env_options": {"prompt_style": "terse"}}
given = TrainConfig(algorithm=made, model="table", steps=4, **world)
""",
        {"module": "coevo.trainers.steps", "owner": "SolveMeta", "method": "__call__"},
        (2, 3),  # the newest past self has played the others, and is not saved
    ),
    "mamql": (
        """
from coevo.benchmarks.reproductions.claims import mamql_rewards as it
maker = lambda: it.CLAIM.world.maker(0)
small = {**it.CLAIM.changes, "collect.episodes": 4, "cycle.inverse_soft_q.steps": 2}
made = algorithm("mamql", None, {**small, "cycle.inverse_soft_q.batch": 8})
world = {"env": it.SoftGameTask.env_id, "env_options": {"prompt_style": "terse", "max_cycles": 6}}
given = TrainConfig(algorithm=made, model="table", steps=3, **world)
""",
        {"module": "coevo.trainers.learners.learner", "owner": "Learner", "method": "step"},
        (3, 5),  # of two learners that take two steps each
    ),
    "qmix": (
        """
maker = lambda: None
small = {"cycle.fit_values.steps": 2, "cycle.fit_values.batch": 8, "magnet.every": 2}
made = algorithm("qmix", None, {**small, "collect.episodes": 4})
options = {"prompt_style": "terse", "steps": 5, "harvesters": 2}
world = {"env": "coevo/harvest-v0", "env_options": options}
given = TrainConfig(algorithm=made, model="net:hidden=8", steps=3, **world)
""",
        {"module": "coevo.trainers.steps", "owner": "FitValues", "method": "__call__"},
        (1, 2),  # values and their mixer have moved, transitions are new
    ),
    "deep_ga": (
        """
maker = lambda: None
small = {"collect.episodes": 32, "cycle.select_genomes.by.keep": 2}
made = algorithm("deep_ga", None, small)
world = {"env": "coevo/kuhn_poker-v0", "env_options": {"prompt_style": "terse"}}
given = TrainConfig(algorithm=made, model="table", steps=4, **world)
""",
        {"module": "coevo.trainers.steps", "owner": "SelectGenomes", "method": "__call__"},
        (2, 3),  # parents are chosen, and their children have not begun
    ),
    "essa": (
        """
maker = lambda: None
made = algorithm("essa", None, {"collect.episodes": 48})
world = {"env": "coevo/kuhn_poker-v0", "env_options": {"prompt_style": "terse"}}
given = TrainConfig(algorithm=made, model="starter", steps=3, **world)
""",
        {"module": "coevo.trainers.steps", "owner": "UpdateGenome", "method": "__call__"},
        (1, 2),  # the strategy was told, and the run has not saved it
    ),
    "agent_evolver": (
        """
from coevo.benchmarks.reproductions import key_door as it
maker = lambda make=it.walkers(0.9): make(0)
small = {"collect.episodes": 8, "collect.group_size": 4, "optim.lr": 0.1}
made = algorithm("agent_evolver", "noted", {**small, "cycle.mark_turns.by.flips": 0.2})
world = {"env": it.KeyDoor.env_id, "env_options": {"prompt_style": "terse", "moves": 12}}
given = TrainConfig(algorithm=made, model="table", steps=3, **world)
""",
        {"module": "coevo.trainers.steps", "owner": "MarkTurns", "method": "__call__"},
        (1, 2),  # marks were drawn, and nothing was learnt from them
    ),
    "cultural_evolution": (
        """
maker = lambda: None
made = algorithm("cultural_evolution", None, {})
world = {"env": "coevo/kuhn_poker-v0", "env_options": {"prompt_style": "terse"}}
given = TrainConfig(algorithm=made, model="starter", steps=3, **world)
""",
        {"module": "coevo.trainers.steps", "owner": "EvolveTexts", "method": "__call__"},
        (1, 2),  # a generation of texts was written, and is not saved
    ),
    "c_morl": (
        """
from coevo.benchmarks.reproductions.claims import c_morl_treasure as it
maker = lambda: it.CLAIM.world.maker(0)
small = {"updates": 2, "tasks": 4, "preferences": [[1.0, 0.0]]}
small = {f"cycle.trace_front.{k}": v for k, v in small.items()}
made = algorithm("c_morl", None, {**it.CLAIM.changes, "collect.episodes": 4, **small})
world = {"env": it.Treasure.env_id, "env_options": {"prompt_style": "terse"}}
given = TrainConfig(algorithm=made, model="table", steps=5, **world)
""",
        {"module": "coevo.trainers.steps", "owner": "TraceFront", "method": "__call__"},
        (3, 1),  # the next policy has begun, and it has learnt nothing
    ),
}


INNER = """
from coevo.benchmarks.reproductions import claim
from coevo.benchmarks.reproductions.claims import derl_formulas as it
maker = lambda: None
step = next(s for s in algorithm("derl").cycle if s.name == "inner_run")
small = {"env": it.ENV, "env_options": it.ANSWERS, "steps": 3, "checkpoint_every": 1, "tasks": 8}
small = {f"cycle.inner_run.{k}": v for k, v in small.items()}
small["cycle.inner_run.changes"] = {**step.changes, **it.INNER}
made = algorithm("derl", None, {"optim.lr": 0.1, "optim.warmup": 0, **small})
world = {"prompt_style": "terse", **dict(claim("derl_formulas").world.options)}
given = TrainConfig(algorithm=made, env=it.ENV, env_options=world, model="table", steps=2)
"""
EVOLVED = {"collect.episodes": 16, "optim.epochs": 2, "optim.lr": 1.0}
CASES |= {
    "correct": arm("corrections", "corrected", "Correct", **{"collect.episodes": 8}),
    "demonstrate": arm("agent_evolution", "evolved", "Demonstrate", **EVOLVED),
    "restore_start": arm("agent_evolution", "evolved", "RestoreStart", **EVOLVED),
    "filter_pairs": arm("upo_noise", "upo", "FilterPairs", **{"collect.episodes": 24}),
    "sample_generation": arm("essa_spectrum", "essa", "SampleGeneration"),
    "replace_texts": arm("inspo_procedure", "full", "ReplaceTexts", (1,)),
    "question_judge": arm(
        "spark_judge",
        "released",
        "QuestionJudge",
        **{"collect.episodes": 32, "cycle.question_judge.of.least": 8},
    ),
    "breed_generation": (
        """
maker = lambda: None
small = {"collect.episodes": 32, "cycle.select_genomes.by.keep": 2, "population": "separate"}
made = algorithm("deep_ga", None, small)
world = {"env": "coevo/kuhn_poker-v0", "env_options": {"prompt_style": "terse"}}
given = TrainConfig(algorithm=made, model="table", steps=4, **world)
""",
        {"module": STEPS, "owner": "BreedGeneration", "method": "_start"},
        (2, 4),  # one of two learners has its children
    ),
    "explore": (
        """
maker = lambda: None
small = {"cycle.fit_values.steps": 2, "cycle.fit_values.batch": 8, "magnet.every": 2}
small |= {"collect.episodes": 8, "schedules": {"cycle.explore.epsilon": {"to": 0.2, "over": 2}}}
small["schedules"]["cycle.explore.epsilon"]["name"] = "linear"
made = algorithm("iql", None, small)
world = {"env": "coevo/kuhn_poker-v0", "env_options": {"prompt_style": "terse"}}
given = TrainConfig(algorithm=made, model="net:hidden=8", steps=4, **world)
""",
        {"module": STEPS, "owner": "Explore", "method": "__call__"},
        (2, 3),  # the agents that play move at random, less often than before
    ),
    "evolve_front": (
        """
maker = lambda: None
small = {"cycle.evolve_front.begin": 4, "cycle.evolve_front.children": 4}
small["cycle.evolve_front.by"] = {"name": "pareto", "keep": 3}
made = algorithm("llm_ge", None, small)
world = {"env": "coevo/improve_program-v0", "env_options": {"problem": "layers"}}
given = TrainConfig(algorithm=made, model="table", steps=4, **world)
""",
        {"module": STEPS, "owner": "EvolveFront", "method": "_try"},
        (2, 7),  # programs were tried and none is kept yet; then those of the next generation
    ),
    "inner_run": (INNER, {"module": STEPS, "owner": "InnerRun", "method": "_judged"}, (1, 3)),
    "inner_run_learns": (INNER, LEARNT, (2, 5)),  # within one of the inner runs
    "measure_diversity": (
        """
from coevo.trainers.steps import POLICY_GRADIENT, MeasureDiversity
maker = lambda: None
cycle = (*POLICY_GRADIENT[:1], MeasureDiversity(role="player"), *POLICY_GRADIENT[1:])
made = algorithm("reinforce", None, {"collect.episodes": 8, "cycle": cycle})
world = {"env": "coevo/kuhn_poker-v0", "env_options": {"prompt_style": "terse"}}
given = TrainConfig(algorithm=made, model="table", steps=3, **world)
""",
        {"module": STEPS, "owner": "MeasureDiversity", "method": "__call__"},
        (1, 2),
    ),
}
"""What is done and saved nowhere: texts that were tried, pairs that were chosen, plays."""


@pytest.mark.parametrize("name", CASES)
def test_a_cycle_that_is_killed_in_the_middle_is_taken_again(tmp_path, name, forks):
    given, place, kills = CASES[name]
    source = TRAIN.replace("{given}", given)
    for key, value in place.items():
        source = source.replace(f"{{{key}}}", value)
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    status, said = forks(source, (calm, killed, *kills))
    assert status == [0], said
    assert content(RunFolder(killed)) == content(RunFolder(calm))
