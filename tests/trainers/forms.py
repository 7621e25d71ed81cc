"""Short forms for tests of advantages and losses."""

from coevo.trainers.batch import Batch


def loss_inputs(
    logp_CL, logp_old_CL, advantage_CL, mask_CL, turn_CL, logp_behaviour_CL=None, **rest
):
    """Return a micro-batch from its tensors."""
    rest |= {"mask_CL": mask_CL, "turn_CL": turn_CL, "logp_behaviour_CL": logp_behaviour_CL}
    return Batch.from_tokens(logp_CL, advantage_CL, logp_old_CL, **rest)
