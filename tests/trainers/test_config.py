import pytest

from coevo.envs.core.config import assign, plain
from coevo.envs.core.errors import ConfigError, DataError, UnknownNameError
from coevo.trainers.algorithms import ALGORITHMS
from coevo.trainers.config import TrainConfig, config_text, load_config


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_a_configuration_repeats_itself_from_its_file(config, tmp_path, name):
    given = config(
        name, budget_seconds=1.5, env_options={"prompt_style": "full", "illegal": "mask"}
    )
    (tmp_path / "config.yaml").write_text(config_text(given), encoding="utf-8")
    back = load_config(tmp_path / "config.yaml")
    assert plain(back) == plain(given)
    assert (back.sampling, back.steps, back.env_options) == (
        given.sampling,
        given.steps,
        given.env_options,
    )
    assert config_text(back) == config_text(given)


def test_settings_change_by_dotted_name(config):
    changed = assign(config(), {"algorithm.optim.lr": 0.1, "sampling.temperature": 0.5, "seed": 3})
    assert changed.algorithm.optim.lr == 0.1 and changed.sampling.temperature == 0.5
    assert assign(config(), {"env_options.illegal": "forfeit"}).env_options["illegal"] == "forfeit"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": None}, "needs an end"),
        ({"steps": 0}, "steps=0"),
        ({"budget_seconds": -1.0}, "budget_seconds=-1"),
        ({"keep_checkpoints": 0}, "keep_checkpoints=0"),
        ({"seed": -1}, "seed=-1 must be greater than or equal to 0"),
        ({"episodes_logged": -1}, "episodes_logged=-1"),
    ],
)
def test_settings_without_meaning_are_refused(config, settings, message):
    with pytest.raises(ConfigError, match=message):
        config(**settings)


def test_broken_files_are_one_clear_line(tmp_path):
    path = tmp_path / "config.yaml"
    with pytest.raises(DataError, match="cannot read"):
        load_config(path)
    for text in ("{", "a: [1\nb: 2", "\tx: 1"):
        path.write_text(text)
        with pytest.raises(DataError, match="is not YAML") as caught:
            load_config(path)
        assert "\n" not in str(caught.value)
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(DataError, match="is not YAML"):
        load_config(path)
    path.write_text("")
    with pytest.raises(ConfigError, match="must be a mapping"):
        load_config(path)
    path.write_text("algoritm: {}")
    with pytest.raises(UnknownNameError, match="did you mean 'algorithm'"):
        load_config(path)


def test_a_configuration_says_everything(config):
    fields = set(TrainConfig.__dataclass_fields__)
    assert fields == set(plain(config()))
