"""The command line: `coevo COMMAND ...`, also as `python -m coevo`.

Exit status: 0 done, 1 a check did not hold or an error of coevo itself, 2 wrong input or a
disk that refuses, 130 Ctrl-C or another signal to stop. Errors are one line on stderr;
COEVO_TRACEBACK=1 shows the traceback too.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from coevo.commands.arguments import name_of
from coevo.commands.extras import check_extra, extra_of
from coevo.commands.parse import parse
from coevo.envs.core.errors import CoevoError, missing_extra
from coevo.envs.core.quoting import visible
from coevo.trainers.interrupt import as_one

INTERRUPTED = 130
BROKEN_PIPE = 141
NO_MEMORY = ("failed to map segment", "allocate memory", "out of memory")
"""What the loader of libraries, torch and an accelerator say where there is no memory left."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        with as_one():
            status = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        return _reader_left()
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except Exception as error:
        if os.environ.get("COEVO_TRACEBACK"):
            raise
        return _explain(error)


def _run(argv: Sequence[str]) -> int:
    args = parse(argv)
    if args is None:
        return 0
    check_extra(args)
    return int(_imported(f"coevo.commands.{name_of(args).replace(' ', '_')}").run(args))


def _imported(name: str) -> ModuleType:
    """Import with no garbage collection, which takes a seventh of the time and finds nothing."""
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.enable()


def _explain(error: Exception) -> int:
    if isinstance(error, CoevoError):
        prefix = "" if error.exit_code == INTERRUPTED else "error: "
        return _say(f"{prefix}{error}", error.exit_code)
    if isinstance(error, ModuleNotFoundError):
        package = str(error.name).partition(".")[0]
        if extra := extra_of(package):
            return _say(f"error: {missing_extra(package, extra)}", 2)
    if isinstance(error, OSError):
        where = f" {error.filename}" if error.filename else ""
        return _say(f"error: cannot use{where or ' a file'}: {error.strerror or error}", 2)
    if isinstance(error, MemoryError) or any(said in str(error) for said in NO_MEMORY):
        return _say("error: out of memory; what was saved before is intact", 1)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _say(f"error: unexpected {what} (COEVO_TRACEBACK=1 shows where)", 1)


def _say(text: str, status: int) -> int:
    with contextlib.suppress(OSError):
        sys.stderr.write(f"coevo: {' '.join(visible(text).split())}\n")
    return status


def _reader_left() -> int:
    """Keep the interpreter from complaining at exit about a closed pipe."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


if __name__ == "__main__":
    sys.exit(main())
