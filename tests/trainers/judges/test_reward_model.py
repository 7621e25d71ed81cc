"""Reward heads: who is moved by their losses, what a checkpoint keeps, and what is refused."""

from dataclasses import replace

import pytest
import torch

from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.config import assign
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.trainers import checkpoint
from coevo.trainers.algorithms import algorithm
from coevo.trainers.cycle import Step
from coevo.trainers.judges.judge import Judge
from coevo.trainers.judges.roles import JudgeRole
from coevo.trainers.loop import update, updates
from coevo.trainers.losses import BradleyTerry, ValueRegression
from coevo.trainers.run import start
from coevo.trainers.steps import BuildBatch, Certified, Collect, MakeItems, Update, Verdicts

SMALL = {
    "collect.tasks": 4,
    "collect.episodes": 32,
    "collect.group_size": 8,
    "optim.warmup": 0,
    "optim.lr": 0.05,
}
COOPER = algorithm("cooper", "own_wrong", SMALL)
FIT_ALONE = (Collect(), BuildBatch(), MakeItems(to=Certified(negatives="own_wrong")))


def weights(run, name):
    learner = run.learners[name]
    parts = [*learner.model.parameters()]
    return torch.cat([p.detach().flatten().clone() for p in parts])


def head(run, name):
    found = run.learners[name].reward_head
    return torch.cat([p.detach().flatten().clone() for p in found.parameters()])


def only(record, *losses, negatives="own_wrong"):
    """Return an algorithm that fits the reward model and nothing else."""
    to = Certified(negatives=negatives) if BradleyTerry() in losses else Verdicts()
    return replace(record, cycle=(Collect(), BuildBatch(), MakeItems(to=to), Update(losses=losses)))


@pytest.mark.parametrize("loss", [BradleyTerry(), ValueRegression()])
def test_a_reward_model_of_its_own_moves_alone(run_of, loss):
    run = run_of(only(COOPER, loss))
    policy, before = weights(run, "policy"), head(run, "judge")
    metrics, _ = update(run)
    assert torch.equal(weights(run, "policy"), policy)
    assert not torch.equal(head(run, "judge"), before)
    assert metrics[f"items/{loss.kind}"] > 0 and f"judge/{loss.name}/loss/item" in metrics


def test_the_policy_s_step_does_not_move_the_reward_model(run_of):
    run = run_of(replace(COOPER, cycle=COOPER.cycle[:4]))
    run.learners["judge"].reward_head.logits_RA.data.normal_(generator=torch.manual_seed(0))
    policy, before = weights(run, "policy"), head(run, "judge")
    update(run)
    assert torch.equal(head(run, "judge"), before)
    assert not torch.equal(weights(run, "policy"), policy)


@pytest.mark.parametrize("shared", [True, False])
def test_a_language_model_is_moved_where_it_shares_its_weights(run_of, tiny_model_dir, shared):
    own = JudgeRole(policy="policy" if shared else "judge")
    record = replace(only(COOPER, ValueRegression()), judges={"judge": own}, optim_of={})
    settings = {"prompt_style": "terse"}
    sampling = SamplingConfig(guided="choice", max_new_tokens=40)
    run = run_of(record, model=str(tiny_model_dir), env_options=settings, sampling=sampling)
    name = own.policy
    with torch.no_grad():
        run.learners[name].reward_head.weight.normal_(generator=torch.manual_seed(0))
    policy, trunk = weights(run, "policy"), weights(run, name)
    update(run)
    assert torch.equal(weights(run, "policy"), policy) != shared
    assert not torch.equal(weights(run, name), trunk)


def test_regression_finds_what_replies_are_worth(run_of):
    record = assign(only(COOPER, ValueRegression()), {"optim_of": {"judge": {"lr": 0.1}}})
    run = run_of(record, steps=60, checkpoint_every=99)
    metrics = [x.metrics for x in updates(run)][-1]
    assert metrics["judge/value_regression/loss/item"] < 0.001


