"""What an update is given to learn from: how often a start is played, what is kept, what returns.

Read `starts` (what is known about a start), `allocate` (plays per start), `selection` (which groups
are learnt from), `replay` (old plays), `archive` (what plays leave for later ones) and `schedules`.
The tables list the options of every slot.
"""

from coevo.trainers.samplers.allocate import (
    ALLOCATE,
    history_of,
    knapsack_cost,
    knapsack_value,
)
from coevo.trainers.samplers.archive import ARCHIVE, Archive
from coevo.trainers.samplers.check import check_samplers
from coevo.trainers.samplers.kept import Kept, alone
from coevo.trainers.samplers.plays import play_weights
from coevo.trainers.samplers.replay import REPLAY, Extra, Mix, Replay, recalibrate
from coevo.trainers.samplers.schedules import (
    ads_advance,
    ads_discount,
    bonus_weight,
    capped_bonus,
    convex_weight,
    replay_weight,
)
from coevo.trainers.samplers.selection import (
    SELECT,
    Refilled,
    RefillError,
    keep_dynamic,
    refill,
    tries_of,
)
from coevo.trainers.samplers.starts import StartHistory, StartStats

__all__ = [
    "ALLOCATE",
    "ARCHIVE",
    "REPLAY",
    "SELECT",
    "Archive",
    "Extra",
    "Kept",
    "Mix",
    "RefillError",
    "Refilled",
    "Replay",
    "StartHistory",
    "StartStats",
    "ads_advance",
    "ads_discount",
    "alone",
    "bonus_weight",
    "capped_bonus",
    "check_samplers",
    "convex_weight",
    "history_of",
    "keep_dynamic",
    "knapsack_cost",
    "knapsack_value",
    "play_weights",
    "recalibrate",
    "refill",
    "replay_weight",
    "tries_of",
]
