"""Steps without a condition, which `Every` and `When` may hold."""

from typing import Annotated

from coevo.envs.core.config import choice
from coevo.trainers.steps.appraise import Appraise
from coevo.trainers.steps.ask import Ask
from coevo.trainers.steps.collect import Collect
from coevo.trainers.steps.credit import Credit
from coevo.trainers.steps.draw import Draw
from coevo.trainers.steps.examine import Examine
from coevo.trainers.steps.fit import Fit
from coevo.trainers.steps.inherit import Inherit
from coevo.trainers.steps.inner import Inner
from coevo.trainers.steps.recall import Recall
from coevo.trainers.steps.recycle import Recycle
from coevo.trainers.steps.refresh import Refresh
from coevo.trainers.steps.renew import Renew
from coevo.trainers.steps.revise import Revise
from coevo.trainers.steps.score import Score
from coevo.trainers.steps.sift import Sift
from coevo.trainers.steps.tell import Tell
from coevo.trainers.steps.update import Update

Plain = (
    Collect
    | Score
    | Credit
    | Recycle
    | Sift
    | Update
    | Recall
    | Fit
    | Renew
    | Draw
    | Appraise
    | Refresh
    | Revise
    | Inherit
    | Inner
    | Ask
    | Examine
    | Tell
)
"""The classes of such steps."""
PlainStep = Annotated[Plain, choice()]
"""One step of a cycle, without a condition."""
