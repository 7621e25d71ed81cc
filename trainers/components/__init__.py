"""Every component of an advantage and of a loss by its class name, for one import.

>>> from coevo.trainers import components as c
>>> c.ToGo(gamma=0.9).name
'to_go'
"""

from coevo.trainers.estimators import *  # noqa: F403
