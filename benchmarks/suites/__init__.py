"""Sets of measurements: suites of environments, scenarios, sweeps, series of checkpoints.

Every part of one is a pure function of the agent's weights, the part, the seed and the sampling,
and is kept as it is finished: a killed evaluation continues and ends with the same tables.
"""
