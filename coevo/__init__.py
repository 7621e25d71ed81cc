"""coevo: multi-agent language tasks, and the co-evolution algorithms that train on them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coevo.envs.core.registry import list_envs, make

__version__ = "0.1.0"
__all__ = ["__version__", "list_envs", "make"]


def __getattr__(name: str) -> Any:
    """Import `make` and `list_envs` on first use, so that `import coevo` stays cheap."""
    if name not in ("list_envs", "make"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import coevo.envs.core.registry as registry

    return getattr(registry, name)
