"""MAC-SPGG: contributions reach the equilibrium of its payoff, and plain public goods free-ride."""

from collections.abc import Iterator

from coevo.benchmarks.reproductions.claim import Claim, Expect, near
from coevo.benchmarks.reproductions.run import QUICKLY, Arm, Trained, World
from coevo.envs.core.config import plain
from coevo.envs.societies.sequential_goods import GoodsConfig, equilibrium
from coevo.trainers import components as c

GOODS = {
    "plain": ("plain public goods", GoodsConfig(bonus=0.0, penalty=0.0)),
    "paper": ("MAC-SPGG", GoodsConfig()),
}
LEVEL = 1 / (GoodsConfig().levels - 1)
PLACES = ("first", "second", "third")
GIVEN = [f"outcome/contributed/player_{i}" for i in range(len(PLACES))]


def _measure(end: Trained) -> dict[str, float]:
    given = {place: end.last(10, name) for place, name in zip(PLACES, GIVEN, strict=True)}
    return given | {"at_first": sum(map(end.first, GIVEN))}


def _rows(arm: str) -> Iterator[Expect]:
    label, goods = GOODS[arm]
    yield Expect(f"{label}: sum in the first update", f"{arm}.at_first")
    for place, given in zip(PLACES, equilibrium(goods).path, strict=True):
        yield near(f"{label}: the {place} gives", f"{arm}.{place}", given, LEVEL)


CLAIM = Claim(
    property="""Under the payoff of MAC-SPGG contributions reach its equilibrium, within one level;
        under plain public goods all free-ride.""",
    source="""Liang et al. 2025, MAC-SPGG, arXiv 2508.02076 (the claim; how the parts of its payoff
        are joined is our reading); references: equilibrium() of coevo.envs.societies""",
    minutes=2.0,
    on="table",
    setting="""Three players give in turn (`coevo/sequential_public_goods-v0`, six levels), each
        with a table of its own; `mac_spgg`, 64 episodes an update, 80 updates; figures are of the
        last 10.""",
    measured="""What every player gives, beside the path that backward induction finds, under plain
        public goods and under the payoff of MAC-SPGG with its released constants.""",
    chosen="""Step sizes, one step per update, and an entropy bonus of 0.06 points: with less,
        players stop trying before those after them know how to answer. It costs a part of a level:
        the bounds are one level (0.2).""",
    note="""the last player learns first, and the first last: on the way contributions may fall to 0
        and rise again""",
    world=World("coevo/sequential_public_goods-v0", 80),
    changes={
        **QUICKLY,
        "collect.episodes": 64,
        "loss.regularise": (c.Entropy(coef=0.06),),
        "optim.lr": 0.25,
        "optim.warmup": 10,
    },
    arms={name: Arm("mac_spgg", options=plain(goods)) for name, (_, goods) in GOODS.items()},
    measure=_measure,
    expect=(*_rows("plain"), *_rows("paper")),
)
