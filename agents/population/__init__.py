"""Which agent sits where: learners, frozen copies, past selves, scripts, experts, served models.

A population maps roles (seats) to parameter sets; several seats may share one.
"""

from typing import Annotated

from coevo.agents.population.pool import (
    FrozenOpponent,
    MetaStrategy,
    PastSelves,
    Pool,
    Prioritised,
    Uniform,
)
from coevo.agents.population.population import MakePolicy, Population, Result, Shared
from coevo.agents.population.team import Adapters, ByRole, Grouped, Separate, Team
from coevo.envs.core.config import choice

PopulationConfig = Annotated[
    Shared | Separate | ByRole | Grouped | Adapters | FrozenOpponent | PastSelves, choice()
]
"""Who has parameters of their own, and who plays whom."""
