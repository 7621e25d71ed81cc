"""Shared layers: what two tasks taught the inner layers helps a front end to learn a third."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean

from torch import Tensor

from coevo.agents.models.nets import Net, NetSettings, NetShape
from coevo.agents.net_policy import NetPolicy
from coevo.agents.population import MakePolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.claims.gathering_beam import MAP
from coevo.benchmarks.reproductions.run import NETS, Arm, Trained, World, trained
from coevo.envs import make

SETTINGS = NetSettings(hidden=64, layers=3)
SHARED = ("body.2.", "body.4.")
"""Beginnings of the names of what tasks share: the second and the third layer."""
TURNS, TURN, UPDATES, EPISODES, LAST = 3, 10, 40, 8, 10
SEEN = {"steps": 30, "ahead": 4, "behind": 2, "side": 3}
CHANGES = {**NETS, "collect.episodes": EPISODES, "advantage.credit.gamma": 0.95}


def _world(env: str, steps: int, **options: object) -> World:
    return World(env, steps, {**SEEN, **options}, settings={"model": "net", "threads": 1})


TAUGHT = (
    _world("coevo/harvest-v0", TURN, harvesters=2),
    _world("coevo/cleanup-v0", TURN, agents=2),
)
THIRD = _world("coevo/gathering-v0", UPDATES, gatherers=2, map=MAP)
State = Mapping[str, Tensor]


def begun(world: World, known: State, *, frozen: bool = False) -> Callable[[int], MakePolicy]:
    """Return what makes networks for a world, from a seed and layers that are known."""

    def seeded(seed: int) -> MakePolicy:
        def made(name: str, **given: object) -> NetPolicy:
            assert not callable(world.options)
            task = make(world.env, **world.options).task
            net = Net(SETTINGS, NetShape(task.array_space.shape, task.numbers), seed)
            net.load_state_dict(dict(known), strict=False)
            for key, parameter in net.named_parameters():
                parameter.requires_grad_(not (frozen and key.startswith(SHARED)))
            return NetPolicy(net, name=name)

        return made

    return seeded


def taught(seed: int) -> State:
    """Return the shared layers after turns of training in two worlds, each with its own ends."""
    ends: dict[str, State] = {}
    shared: State = {}
    for turn in range(TURNS):
        for world in TAUGHT:
            known = {**ends.get(world.env, {}), **shared}
            arm = Arm("turn_ppo", maker=begun(world, known))
            with trained(world, arm, 1000 * seed + turn, CHANGES) as end:
                state = {k: t.clone() for k, t in end.policy().model.state_dict().items()}
            shared = {k: t for k, t in state.items() if k.startswith(SHARED)}
            ends[world.env] = state
    return shared


def _measure(end: Trained) -> dict[str, float]:
    eaten = [float(update["outcome/efficiency"]) for update in end.log]
    return {"area": fmean(eaten), "last": fmean(eaten[-LAST:])}


CLAIM = Claim(
    property="""Inner layers that two tasks have taught, and that stay as they are, let a front end
        learn a third task faster than random ones do.""",
    source="""Wang et al. 2023, Multi-Task Multi-Agent Shared Layers, arXiv 2312.15674 (football and
        StarCraft; by its abstract); bounds are ours""",
    minutes=8.0,
    seeds=6,
    on="net",
    setting=f"""A network has a first layer of 64 units for its task, two layers of 64 that tasks
        share, and moves and values of its task. `turn_ppo`, {EPISODES} episodes of 30 steps with
        two seats. Harvest and Cleanup teach in turns of {TURN} updates, {TURNS} each; then
        Gathering on a map of 6 by 4 cells is learnt in {UPDATES} updates, with the shared layers
        frozen as they were taught, frozen at random, or learning from scratch.""",
    measured=f"""Apples of both seats a step: the mean over all updates, which is the area under the
        curve, and that of the last {LAST}.""",
    chosen="""All sizes, the tasks and the bound, before anything was run; six seeds, after a look
        at three (.032 with a standard error of .019).""",
    limits="""Two small grid worlds in the place of football and StarCraft. They teach in turns, as
        environments of one run need the same seats and one shape of arrays; Cleanup has one more
        move, so that the last layer is not shared.""",
    note="""over six seeds .021 more than random layers, with a standard error of .010, ahead in
        five; less than from scratch in all six: weak evidence""",
    world=THIRD,
    changes=CHANGES,
    arms={
        "taught": Arm("turn_ppo", maker=lambda seed: begun(THIRD, taught(seed), frozen=True)(seed)),
        "random": Arm("turn_ppo", maker=begun(THIRD, {}, frozen=True)),
        "scratch": Arm("turn_ppo", maker=begun(THIRD, {})),
    },
    measure=_measure,
    expect=(
        *(
            Expect(f"{arm}: {label}", f"{arm}.{name}")
            for arm in ("taught", "random", "scratch")
            for label, name in (("apples a step", "area"), ("apples a step, last", "last"))
        ),
        Expect("taught minus random layers", "taught.area - random.area", low=0.0),
        Expect("taught layers minus from scratch", "taught.area - scratch.area"),
    ),
)
