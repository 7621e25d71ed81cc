import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["archive.archive", "archive.selection", "collect.injected"])
def test_every_example_runs(name):
    result = doctest.testmod(importlib.import_module(f"coevo.trainers.{name}"))
    assert result.failed == 0 and result.attempted > 0
