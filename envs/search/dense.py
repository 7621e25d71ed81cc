"""Finding passages by vectors of a Hugging Face encoder, with exact inner products.

The vectors of a corpus are kept in a folder, under a hash of its texts, of the model's files and of
the settings: whatever changes, they are computed anew. Equal texts have equal vectors, and scores
are rounded, so that equal ones are ordered by id on every machine.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError, missing_extra
from coevo.envs.search.corpus import Document
from coevo.envs.search.minilm import minilm
from coevo.envs.search.retrieval import Hit, LocalRetriever, best, in_order

FILES = ("*.safetensors", "*.json", "*.txt", "*.model")
"""Files of a model that its vectors depend on; weights in other forms are not read."""
MINILM = "minilm"
DECIMALS = 5
"""Of a score."""


@config
class Dense:
    """Vectors of an encoder; MiniLM takes no prefixes, E5 `query: ` and `passage: `."""

    name: Literal["dense"] = "dense"
    path: str
    """Folder of an encoder that transformers reads, with its weights as safetensors; or `minilm`,
    which the extra `dense` installs."""
    prefix_query: str = ""
    prefix_passage: str = ""
    pooling: Literal["mean", "first"] = "mean"
    """Mean over tokens, or the first token."""
    normalise: bool = True
    """Whether vectors have length 1."""
    batch: Annotated[int, whole(1)] = 32
    """Texts that are encoded at once."""
    longest: Annotated[int, whole(1)] = 256
    """Tokens of a text that are read."""
    vectors: str = ""
    """Folder where the vectors of the corpus are kept; empty keeps them in memory."""

    def make(self, documents: Sequence[Document], k: int) -> DenseRetriever:
        """Encode the corpus, or read its vectors."""
        return DenseRetriever(self, documents, k)


class DenseRetriever(LocalRetriever):
    """Exact search by inner product.

    Args:
        config: the encoder and how it is used.
        documents: the corpus; ids must be unique.
        k: hits per query.
    """

    def __init__(self, config: Dense, documents: Sequence[Document], k: int = 3) -> None:
        super().__init__(k)
        self._documents, self._encoder = in_order(documents), Encoder(config)
        self._vectors_DW = self._kept(config)

    def find(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        vectors_QW = self._encoder.encode([self._encoder.config.prefix_query + q for q in queries])
        scores_QD = np.round(vectors_QW @ self._vectors_DW.T, DECIMALS)
        return [best(self._documents, scores_D, k) for scores_D in scores_QD]

    def _kept(self, config: Dense) -> np.ndarray:
        """Return the vectors of the corpus, from their file where it holds these."""
        texts = [config.prefix_passage + d.contents for d in self._documents]
        if not config.vectors:
            return self._encoder.encode(texts)
        file = Path(config.vectors) / f"{self._encoder.fingerprint(texts)}.npy"
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            part = file.with_suffix(".part.npy")
            np.save(part, self._encoder.encode(texts), allow_pickle=False)
            part.replace(file)
        return np.load(file, allow_pickle=False)


class Encoder:
    """A model that makes vectors of texts."""

    def __init__(self, config: Dense) -> None:
        self.config = config
        self._folder = minilm() if config.path == MINILM else Path(config.path).expanduser()
        if not (self._folder / "config.json").is_file():
            raise ConfigError(
                f"no encoder in {config.path!r}: it must be {MINILM!r}, or a folder with "
                "config.json, a tokenizer and weights as safetensors"
            )
        try:
            self._torch = importlib.import_module("torch")
            transformers = importlib.import_module("transformers")
        except ImportError as error:
            raise missing_extra(error.name or "transformers", "train") from None
        safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder, **safe)
        model = transformers.AutoModel.from_pretrained(self._folder, use_safetensors=True, **safe)
        self._model = model.float().eval()

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return a vector per text."""
        size = self.config.batch
        order = sorted(set(texts), key=lambda text: (len(text), text))  # little padding
        parts = [order[i : i + size] for i in range(0, len(order), size)]
        found = np.concatenate([self._batch(part) for part in parts])
        place = {text: i for i, text in enumerate(order)}
        return found[[place[text] for text in texts]]

    def _batch(self, texts: Sequence[str]) -> np.ndarray:
        torch, config = self._torch, self.config
        given = self._tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=config.longest,
            return_tensors="pt",
        )
        with torch.inference_mode():
            hidden_BTW = self._model(**given).last_hidden_state
        if config.pooling == "first":
            vectors_BW = hidden_BTW[:, 0]
        else:
            mask_BT1 = given["attention_mask"].unsqueeze(-1)
            vectors_BW = (hidden_BTW * mask_BT1).sum(1) / mask_BT1.sum(1).clamp(min=1)
        if config.normalise:
            vectors_BW = torch.nn.functional.normalize(vectors_BW, dim=-1)
        return vectors_BW.numpy()

    def fingerprint(self, texts: Sequence[str]) -> str:
        """Return a hash of all that the vectors of some texts depend on."""
        c = self.config
        settings = [c.pooling, c.normalise, c.longest, _digest(self._folder)]
        return hashlib.sha256(json.dumps([settings, list(texts)]).encode()).hexdigest()[:32]


def _digest(folder: Path) -> str:
    """Return a hash of a model's files."""
    found = hashlib.sha256()
    for file in sorted({f for pattern in FILES for f in folder.glob(pattern)}):
        with file.open("rb") as opened:
            found.update(
                f"{file.name}:{hashlib.file_digest(opened, 'sha256').hexdigest()}".encode()
            )
    return found.hexdigest()
