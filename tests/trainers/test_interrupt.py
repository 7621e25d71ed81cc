"""Signals that ask a command to stop."""

import os
import signal

import pytest

from coevo.trainers import interrupt
from coevo.trainers.interrupt import BURST, Interrupt, as_one

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


@pytest.fixture
def clock(monkeypatch):
    """Return a list whose last number is the time."""
    now = [100.0]
    monkeypatch.setattr(interrupt.time, "monotonic", lambda: now[-1])
    return now


def ask(times=1):
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGTERM)


def test_signals_of_a_burst_are_one_request(clock):
    with Interrupt() as stop, stop.stoppable(lambda: True):
        ask(3)
        clock.append(clock[-1] + BURST / 2)
        ask()
        assert stop.asked


def test_a_second_request_ends_what_leaves_the_last_update_whole_and_nothing_else(clock):
    with Interrupt() as stop:
        ask()
        clock.append(clock[-1] + BURST)
        ask()  # nothing of an update is under way: saving, or who looks on
    harmed = [False]
    with Interrupt() as stop, stop.stoppable(lambda: not harmed[0]):
        ask()
        clock.append(clock[-1] + BURST)
        harmed[0] = True
        ask()
    with pytest.raises(KeyboardInterrupt), Interrupt() as stop, stop.stoppable(lambda: True):
        ask()
        clock.append(clock[-1] + BURST)
        ask()


def test_a_third_request_ends_an_update_that_moves_weights(clock):
    with pytest.raises(KeyboardInterrupt), Interrupt() as stop, stop.stoppable(lambda: False):
        for _ in range(3):
            ask()
            clock.append(clock[-1] + BURST)
    assert len(clock) == 3, "not before the third"
