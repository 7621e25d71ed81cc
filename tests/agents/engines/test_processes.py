import multiprocessing
import os
import signal
import threading
import time

import pytest

from coevo.agents.engines.processes import answer, unsignalled


def test_a_process_out_of_reach_of_ctrl_c_answers_until_it_dies():
    process = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    with unsignalled():
        process.start()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        for number in (signal.SIGINT, signal.SIGHUP):
            os.kill(process.pid, number)
        process.join(timeout=0.5)
        assert answer(process.is_alive, [process])
        with pytest.raises(KeyError, match="own"):
            answer(lambda: {}["own"], [process])
        threading.Timer(0.2, process.kill).start()
        with pytest.raises(ChildProcessError, match="died"):
            answer(lambda: threading.Event().wait(60), [process])
    finally:
        process.kill()
        process.join()
