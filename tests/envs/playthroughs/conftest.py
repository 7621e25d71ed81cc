import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def record():
    """The module that records and plays the golden episodes."""
    spec = importlib.util.spec_from_file_location(
        "playthrough_record", Path(__file__).with_name("record.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
