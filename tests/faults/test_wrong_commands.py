"""1,500 wrong command lines and configurations: each refused in one line, soon and cheaply."""

import pytest

from tests.faults.wrong_commands import tried

pytestmark = pytest.mark.faults


def test_wrong_commands_are_refused(fault_seed, tmp_path, monkeypatch, fault, request):
    monkeypatch.chdir(tmp_path)
    most = request.config.getoption("--commands")
    found = tried(fault_seed, most, tmp_path / "said")
    for what in found:
        fault("wrong command", False, what)
    for _ in range(most - len(found)):
        fault("wrong command", True)
