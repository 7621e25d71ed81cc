"""Signals that ask a command to stop."""

import os
import signal

import pytest

from coevo.trainers.interrupt import as_one

pytestmark = pytest.mark.usefixtures("usual_signals")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_scheduler_and_a_closed_terminal_stop_a_command_as_ctrl_c_does(number):
    with pytest.raises(KeyboardInterrupt), as_one():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is signal.SIG_DFL


def test_what_is_ignored_stays_ignored_as_under_nohup():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with as_one():
        os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
