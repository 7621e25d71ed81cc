"""Scenarios: unfamiliar company in some seats of an environment (after Melting Pot).

The agent that is measured has the focal seats, the background has the others and is drawn anew for
every episode. A scenario is resident where the focal seats are the majority, else visitor: there
the agent comes into the company of others.

A new scenario is a record in `SCENARIOS`; its references are recomputed by a test, or played again
where the game is too large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from coevo.benchmarks.statistics.normalise import References
from coevo.envs import make
from coevo.envs.core.errors import ConfigError, unknown

ANY = "*"
"""Key of the background for every seat that is not named."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One company in one environment."""

    name: str
    """What it is called on the command line."""
    env_id: str
    env_options: Mapping[str, Any] = field(default_factory=dict)
    focal_seats: int | tuple[str, ...] = 1
    """Seats of the agent: a number, which moves through all seats from episode to episode, or names
    where seats are roles."""
    background: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {ANY: ("random",)})
    """Seat -> players from whom one is drawn for each episode; `*` is any other seat."""
    episodes: int = 100
    refs: References | None = None
    """Focal return per head that counts as 0 and as 1; None: results are not normalised."""
    refs_source: str = ""
    tags: tuple[str, ...] = ()
    summary: str = ""

    def __post_init__(self) -> None:
        seats = self.seats
        focal = self.focal_seats
        number = focal if isinstance(focal, int) else len(focal)
        if not 1 <= number < len(seats):
            raise ConfigError(
                f"scenario {self.name}: {number} focal seats of {len(seats)}; at least one seat "
                "must be focal and one background"
            )
        named = () if isinstance(focal, int) else focal
        for seat in [*named, *(s for s in self.background if s != ANY)]:
            if seat not in seats:
                raise unknown(f"seat of {self.env_id}", seat, seats)
        left = [s for s in seats if s not in named and not self.company(s)]
        if left:
            raise ConfigError(f"scenario {self.name}: nobody may play {left[0]}")

    @property
    def seats(self) -> tuple[str, ...]:
        return tuple(make(self.env_id, **self.env_options).possible_agents)

    @property
    def mode(self) -> str:
        """`resident` where the focal seats are the majority, else `visitor`."""
        focal = self.focal_seats
        number = focal if isinstance(focal, int) else len(focal)
        return "resident" if 2 * number > len(self.seats) else "visitor"

    def company(self, seat: str) -> tuple[str, ...]:
        return tuple(self.background.get(seat, self.background.get(ANY, ())))

    def focal_sets(self) -> list[tuple[str, ...]]:
        """Return the sets of focal seats that the episodes go through in turn."""
        if not isinstance(self.focal_seats, int):
            return [self.focal_seats]
        seats, number = self.seats, self.focal_seats
        return [
            tuple(seats[(start + i) % len(seats)] for i in range(number))
            for start in range(len(seats))
        ]


_EXACT = (
    "exact expectation over seats and company: 0 random play in the focal seats, 1 a best response "
    "to each company"
)
_ITERATED = "coevo/iterated_game-v0"
_EXACT_JOINT = (
    "exact expectation over seats and company: 0 random play in the focal seats, 1 best responses "
    "to random play in all focal seats at once"
)
_ROUNDS = "exact by recursion over all histories: 0 random play, 1 the best reply to who came"
_MEASURED = "200 episodes: 0 random play in the focal seats, 1 the best player known there, "
_KUHN3 = {"game": "kuhn_poker(players=3)"}

