"""A trial of tokenizers and chat templates that come with a model, in a process of its own.

A chat template is a program, and the description of a tokenizer may hold expressions that never
end. Both run here first, under limits of time and memory that the system enforces. What passed
once, or was written by a run on this machine, is remembered by the digest of its files.

A template that misbehaves only in chats longer than those of the trial is not found by it;
`ChatTokens` bounds the size of what any template writes. A model of the Hub is not tried.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from coevo.agents.cache_folder import cache_folder
from coevo.envs.core.chat import Chat, Message, Role
from coevo.envs.core.errors import DataError

WEIGHTS = (".safetensors", ".bin", ".gguf", ".zip", ".pt", ".pth", ".npz")
DESCRIBES_NO_TEXT = ("config.json", "generation_config.json", "adapter_config.json", "base.json")
"""Files of a model folder that no tokenizer reads."""
CPU_SECONDS = 30
"""Of the trial, once everything is imported."""
SECONDS = 600
"""Of the trial by the clock."""
MEMORY = 3 * 2**30
"""Bytes that the trial may take beside what is imported."""
LONGEST_PROMPT = 100_000
"""Tokens of a chat of the trial; its messages have fewer than 5,000 characters."""
GROWTH = 16
"""Tokens of a byte of text, at most."""
IMPORTED = "from coevo.agents.models import trial"
"""What the process of the trial imports first."""
TURNS = (1, 2, 3, 8, 33)
SAMPLES = (
    "a" * 3000,
    "1 " * 1500,
    " \n\t" * 1000,
    "aA1!\u00e9\u6f22\U0001f600" * 400,
    "ab" * 1500 + "!",
)
"""Texts on which poor expressions take long."""


def check(folder: Path, source: str) -> None:
    """Try the tokenizer and the chat template of a folder, unless their files are known.

    Raises:
        DataError: they exceed a limit. What else is wrong is said when they are loaded.
    """
    digest = _digest(folder)
    if not digest or _known(digest).exists():
        return
    words = [sys.executable, "-P", "-c", f"{IMPORTED}; trial.main()", str(folder)]
    more = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": ""}
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **more},
            timeout=3 * SECONDS,  # the system ends it before, except where that has no limits
        )
    except subprocess.TimeoutExpired:
        raise DataError(_refusal(source, f"do not end within {3 * SECONDS} s")) from None
    if why := _limit(done.returncode, done.stdout.decode(errors="replace")):
        raise DataError(_refusal(source, why))
    remember(folder)


def remember(folder: Path) -> None:
    """Note that the tokenizer of a folder is known to end: it passed, or was written here."""
    digest = _digest(folder)
    with contextlib.suppress(OSError):  # without a cache it is tried again
        if digest:
            _known(digest).parent.mkdir(parents=True, exist_ok=True)
            _known(digest).touch()


def _refusal(source: str, why: str) -> str:
    return f"the tokenizer and chat template of {source!r} {why}; it is not loaded"


def _limit(status: int, said: str) -> str:
    """Return which limit the trial met; empty for none."""
    if status in (-getattr(signal, "SIGXCPU", 0), -getattr(signal, "SIGALRM", 0)) and status:
        return f"do not end within {CPU_SECONDS} s"
    if status < 0:
        return f"end the process that tries them (signal {-status}; it may take {MEMORY >> 30} GiB)"
    return said.strip()


def _known(digest: str) -> Path:
    return cache_folder() / "tokenizers_tried" / digest


def _digest(folder: Path) -> str:
    """Return a digest of everything that a tokenizer is made from; empty where there is nothing.

    Raises:
        DataError: something in the folder is neither a file nor a folder; opening it might wait.
    """
    found, any_file = hashlib.sha256(), False
    for path in sorted(_described(folder)):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        found.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
        any_file = True
    return found.hexdigest()[:32] if any_file else ""


def _described(folder: Path) -> Iterator[Path]:
    for path in [*folder.glob("*"), *folder.glob("additional_chat_templates/*")]:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise DataError(f"{path} is neither a file nor a folder")
        if path.is_file() and path.suffix not in WEIGHTS and path.name not in DESCRIBES_NO_TEXT:
            yield path


# ---- In the process of the trial -----------------------------------------------------------------


def main() -> None:
    """Try a folder, and print which limit it exceeds."""
    from transformers import AutoTokenizer

    from coevo.agents.models.chat_tokens import ChatTokens

    _limit_this_process()
    said = ""
    try:
        tokens = ChatTokens(AutoTokenizer.from_pretrained(sys.argv[1], local_files_only=True))
        longest = max(len(tokens.prompt(_chat(n))) for n in TURNS)
        if longest > LONGEST_PROMPT:
            said = f"make {longest} tokens of a chat of {max(TURNS)} short messages"
        for text in SAMPLES:
            if (size := len(tokens.begun(text))) > GROWTH * len(text.encode()):
                said = f"make {size} tokens of {len(text.encode())} bytes"
    except MemoryError:
        said = f"need more than the {MEMORY >> 30} GiB that they may take"
    except Exception:  # said again, and better, when the model is loaded
        pass
    sys.stdout.write(said)
    sys.stdout.flush()
    os._exit(0)


def _limit_this_process() -> None:
    """Let the system end this process at its limits; what is imported does not count."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        signal.alarm(SECONDS)
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = int(used.ru_utime + used.ru_stime) + CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _chat(messages: int) -> Chat:
    """Return a chat that opens with a system message, where there is more than one."""
    roles: tuple[Role, Role] = ("user", "assistant")
    said = [Message(role=roles[i % 2], content=f"[check] {i} " * 8) for i in range(messages)]
    return tuple(said) if messages < 2 else (Message(role="system", content="Rules."), *said)
