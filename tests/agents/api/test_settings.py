"""Settings: what they check, and how environment and file set them."""

import json

import pytest

from coevo.agents.api.settings import OPENAI_URL, ApiSettings, settings_for
from coevo.envs.core.errors import CoevoError, ConfigError


def test_the_defaults_are_openais():
    settings = settings_for("gpt", {"HOME": "/h", "XDG_CACHE_HOME": "/c"})
    assert settings.base_url == OPENAI_URL
    assert str(settings.cache) == "/c/coevo/api"
    assert settings == ApiSettings(model="gpt", cache=settings.cache)


def test_later_sources_win(tmp_path):
    file = tmp_path / "api.yaml"
    file.write_text(
        "cost_limit: 2\nprice_in: 1\nprice_out: 4\ntimeout: 9\ncache: none\n"
        "models:\n"
        "  big/one: {price_out: 8, base_url: 'http://big:1/v1', extra_body: {effort: low}}\n"
    )
    environ = {
        "OPENAI_BASE_URL": "http://small:2/v1",
        "COEVO_API_SETTINGS": str(file),
        "COEVO_API_TIMEOUT": "3.5",
    }
    big, small = settings_for("big/one", environ), settings_for("small", environ)
    assert (big.base_url, big.price_out, big.extra_body) == (
        "http://big:1/v1",
        8,
        {"effort": "low"},
    )
    assert (small.base_url, small.price_out, small.extra_body) == ("http://small:2/v1", 4, {})
    assert big.timeout == small.timeout == 3.5
    assert big.cost_limit == small.cost_limit == 2 and big.cache is small.cache is None


def test_a_json_file_does_as_well(tmp_path):
    file = tmp_path / "api.json"
    file.write_text(json.dumps({"token_limit": 1000, "send_seed": True}))
    settings = settings_for("m", {"COEVO_API_SETTINGS": str(file)})
    assert settings.token_limit == 1000 and settings.send_seed is True


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("TOKEN_LIMIT", "1e6", 1_000_000),
        ("TOKEN_LIMIT", "", None),
        ("CONCURRENCY", "2", 2),
        ("COST_LIMIT", "none", None),
        ("TEMPERATURE", "0", 0.0),
        ("SEND_SEED", "yes", True),
        ("SEND_SEED", "0", False),
        ("EXTRA_BODY", '{"reasoning_effort": "low"}', {"reasoning_effort": "low"}),
        ("KEY_VARIABLE", "MY_KEY", "MY_KEY"),
        ("BASE_URL", "http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_variables_are_read_as_their_fields_want_them(name, text, value):
    settings = settings_for("m", {f"COEVO_API_{name}": text})
    assert getattr(settings, name.lower()) == value


@pytest.mark.parametrize(
    ("environ", "hint"),
    [
        ({"COEVO_API_COST_LIMT": "5"}, "did you mean 'cost_limit'"),
        ({"COEVO_API_CONCURRENCY": "many"}, "concurrency='many' must be a valid integer"),
        ({"COEVO_API_CONCURRENCY": "1.5"}, "concurrency=1.5 must be a valid integer"),
        ({"COEVO_API_CONCURRENCY": "inf"}, "concurrency="),
        ({"COEVO_API_CONCURRENCY": "none"}, "concurrency=None must be"),
        ({"COEVO_API_TIMEOUT": "soon"}, "timeout='soon' must be a valid number"),
        ({"COEVO_API_SEND_SEED": "maybe"}, "send_seed='maybe' must be a valid boolean"),
        ({"COEVO_API_EXTRA_BODY": "[1]"}, "must be a valid"),
        ({"COEVO_API_EXTRA_BODY": "{"}, "COEVO_API_EXTRA_BODY: '{' is not YAML"),
        ({"COEVO_API_SETTINGS": "/no/such/file.yaml"}, "COEVO_API_SETTINGS=/no/such"),
        ({"OPENAI_BASE_URL": "localhost:8000"}, "must be an http or https address"),
        ({"COEVO_API_COST_LIMIT": "5"}, "cost_limit=5.0 needs price_in and price_out"),
        ({"COEVO_API_TOKEN_LIMIT": "5", "COEVO_API_MAX_TOKENS": "none"}, "needs max_tokens"),
    ],
)
def test_wrong_values_are_one_line(environ, hint):
    with pytest.raises(CoevoError) as caught:
        settings_for("m", environ)
    assert hint in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[1]", "a mapping of settings"),
        ("a: [", "line 1, column 5"),
        ("models: 3", "`models` a mapping"),
        ("models: {m: 3}", "`models` a mapping of such mappings"),
        ("cost_limt: 3", "did you mean 'cost_limit'"),
        ("timeout: soon", "timeout='soon' must be a valid number"),
        ("timeout: true", "timeout=True must be a number"),
        ("key_variable: 3", "key_variable=3 must be a valid string"),
        ("model: x", "model is no setting"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, text, hint):
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(CoevoError) as caught:
        settings_for("m", {"COEVO_API_SETTINGS": str(tmp_path / "s.yaml")})
    assert hint in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"model": ""}, "openai:NAME"),
        ({"temperature": -1.0}, "temperature=-1.0 must be greater than or equal to 0"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"concurrency": 0}, "concurrency=0 must be greater than or equal to 1"),
        ({"length_field": "max"}, "'max_tokens' or 'max_completion_tokens'"),
        ({"base_url": "ftp://x/"}, "http or https"),
        ({"base_url": "http://x\0y/v1"}, "http or https"),
        ({"base_url": "http://x y/v1"}, "http or https"),
        ({"base_url": "http://x:99999/"}, "http or https"),
        ({"base_url": "http://me:secret@x/"}, "without user, password or query"),
        ({"extra_body": {"messages": []}}, "extra_body sets 'messages'"),
        ({"extra_body": {"max_tokens": 3}}, "extra_body sets 'max_tokens'"),
    ],
)
def test_values_without_meaning_are_refused(fields, hint):
    with pytest.raises(ConfigError) as caught:
        ApiSettings(**({"model": "m"} | fields))
    assert hint in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({}, "max_completion_tokens"),
        ({"base_url": "http://localhost:8000/v1"}, "max_tokens"),
        (
            {"base_url": "http://x/v1", "length_field": "max_completion_tokens"},
            "max_completion_tokens",
        ),
    ],
)
def test_the_length_has_the_name_that_the_server_knows(settings, field):
    assert ApiSettings(model="m", max_tokens=7, **settings).fields(seed=5) == {field: 7}


def test_what_is_left_to_the_server_is_not_sent():
    assert ApiSettings(model="m", max_tokens=None).fields(seed=5) == {}
