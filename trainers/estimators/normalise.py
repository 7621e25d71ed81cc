"""Normalise: compare a credit with others (`center`) and set its unit (`scale`).

The options of the two slots, gathered: read the modules that they come from.
"""

from coevo.trainers.estimators.center import CENTER, State, center_batch
from coevo.trainers.estimators.scale import SCALE, scale_batch_std, scale_token_std

__all__ = [
    "CENTER",
    "SCALE",
    "State",
    "center_batch",
    "scale_batch_std",
    "scale_token_std",
]
