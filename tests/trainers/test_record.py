import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.errors import CoevoError, ConfigError, UnknownNameError
from coevo.trainers.algorithm import Algorithm, CriticSpec, OptimSpec, SamplerSpec
from coevo.trainers.algorithms import ALGORITHMS, algorithm
from coevo.trainers.estimators import Option, option
from coevo.trainers.record import assign, from_plain, parse_option, str_option, to_plain

RECORDS = [(name, None) for name in ALGORITHMS] + [
    (name, variant) for name, record in ALGORITHMS.items() for variant in record.variants
]


@pytest.mark.parametrize(("name", "variant"), RECORDS)
def test_every_record_survives_being_written(name, variant):
    record = algorithm(name, variant)
    back = from_plain(Algorithm, to_plain(record))
    assert to_plain(back) == to_plain(record)
    for slot in ("advantage", "loss", "optim", "sampler", "population", "magnet", "critic"):
        assert getattr(back, slot) == getattr(record, slot)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False),
    st.text(max_size=12),
    st.sampled_from(["true", "1e5", "a,b", "k=v", '"', "it's", "x) y", "[a, b]", " pad ", "null"]),
)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), scalars, max_size=3))
def test_every_option_survives_being_written(params):
    written = Option("some.name-1", params)
    back = parse_option(str_option(written))
    assert back == written
    assert [type(v) for v in back.params.values()] == [type(v) for v in written.params.values()]


@pytest.mark.parametrize("text", ["", "a b", "f(x", "f(x=1) y", "f(3)", "=1"])
def test_what_is_no_option_is_refused(text):
    with pytest.raises(ConfigError):
        parse_option(text)


BASE = Algorithm(name="some", summary="", paper="", formula="", sampler=SamplerSpec(group_size=2))


def test_fields_change_by_dotted_name():
    changed = assign(
        BASE,
        {
            "optim.lr": 0.5,
            "advantage.credit": "to_go(level=turn)",
            "advantage.credit.gamma": 0.9,
            "advantage.reward_weights.format": 0.25,
            "loss.regularise": "entropy(coef=0.1); kl",
            "loss.regularise.kl.kind": "k3",
            "average": 0.5,
        },
    )
    assert changed.optim.lr == 0.5 and changed.average == 0.5
    assert changed.advantage.credit == option("to_go", level="turn", gamma=0.9)
    assert changed.advantage.reward_weights == {"format": 0.25}
    assert changed.loss.regularise == (option("entropy", coef=0.1), option("kl", kind="k3"))
    assert BASE.optim == OptimSpec()


def test_list_entries_are_added_changed_and_removed():
    one = assign(BASE, {"rewards.format.legal": 0.2})
    assert one.rewards == (option("format", legal=0.2),)
    two = assign(one, {"rewards.format.otherwise": -1.0, "rewards.length.weight": 0.1})
    assert [r.name for r in two.rewards] == ["format", "length"]
    assert two.rewards[0].params == {"legal": 0.2, "otherwise": -1.0}
    assert assign(two, {"rewards": "none"}).rewards == ()
    assert assign(two, {"rewards": ["format"]}).rewards == (option("format"),)


def test_two_changes_that_belong_together_come_in_any_order():
    changes = [("magnet", "ema"), ("loss.regularise", "magnet(coef=0.2)")]
    for order in (changes, changes[::-1]):
        assert assign(BASE, dict(order)).magnet.name == "ema"
    with pytest.raises(ConfigError, match="contradict each other"):
        assign(BASE, {"magnet": "ema"})


def test_an_optional_record_is_made_by_its_first_field_and_unmade_by_none():
    changes = {"advantage.credit": "gae", "critic.lr": 0.1}
    record = assign(BASE, changes)
    assert record.critic == CriticSpec(lr=0.1)
    assert assign(record, {"critic": None, "advantage.credit": "outcome"}).critic is None


@pytest.mark.parametrize(
    ("path", "value", "hint"),
    [
        ("optm.lr", 1, "did you mean 'optim'"),
        ("optim.epoch", 1, "did you mean 'epochs'"),
        ("advantage.credit", "gea", "did you mean 'gae'"),
        ("advantage.credit.gamma", 0.9, "no parameter 'gamma'"),
        ("loss.regularise.entropi", 1, "unknown entry of loss.regularise 'entropi'"),
        ("optim.lr", "fast", "must be a number"),
        ("optim.lr", True, "optim.lr=True"),
        ("optim.epochs", 1.5, "must be of type int"),
        ("optim.lr.peak", 1, "single value"),
        ("optim", 3, "must be a mapping"),
        ("advantage.credit", 3, "is not an option"),
        ("loss.regularise", 3, "must be a list"),
        ("population", "pool(evry=3)", "did you mean 'every'"),
        ("rewards", "formt", "did you mean 'format'"),
        ("advantage.reward_weights.format", "much", "must be a number"),
        ("optim.schedule", "quadratic", "constant, linear or cosine"),
        ("sampler.episodes", 0, "positive multiple"),
        ("average", 1.0, "below 1"),
    ],
)
def test_a_wrong_change_is_one_clear_line(path, value, hint):
    with pytest.raises(CoevoError, match=r".*") as caught:
        assign(BASE, {path: value})
    assert hint in str(caught.value) and "\n" not in str(caught.value)


def test_missing_and_unknown_settings_are_named():
    with pytest.raises(ConfigError, match=r"Algorithm: .*formula"):
        from_plain(Algorithm, {"name": "a", "summary": "", "paper": ""})
    with pytest.raises(UnknownNameError, match="did you mean 'summary'"):
        from_plain(Algorithm, {"sumary": ""})


def test_algorithms_and_variants_are_found_by_name():
    with pytest.raises(UnknownNameError, match="did you mean 'mars'"):
        algorithm("marz")
    with pytest.raises(UnknownNameError, match="variant of mars"):
        algorithm("mars", "cod")
    assert algorithm("mars", changes={"sampler.episodes": 2}).sampler.episodes == 2
    assert all(name == record.name for name, record in ALGORITHMS.items())
