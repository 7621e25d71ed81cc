"""What the processes of a run share, whichever machine they are on, and how it is compared."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path

import coevo.agents
import coevo.envs
import coevo.trainers
from coevo.agents.models.base_model import digest
from coevo.agents.models.folders import is_made, model_folder
from coevo.envs import register
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.registry import ENVS, EnvSpec
from coevo.trainers.config import TrainConfig

PACKAGES = ("torch", "transformers")
"""Packages whose versions change what is computed; Ray compares its own and Python's."""
VARIABLES = "COEVO_"
"""Beginning of the environment variables that processes elsewhere are given."""
SAME = "all machines need the same one at the same path"
CODE = (coevo.envs, coevo.agents, coevo.trainers)
"""What is compared of coevo: clones of different commits share a version."""


@dataclass(frozen=True)
class Origin:
    """The machine on which a run was started, as its other processes are to find theirs."""

    address: str
    versions: Mapping[str, str]
    """Package -> version; coevo's is a digest of its code."""
    model: str
    """Digest of the start model; empty where it is not on this disk."""
    folder: str
    """Working directory, from which relative paths are read."""
    variables: Mapping[str, str]
    envs: tuple[EnvSpec, ...]
    """Environments of the run, which a script may have registered."""

    @classmethod
    def of(cls, config: TrainConfig) -> Origin:
        own = {k: v for k, v in os.environ.items() if k.startswith(VARIABLES)}
        envs = tuple(ENVS[id] for id in config.environments)
        return cls(address(), versions(), _digest(config.model), os.getcwd(), own, envs)

    def adopt(self, config: TrainConfig) -> None:
        """Let this process be like one of that machine.

        Raises:
            ConfigError: packages differ.
            DataError: the start model is not here, or is another one.
        """
        os.environ.update(self.variables)
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        for spec in self.envs:
            if spec.id not in ENVS:
                register(**{f.name: getattr(spec, f.name) for f in fields(spec)})
        here = address()
        if here == self.address:
            return
        for name, found in versions().items():
            if found != self.versions[name]:
                raise ConfigError(
                    f"machine {here} has {name} {found}, and {self.address}, which started the "
                    f"run, has {self.versions[name]}; install the same on all machines"
                )
        try:
            model = _digest(config.model)
        except DataError as error:
            raise DataError(f"machine {here}: {error}; {SAME}") from None
        if model != self.model:
            raise DataError(
                f"the start model {config.model!r} of machine {here} (digest {model or 'none'}) "
                f"is not that of {self.address} ({self.model or 'none'}); {SAME}"
            )


def versions() -> dict[str, str]:
    found = hashlib.sha256()
    for package in CODE:
        for path in sorted(Path(str(package.__file__)).parent.rglob("*.py")):
            found.update(path.read_bytes())
    packages = {name: version(name).partition("+")[0] for name in PACKAGES}
    return {"coevo": found.hexdigest()[:12], **packages}


def _digest(model: str) -> str:
    return "" if is_made(model) else digest(model_folder(model))


def address() -> str:
    """Return by which address the cluster knows this machine."""
    import ray

    found: str = ray.util.get_node_ip_address()
    return found
