from dataclasses import replace

import pytest
import torch

from coevo.agents.engines.logit_processors import GuidedChoice
from coevo.agents.engines.scoring import Span
from coevo.agents.population import Separate
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.config import assign, plain
from coevo.envs.core.errors import CoevoError, ConfigError, DataError, UnknownNameError
from coevo.trainers import loop
from coevo.trainers.algorithms import ALGORITHMS
from coevo.trainers.build import build
from coevo.trainers.config import Environment, TrainConfig, config_text, load_config
from coevo.trainers.run import start
from coevo.trainers.run_folder import RunFolder
from tests.trainers.conftest import GUIDED


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_a_configuration_repeats_itself_from_its_file(config, tmp_path, name):
    given = config(
        name, budget_seconds=1.5, env_options={"prompt_style": "full", "illegal": "textarena"}
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


# ---- Sampling of their own ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "title"), [(1, "a"), (4, "a, b, c, d"), (5, "a, b, c and 2 others")]
)
def test_of_many_environments_a_line_names_three(config, count, title):
    many = replace(config(), env={name: Environment() for name in "abcdefg"[:count]})
    assert many.env_title == title


def test_a_parameter_set_draws_and_is_scored_by_its_own_temperature(config, tmp_path):
    given = config(
        "reinforce",
        {"population": Separate()},
        sampling_of={"player_1": {"temperature": 0.4}},
    )
    assert given.sampling_for("player_1") == replace(GUIDED, temperature=0.4)
    run = start(given, RunFolder(tmp_path))
    episodes = run.collector.collect(0).episodes
    batch = build(episodes, range(len(episodes)), run.learners)
    for name, heat, other in (("player_0", 1.0, 0.4), ("player_1", 0.4, 1.0)):
        rows, _ = batch.written_by(name)
        logp = run.learners[name].passes.logp(rows)[rows.mask_CL]
        drawn = rows.logp_behaviour_CL[rows.mask_CL]
        assert torch.allclose(logp, drawn.to(logp), atol=1e-4)
        turn = next(t for e in episodes for t in e.turns if t.player == name)
        ids, at = (*turn.prompt_ids, *turn.token_ids), len(turn.prompt_ids)
        weights = run.learners[name].agent.weights
        for temperature, agrees in ((heat, True), (other, False)):
            sampling, span = SamplingConfig(temperature=temperature), Span(ids, (at,), (len(ids),))
            places = span.places([tuple(map(tuple, turn.choices))])
            scored = weights.score([span], sampling)
            found = replace(scored, processors=(GuidedChoice(),), places=places).logp_N()
            assert torch.allclose(found, torch.tensor(turn.logprobs), atol=1e-4) is agrees


def test_a_frozen_member_may_draw_from_a_filtered_distribution(config, tmp_path):
    changes = {"population": {"name": "frozen_opponent"}}
    given = config("reinforce", changes, sampling_of={"frozen": {"top_k": 1}}, steps=1)
    folder = RunFolder(tmp_path)
    folder.create(given)
    run = loop.train(given, folder)
    turns = [t for e in run.collector.collect(1).episodes for t in e.turns]
    frozen = [sum(t.logprobs) for t in turns if t.player == "frozen"]
    assert frozen and set(frozen) == {0.0}  # the one token that is left is certain
    assert any(sum(t.logprobs) < 0 for t in turns if t.player == "policy")
    assert folder.config() == given


@pytest.mark.parametrize("given", ["top_p=0.9", "top_k=5", "min_p=0.1", "repetition_penalty=1.1"])
@pytest.mark.parametrize("everybody", [True, False])
def test_filters_are_refused_for_what_learns(config, tmp_path, given, everybody):
    name, value = given.split("=")
    path = f"sampling.{name}" if everybody else f"sampling_of.policy.{name}"
    wrong = assign(config("reinforce"), {path: int(value) if name == "top_k" else float(value)})
    with pytest.raises(ConfigError) as caught:
        start(wrong, RunFolder(tmp_path))
    assert f"{given}, but policy learns: importance ratios would divide" in str(caught.value)
    assert "\n" not in str(caught.value)
    start(
        assign(
            wrong, {f"sampling_of.policy.{name}": SamplingConfig.__dataclass_fields__[name].default}
        ),
        RunFolder(tmp_path),
    )


@pytest.mark.parametrize(
    ("population", "own", "words"),
    [
        ({"name": "shared"}, {"polcy": {}}, "unknown policy in sampling_of 'polcy'; did you mean"),
        ({"name": "shared"}, {"player_0": {}}, "all of them as sampling_of.policy"),
        (
            {"name": "separate", "agents": {"player_1": "random"}},
            {"random": {"top_k": 2}},
            "sampling_of.random: random is no policy of this run",
        ),
    ],
)
def test_sampling_of_what_draws_no_tokens_of_its_own_is_refused(
    config, tmp_path, population, own, words
):
    given = config("reinforce", {"population": population}, sampling_of=own)
    with pytest.raises(CoevoError) as caught:
        start(given, RunFolder(tmp_path))
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"a": {"topp": 1}}, "unknown setting of sampling_of.a 'topp'; did you mean 'top_p'"),
        ({"a": {"top_p": 2}}, r"sampling_of.a.top_p=2 must be less than or equal to 1"),
    ],
)
def test_wrong_sampling_of_a_parameter_set_is_refused(config, own, words):
    with pytest.raises(ConfigError, match=words):
        config(sampling_of=own)
