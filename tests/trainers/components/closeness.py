"""When a computed figure is a published one."""

import torch


def close(actual, expected, tolerance=6e-5):
    """Return whether figures of four decimals agree."""
    expected = torch.as_tensor(expected, dtype=torch.float64)
    return torch.allclose(actual.double(), expected, rtol=0, atol=tolerance)
