"""Everything that an algorithm is made of, in one namespace.

>>> from coevo.trainers import parts as p
>>> p.AdvantageConfig(baseline=p.LeaveOneOut()).baseline.name
'leave_one_out'
"""
# ruff: noqa: F401, F403

from coevo.agents.population import Adapters, ByRole, PastSelves, Prioritised, Separate, Shared
from coevo.trainers.algorithm import *
from coevo.trainers.archive.evolution import *
from coevo.trainers.archive.genome import *
from coevo.trainers.archive.selection import *
from coevo.trainers.components import *
from coevo.trainers.judges import *
from coevo.trainers.losses import *
from coevo.trainers.samplers import *
from coevo.trainers.steps import *
