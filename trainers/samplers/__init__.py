"""What an update is given to learn from: how often a task is played, what is kept, what returns.

Read `tasks` (what is known about a task), `curriculum` and `evolve` (which tasks are proposed),
`allocate` (episodes per task), `selection` (which groups
are learnt from), `replay` (episodes of earlier updates) and `task_buffer` (what episodes leave for
later ones).
"""

from coevo.trainers.samplers.allocate import (
    Allocation,
    Knapsack,
    Uniform,
    Vade,
    Xrpo,
    knapsack_cost,
)
from coevo.trainers.samplers.curriculum import Curriculum, Drawn, Proposal, Source, shared_out
from coevo.trainers.samplers.evolve import Evolve
from coevo.trainers.samplers.kept import Kept, alone
from coevo.trainers.samplers.replay import (
    Extra,
    Mix,
    RemixReplay,
    Replay,
    ReplayBuffer,
    SpearReplay,
    recalibrate,
    replay_weight,
)
from coevo.trainers.samplers.selection import (
    KeepAll,
    KeepDynamic,
    Refilled,
    RefillError,
    Selection,
    refill,
)
from coevo.trainers.samplers.task_buffer import KeptTasks, TaskBuffer, TaskStore
from coevo.trainers.samplers.tasks import TaskHistory, TaskStats
