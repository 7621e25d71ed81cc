"""Models of the Hub where the Hub is not."""

import urllib.error
import urllib.request

import pytest

from coevo.agents.load import load_agent
from coevo.agents.models import base_model as hub
from coevo.envs.core.errors import DataError


@pytest.fixture(autouse=True)
def online(monkeypatch):
    monkeypatch.setattr(hub.constants, "is_offline_mode", lambda: False)


def test_a_hub_that_cannot_be_asked_is_one_line(monkeypatch, capfd):
    asked = []

    def nobody(request, timeout):
        asked.append((request.full_url, timeout))
        raise urllib.error.URLError("no such host")

    monkeypatch.setattr(urllib.request, "urlopen", nobody)
    with pytest.raises(DataError) as caught:
        load_agent("nobody/nothing")
    assert str(caught.value) == (
        "cannot load a causal language model from 'nobody/nothing': the Hub does not answer within "
        "10 s, and it is not in the cache"
    )
    assert asked == [(hub.constants.ENDPOINT, 10)] and capfd.readouterr().err == ""


def test_a_hub_that_refuses_answers(monkeypatch):
    def refused(request, timeout):
        raise urllib.error.HTTPError(request.full_url, 403, "no", {}, None)

    monkeypatch.setattr(urllib.request, "urlopen", refused)
    assert hub.hub_answers()
