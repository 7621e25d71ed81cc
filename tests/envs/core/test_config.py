from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, field, replace
from typing import Annotated, Any, Literal

import pytest

from coevo.envs.core.config import assign, changed, choice, config, parse, plain, read, real, whole
from coevo.envs.core.errors import CoevoError, ConfigError


@config
class Gae:
    name: Literal["gae"] = "gae"
    lam: Annotated[float, real(0, 1)] = 1.0
    turns: Annotated[int, whole(1, 10)] = 3
    level: Literal["turn", "token"] = "turn"


@config
class Outcome:
    name: Literal["outcome"] = "outcome"


@config
class Kl:
    name: Literal["kl"] = "kl"
    coef: Annotated[float, real(above=0)] = 0.1


@config
class Algorithm:
    credit: Annotated[Gae | Outcome, choice()] = field(default_factory=Gae)
    terms: tuple[Annotated[Kl | Gae, choice()], ...] = ()
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pull: Kl | None = None

    def __post_init__(self) -> None:
        if self.pull and self.pull.coef > 5:
            raise ConfigError("pull.coef is too large")


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Gae(lam=2), "Gae.lam=2 must be less than or equal to 1"),
        (lambda: Gae(lam=float("nan")), "Gae.lam=nan must be a finite number"),
        (lambda: Gae(lam=True), "Gae.lam=True must be a number"),
        (lambda: Gae(lam="0.5"), "Gae.lam='0.5' must be a valid number"),
        (lambda: Gae(turns=2.5), "Gae.turns=2.5 must be a valid integer"),
        (lambda: Gae(turns=True), "Gae.turns=True must be a valid integer"),
        (lambda: Gae(level="seat"), "Gae.level='seat' must be 'turn' or 'token'"),
        (lambda: Gae(lamda=1), "did you mean 'lam'"),
        (lambda: read(Algorithm, {"credit": {"name": "gea"}}), "did you mean 'gae'"),
        (
            lambda: read(Algorithm, {"credit": {"name": "gae", "lamb": 1}}),
            "unknown setting of credit.gae 'lamb'; did you mean 'lam'",
        ),
        (lambda: read(Algorithm, {"credit": "gea"}), "unknown credit 'gea'; did you mean 'gae'"),
        (lambda: read(Algorithm, {"credit": 3}), "credit=3 must be a name, or a mapping with one"),
        (
            lambda: assign(Algorithm(), {"credit.name": "outcome"}),
            "replace the whole component: credit=outcome",
        ),
        (
            lambda: assign(Algorithm(), {"credit.name": "outcom"}),
            "unknown credit 'outcom'; did you mean 'outcome'",
        ),
        (
            lambda: read(Algorithm, {"kredit": {}}),
            "unknown setting 'kredit'; did you mean 'credit'",
        ),
        (lambda: read(Algorithm, 3), "the configuration=3 must be"),
        (lambda: read(Algorithm, {"pull": {"coef": 9}}), "pull.coef is too large"),
        (lambda: Algorithm(pull=Kl(coef=9)), "pull.coef is too large"),
        (lambda: assign(Algorithm(), {"credit.lam.x": 1}), "is a single value and has no 'x'"),
        (lambda: assign(Algorithm(), {"terms.kl.coef": 1}), "unknown entry of terms 'kl'"),
    ],
)
def test_what_does_not_fit_is_one_clear_line(build: Callable[[], Any], said: str) -> None:
    with pytest.raises(CoevoError) as caught:
        build()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_tree_and_an_object_are_the_same_configuration() -> None:
    made = Algorithm(credit=Outcome(), terms=(Kl(coef=0.5),), own={"x": {"lr": 3}})
    assert read(Algorithm, plain(made)) == made
    assert pickle.loads(pickle.dumps(made)) == made


def test_changes_go_by_dotted_name_or_replace_a_component() -> None:
    made = assign(
        Algorithm(terms=(Kl(),)),
        {"terms.kl.coef": 0.5, "credit": {"name": "outcome"}, "pull.coef": 2.0},
    )
    assert made == Algorithm(credit=Outcome(), terms=(Kl(coef=0.5),), pull=Kl(coef=2.0))


def test_a_bare_name_stands_for_a_component_with_its_defaults() -> None:
    assert read(Algorithm, {"credit": "outcome", "terms": ["kl"]}).terms == (Kl(),)
    assert assign(Algorithm(), {"credit": "outcome"}).credit == Outcome()
    assert assign(Algorithm(), {"credit": "gae", "credit.lam": 0.5}).credit == Gae(lam=0.5)


def test_only_what_differs_from_the_default_is_recorded() -> None:
    assert changed(Algorithm(pull=Kl())) == {"pull": {"name": "kl"}}
    assert changed(Gae(lam=0.5)) == {"name": "gae", "lam": 0.5}


def test_a_configuration_is_frozen_and_can_be_copied_with_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        Gae().lam = 0.5  # type: ignore[misc]
    assert replace(Gae(), lam=0.5) == Gae(lam=0.5)


def test_an_integer_is_a_number() -> None:
    assert Gae(lam=1).lam == 1.0


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 0.001), ("[1e-3, x]", [0.001, "x"]), ("true", True), ("1.2.3", "1.2.3")],
)
def test_text_is_yaml_with_numbers(text: str, value: Any) -> None:
    assert parse(text) == value
