"""The table of environments."""

import importlib

import gymnasium
import pettingzoo
import pytest

import coevo.envs
from coevo.envs.core import registry
from coevo.envs.core.errors import ConfigError, MissingExtraError, UnknownNameError
from coevo.envs.core.registry import ENVS, EnvSpec

KUHN = "coevo/kuhn_poker-v0"


@pytest.fixture
def scratch(monkeypatch):
    """Register into copies, so that no other test sees what one registers."""
    monkeypatch.setattr(registry, "ENVS", dict(ENVS))
    for library in ("pettingzoo", "gymnasium"):
        monkeypatch.setattr(f"{library}.register", lambda *args, **kwargs: None)
    return registry


def test_every_environment_is_listed_once_in_order():
    ids = [spec.id for spec in coevo.envs.list_envs()]
    assert ids == sorted(set(ids))
    assert KUHN in ids
    assert all(isinstance(spec, EnvSpec) for spec in coevo.envs.list_envs())
    assert coevo.envs.spec(KUHN) is ENVS[KUHN]


@pytest.mark.parametrize("id", sorted(ENVS))
def test_both_libraries_know_every_environment(id):
    assert gymnasium.spec(id).id == id
    assert gymnasium.spec(id).kwargs == {"env_id": id}
    assert isinstance(gymnasium.spec(id).to_json(), str)
    try:
        assert isinstance(pettingzoo.make("aec", id), pettingzoo.AECEnv)
    except MissingExtraError as error:
        pytest.skip(str(error))
    if coevo.envs.spec(id).simultaneous:
        assert isinstance(pettingzoo.make("parallel", id), pettingzoo.ParallelEnv)


def test_a_second_registration_names_the_first():
    with pytest.raises(ConfigError, match=r"registered already, from coevo\.envs\.games\.kuhn"):
        coevo.envs.register(KUHN, "elsewhere", "again", kind="mixed")
    assert coevo.envs.spec(KUHN).module == "coevo.envs.games.kuhn_poker"


@pytest.mark.parametrize(
    "id",
    ["coevo/kuhn", "kuhn-v0", "coevo/Kuhn-v0", "coevo/kuhn-v", "a/b/c-v0", "", "coevo/kuhn-v0 "],
)
def test_ids_have_one_form(scratch, id):
    with pytest.raises(ConfigError, match="must be spelled like"):
        scratch.register(id, "elsewhere", "a task", kind="mixed")
    assert scratch.ENVS == ENVS


def test_registering_keeps_every_field(scratch):
    made = scratch.register(
        "coevo/new-v3", "m", "s", kind="mixed", simultaneous=True, seats=4, refs={"random": 0.5}
    )
    assert scratch.spec("coevo/new-v3") is made
    assert (made.module, made.summary, made.seats, made.refs) == ("m", "s", 4, {"random": 0.5})


@pytest.mark.parametrize("id", ["coevo/kuhn_poker", "kuhn_poker-v0", "coevo/kuhn_poker-v1", "kuhn"])
def test_an_unknown_id_lists_the_near_ones(id):
    for look_up in (coevo.envs.spec, coevo.envs.make):
        with pytest.raises(
            UnknownNameError, match=f"unknown environment '{id}'; did you mean.*'{KUHN}'"
        ):
            look_up(id)


def test_an_unknown_argument_lists_those_taken_the_near_ones_first():
    with pytest.raises(ConfigError) as caught:
        coevo.envs.make(KUHN, max_cycle=3)
    message = str(caught.value)
    assert message.startswith(
        f"{KUHN} takes no argument 'max_cycle'; did you mean 'max_cycles'? It takes: max_cycles, "
    )
    for name in ("prompt_style", "illegal", "rewards", "render_mode"):
        assert name in message


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({"prompt_style": "short"}, "prompt_style='short'"),
        ({"max_cycles": 0}, "max_cycles=0"),
        ({"render_mode": "rgb"}, "render_mode='rgb'"),
        ({"rewards": [3]}, "reward module 3 must be a name, or a mapping with one"),
    ],
)
def test_bad_values_say_what_is_expected(kwargs, expected):
    with pytest.raises(ConfigError, match=expected):
        coevo.envs.make(KUHN, **kwargs)


def test_a_fault_inside_an_environment_is_not_hidden(monkeypatch):
    from coevo.envs.core.factories import turn_based
    from coevo.envs.games import kuhn_poker

    class Faulty(kuhn_poker.KuhnPoker):
        def __init__(self, config):
            super().__init__(config)
            raise TypeError("a bug of the environment")

    monkeypatch.setattr(kuhn_poker, "raw_env", turn_based(Faulty)[0])
    with pytest.raises(TypeError, match="a bug of the environment"):
        coevo.envs.make(KUHN)


def test_an_action_that_is_no_text_is_refused():
    env = coevo.envs.make(KUHN)
    env.reset(seed=0)
    with pytest.raises(ConfigError, match="an action is a str, given int: 3"):
        env.step(3)
    assert env.episode.turns == []


def test_rendering_needs_a_mode():
    env = coevo.envs.make(KUHN)
    env.reset(seed=0)
    with pytest.raises(ConfigError, match="render needs render_mode"):
        env.render()


@pytest.mark.parametrize(
    ("id", "at_once", "in_turn"),
    [
        ("coevo/openspiel-v0", {"game": "goofspiel(num_cards=4)"}, {"game": "pig"}),
        ("coevo/trust_and_split-v0", {"messages": False}, {}),
    ],
)
def test_a_parallel_form_exists_where_the_arguments_make_moves_simultaneous(id, at_once, in_turn):
    parallel_env = importlib.import_module(coevo.envs.spec(id).module).parallel_env
    assert id not in pettingzoo.parallel_registry, "the default arguments have no such form"
    env = parallel_env(**at_once)
    env.reset(seed=0)
    while env.agents:
        legal = {a: env.unwrapped.task.legal(a)[0] for a in env.agents}
        env.step({a: f"[{move}]" for a, move in legal.items()})
    assert env.unwrapped.episode.stop == "finished"
    with pytest.raises(ConfigError, match="no parallel form with these arguments: seats take turn"):
        parallel_env(**in_turn)