SCENARIOS = {
    one.name: one
    for one in (
        Scenario(
            name="hanabi_random",
            env_id="coevo/tiny_hanabi-v0",
            background={ANY: ("random",)},
            refs=References(67 / 18, 17 / 3),
            refs_source=_EXACT,
            tags=("cooperation", "no convention"),
            summary="a partner who says anything: signals are noise",
        ),
        Scenario(
            name="hanabi_conventions",
            env_id="coevo/tiny_hanabi-v0",
            background={ANY: ("convention:1", "convention:2", "convention:3")},
            refs=References(43 / 9, 28 / 3),
            refs_source=_EXACT,
            tags=("cooperation", "conventions"),
            summary="partners with conventions of their own, another one in every episode",
        ),
        Scenario(
            name="goofspiel_company",
            env_id="coevo/goofspiel-v0",
            env_options={"game": "goofspiel(num_cards=4,points_order=descending)"},
            background={ANY: ("random", "first_legal", "oracle")},
            refs=References(0.011011921931661875, 0.5834239664447602),
            refs_source=_EXACT,
            tags=("competition", "exploiting the weak"),
            summary="opponents of unknown strength: random, lowest card first, equilibrium",
        ),
        Scenario(
            name="kuhn3_visitor",
            env_id="coevo/openspiel-v0",
            env_options=_KUHN3,
            background={ANY: ("random", "first_legal")},
            refs=References(0.4375, 1.234375),
            refs_source=_EXACT,
            tags=("competition", "more players"),
            summary="three at the poker table, two of them random or never betting",
        ),
        Scenario(
            name="kuhn3_resident",
            env_id="coevo/openspiel-v0",
            env_options=_KUHN3,
            focal_seats=2,
            background={ANY: ("random", "first_legal")},
            refs=References(0.1875, 0.4010416666666667),
            refs_source=_EXACT_JOINT,
            tags=("competition", "more players"),
            summary="three at the poker table, one of them random or never betting",
        ),
        Scenario(
            name="dilemma_unknown",
            env_id=_ITERATED,
            env_options={"rounds": 5},
            background={ANY: ("always_c", "always_d", "tft", "grim")},
            refs=References(11.1953125, 16.0),
            refs_source=_ROUNDS,
            tags=("reciprocity", "exploiting the weak"),
            summary="a dilemma with a stranger: kind, unkind, or one who answers",
        ),
        Scenario(
            name="dilemma_reciprocators",
            env_id=_ITERATED,
            env_options={"rounds": 5},
            background={ANY: ("tft", "gtft", "grim", "wsls")},
            refs=References(12.653645833333334, 17.0),
            refs_source=_ROUNDS,
            tags=("reciprocity", "forgiveness"),
            summary="a dilemma with one who answers in kind, sooner or later",
        ),
        Scenario(
            name="dilemma_extortion",
            env_id=_ITERATED,
            env_options={"rounds": 5},
            background={ANY: ("extort2", "extort3", "extort4")},
            refs=References(11.957554167948773, 13.556725079579211),
            refs_source=_ROUNDS,
            tags=("extortion",),
            summary="a dilemma with an extorter: who gives in is paid better than who does not",
        ),
        Scenario(
            name="dilemma_memory_one",
            env_id=_ITERATED,
            env_options={"rounds": 5},
            background={ANY: tuple(f"memory_one:{n}" for n in range(100, 116))},
            refs=References(11.33148393973668, 15.941233376384645),
            refs_source=_ROUNDS,
            tags=("inference",),
            summary="a dilemma with a player whose memory of one round was drawn at random",
        ),
        Scenario(
            name="chicken_hawks",
            env_id=_ITERATED,
            env_options={"rounds": 5, "game": "chicken"},
            background={ANY: ("always_d", "alternator", "grim")},
            refs=References(10.791666666666666, 14.0),
            refs_source=_ROUNDS,
            tags=("yielding",),
            summary="a game of chicken with one who drives on, now or later",
        ),
        Scenario(
            name="stag_hunt_partners",
            env_id=_ITERATED,
            env_options={"rounds": 5, "game": "stag_hunt_risky"},
            background={ANY: ("always_c", "tft", "always_d", "suspicious_tft")},
            refs=References(11.25, 16.5),
            refs_source=_ROUNDS,
            tags=("trust", "coordination"),
            summary="a stag hunt with a partner who comes, who never comes, or who follows",
        ),
        Scenario(
            name="narrated_strangers",
            env_id="coevo/narrated_dilemma-v0",
            env_options={"game": "prisoners_dilemma"},
            background={ANY: ("always_c", "always_d", "tft", "grim")},
            refs=References(11.1953125, 16.0),
            refs_source=_ROUNDS,
            tags=("reciprocity", "framing"),
            summary="the dilemma with a stranger, told as one of three stories",
        ),
        Scenario(
            name="fishery_newcomer",
            env_id="coevo/fishery-v0",
            background={ANY: ("expert",)},
            tags=("restraint", "newcomer"),
            summary="one fisher among four who take what lasts and no more",
        ),
        Scenario(
            name="fishery_greedy_guest",
            env_id="coevo/fishery-v0",
            focal_seats=4,
            background={ANY: ("random",)},
            tags=("restraint", "tolerance"),
            summary="four fishers and one who takes any amount (GovSim's newcomer, at random)",
        ),
        Scenario(
            name="commons_believers",
            env_id="coevo/commons_norms-v0",
            env_options={"society": "selfish"},
            background={ANY: ("norm_follower",)},
            tags=("norms", "leading by example"),
            summary="one villager among three who hold three days right and imitate success",
        ),
        Scenario(
            name="gathering_foragers",
            env_id="coevo/gathering-v0",
            background={ANY: ("forager",)},
            refs=References(0.315, 9.52),
            refs_source=f"{_MEASURED}experts, who see the whole map; foragers come to 3.53",
            tags=("competition", "restraint"),
            summary="one gatherer among two who take apples and never fire",
        ),
        Scenario(
            name="gathering_guards",
            env_id="coevo/gathering-v0",
            background={ANY: ("guard", "forager")},
            refs=References(0.17, 9.4),
            refs_source=f"{_MEASURED}experts, who see the whole map; foragers come to 3.31",
            tags=("competition", "avoidance"),
            summary="one gatherer among some who fire at whoever is ahead",
        ),
        Scenario(
            name="cleanup_foragers",
            env_id="coevo/cleanup-v0",
            background={ANY: ("forager",)},
            refs_source="none: in 200 episodes random players and foragers earn nothing, experts "
            "0.11, where the others earn 4.6",
            tags=("public good", "giving alone"),
            summary="one beside two who only eat: nothing grows unless it cleans",
        ),
        Scenario(
            name="cleanup_cleaner",
            env_id="coevo/cleanup-v0",
            focal_seats=2,
            background={ANY: ("river_cleaner",)},
            refs=References(0.1375, 6.5225),
            refs_source=f"{_MEASURED}experts, who clean in two of the seats; foragers come to 0.70",
            tags=("public good", "free riding"),
            summary="two beside one who always cleans",
        ),
        Scenario(
            name="harvest_foragers",
            env_id="coevo/harvest-v0",
            background={ANY: ("forager",)},
            refs=References(0.78, 7.57),
            refs_source=f"{_MEASURED}experts with spare=0; foragers come to 6.67, "
            "careful experts to 5.20",
            tags=("commons", "restraint"),
            summary="one harvester among two who take every apple that they see",
        ),
        Scenario(
            name="harvest_guest",
            env_id="coevo/harvest-v0",
            focal_seats=2,
            background={ANY: ("forager", "random")},
            refs=References(1.825, 8.515),
            refs_source=f"{_MEASURED}experts with spare=0; foragers come to 8.39, "
            "careful experts to 7.69",
            tags=("commons", "tolerance"),
            summary="two harvesters and a guest who takes what it sees, or anything",
        ),
        Scenario(
            name="split_strangers",
            env_id="coevo/trust_and_split-v0",
            background={ANY: ("greedy", "welfare_max")},
            tags=("reciprocity", "talk"),
            summary="coins to split with one who takes all, or one who is fair",
        ),
    )
}
"""Every scenario by name."""


def scenario(name: str) -> Scenario:
    if name not in SCENARIOS:
        raise unknown("scenario", name, SCENARIOS)
    return SCENARIOS[name]
