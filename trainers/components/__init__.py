"""Every component of an advantage and of a loss by its class name, for one import.

>>> from coevo.trainers import components as c
>>> c.ToGo(gamma=0.9).name
'to_go'
"""

from coevo.trainers.components.baselines import *
from coevo.trainers.components.corrections import *
from coevo.trainers.components.credits import *
from coevo.trainers.components.masks import *
from coevo.trainers.components.normalisations import *
from coevo.trainers.components.ratios import *
from coevo.trainers.components.regularisers import *
from coevo.trainers.components.surrogates import *
from coevo.trainers.components.transforms import *