def test_the_head_is_read_at_its_version(run_of):
    run = run_of(COOPER)
    versions = [
        {t.versions["reward_model"] for e in x.episodes for t in e.turns} for x in updates(run)
    ]
    assert versions == [{0}, {1}, {2}, {3}]


class Fails(Step):
    """A step that fails once, in one update."""

    name, moves = "fails", True

    def __init__(self, at):
        self.at = at

    def __call__(self, ctx):
        if ctx.step == self.at:
            self.at = -1
            raise RuntimeError("killed")


def state(run):
    parts = [weights(run, n) for n in sorted(run.learners)]
    return torch.cat([*parts, head(run, "judge")])


@pytest.mark.parametrize("place", range(1, 7))
def test_a_run_that_is_killed_inside_a_cycle_ends_equal(run_of, folder, place):
    record = assign(COOPER, {"optim.optimiser": "adamw"})
    whole = run_of(record, "whole")
    for _ in updates(whole):
        pass
    cycle = (*record.cycle[:place], Fails(3), *record.cycle[place:])
    killed = run_of(record, "killed")
    killed.config = replace(killed.config, algorithm=replace(record, cycle=cycle))
    with pytest.raises(RuntimeError, match="killed"):
        for _ in updates(killed):
            pass
    assert checkpoint.latest_step(killed.folder.checkpoints) == 2
    again = start(whole.config, killed.folder)
    assert again.progress.step == 2
    for _ in updates(again):
        pass
    assert torch.equal(state(again), state(whole))
    logs = [
        [{k: v for k, v in line.items() if "seconds" not in k} for line in folder.read_metrics()]
        for folder in (again.folder, whole.folder)
    ]
    keep = [[{k: v for k, v in x.items() if "per_second" not in k} for x in log] for log in logs]
    assert [set(a.items()) ^ set(b.items()) for a, b in zip(*keep, strict=True)] == [set()] * 4


def test_the_reward_model_is_no_player(run_of):
    run = run_of(COOPER)
    assert set(run.policies()) == {"policy"}
    assert set(run.learners) == {"policy", "judge"}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"judges": {}},
            r"asks the role 'judge', which has no parameter set; give it one: judges=",
        ),
        ({"judges": {"jugde": {}}}, r"did you mean 'jugde'"),
        ({"rewards": [], "advantage.reward_weights": {}}, r"which no reward module reads"),
        (
            {
                "cycle": [
                    {"name": "collect"},
                    {"name": "build_batch"},
                    {"name": "update", "losses": [{"name": "bradley_terry"}]},
                ]
            },
            r"needs reward_pairs, which no earlier step gives; put make_items\(certified\)",
        ),
        (
            {"cycle": [{"name": "collect"}, {"name": "make_items", "to": {"name": "certified"}}]},
            r"needs batch, which no earlier step gives; put build_batch before it",
        ),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(changes, line):
    with pytest.raises(CoevoError, match=line) as error:
        assign(COOPER, changes)
    assert "\n" not in str(error.value)


def test_the_environment_s_judge_needs_a_parameter_set_too(run_of):
    with pytest.raises(ConfigError, match="reward 'judge' asks the role 'judge'"):
        run_of(algorithm("grpo"), env_options={"rewards": [Judge()]})


def test_settings_of_a_player_are_not_a_judge_s_to_say(run_of):
    own = {"judge": JudgeRole(policy="policy", learns=False)}
    with pytest.raises(ConfigError, match="leave model and learns out"):
        run_of(replace(COOPER, judges=own, optim_of={}))


def test_two_roles_may_not_want_two_kinds_of_one_set(run_of):
    roles = {"judge": JudgeRole(), "assistant": JudgeRole(learns=False)}
    with pytest.raises(ConfigError, match="different settings of 'judge'"):
        run_of(replace(COOPER, judges=roles))
