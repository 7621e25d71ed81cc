"""MiniLM from its package: weights of another checksum are not read, and the extra is named."""

import sys
from types import SimpleNamespace

import pytest

from coevo.envs.core.errors import DataError, MissingExtraError
from coevo.envs.search import minilm as source
from coevo.envs.search.corpus import Document
from coevo.envs.search.dense import Dense


def test_weights_of_another_checksum_are_not_read(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    package = SimpleNamespace(get_model_path=lambda: tmp_path)
    monkeypatch.setitem(sys.modules, source.PACKAGE, package)
    with pytest.raises(DataError, match=r"SHA-256 [0-9a-f]{12}"):
        source.minilm()


def test_without_its_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, source.PACKAGE, None)
    with pytest.raises(MissingExtraError, match=r"\[dense\]"):
        Dense(path="minilm").make([Document("1", "", "a")], 1)


def test_the_package_holds_the_published_weights_and_finds_by_meaning():
    pytest.importorskip(source.PACKAGE)
    pytest.importorskip("transformers")
    texts = ("The cat sleeps on a warm roof.", "Shares fell after the bank's report.")
    documents = [Document(str(i), "", text) for i, text in enumerate(texts)]
    found = Dense(path="minilm").make(documents, 1).search(["a kitten naps", "stock market"])
    assert [hits[0].id for hits in found] == ["0", "1"]
