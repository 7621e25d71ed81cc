"""Programs in forks of one process, so that only the first pays the imports."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

SERVER = """
import json, os, signal, sys, traceback
import coevo.benchmarks.reproductions.run
import peft
import torch._dynamo  # which the first optimiser imports

def begin(program, words, variables):
    pid = os.fork()
    if pid == 0:
        signal.alarm(600)  # what hangs dies
        os.dup2(2, 1)
        os.environ.update(variables)
        sys.argv[1:] = words
        try:
            exec(program, {})
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return pid

for line in sys.stdin:
    program, each = json.loads(line)
    begun = [begin(program, *one) for one in each]
    ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in begun]
    print(json.dumps(ends), flush=True)
os._exit(0)
"""
Forks = Callable[..., tuple[list[int], str]]


@contextmanager
def server(errors: Path) -> Iterator[Forks]:
    """Yield what runs a program: `forks(program, words, ...)`, at once for each sequence of words.

    It returns the exit status of each, negative for a signal, and the end of what all have said.
    `variables` are further ones of their environments, one mapping for each.
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-P", "-c", SERVER]
    with errors.open("w") as said, subprocess.Popen(command, stderr=said, **pipes) as process:

        def forks(
            program: str,
            *words: Sequence[str | os.PathLike[str] | int],
            variables: Sequence[Mapping[str, str]] = (),
        ) -> tuple[list[int], str]:
            given = variables or [{}] * len(words)
            each = [([str(w) for w in one], v) for one, v in zip(words, given, strict=True)]
            process.stdin.write(json.dumps([program, each]) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            assert line, errors.read_text()[-2000:]
            return json.loads(line), errors.read_text()[-2000:]

        yield forks
        process.stdin.close()
