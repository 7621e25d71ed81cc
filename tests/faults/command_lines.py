"""Command lines and configurations that are wrong, made from what commands and components declare.

Every one is a right command with one thing wrong in it, so each must be refused.
"""

import dataclasses
import types
import typing
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from coevo.commands.arguments import COMMANDS, POSITIONAL, Shown, flag
from coevo.envs.core.config import components
from coevo.envs.core.registry import ENVS
from coevo.envs.rewards import REWARDS
from coevo.trainers.algorithms import ALGORITHMS

KUHN = "coevo/kuhn_poker-v0"
RIGHT = {
    "envs": ["envs"],
    "algos": ["algos", "mars"],
    "train": ["train", "mars", "--env", KUHN, "--model", "table", "--steps", "1", "--no-eval"],
    "imitate": ["imitate", "--model", "table", "--env", KUHN, "--steps", "1", "--games", "2"],
    "compare": ["compare", "--algos", "mars", "--env", KUHN, "--seeds", "1"],
    "report": ["report", "run"],
    "evaluate": ["evaluate", "--agent", "random", "--env", KUHN, "--games", "2"],
    "exploitability": ["exploitability", "--agent", "random", "--env", KUHN],
    "tournament": ["tournament", "--agents", "random,oracle", "--env", KUHN, "--games", "2"],
    "play": ["play", "--env", KUHN, "--agent", "random"],
    "replay": ["replay", "run"],
    "reproduce": ["reproduce", "tis_cosine"],
    "starter build": ["starter", "build", "--out", "built", "--minutes", "1"],
    "starter check": ["starter", "check"],
}
"""Command -> words that are right, but for files that are not there."""
NUMBERS = ["", "x", "nan", "inf", "-inf", "-1", "-0.5", "1e99", "9" * 30, "0x10", "1,5", "½", "--"]
NAMES = ["", " ", ",", "nope", "../../x", "m\nars", "mars;ls", "\x1b[31m", "\ud800", "a" * 5000]
PATHS = ["", "nowhere", "a file/x", "/proc/self/mem", "run/../..", "/dev/null/x", "x" * 300]
VALUES = [
    "nope",
    "[]",
    "{}",
    "-1e13",
    ".nan",
    ".inf",
    "{name: nope}",
    "[[1]]",
    "1e999",
    "{a: [",
    "''",
]
PATHLIKE = ("out", "config", "resume", "folder", "file", "generations")


class Wrong(NamedTuple):
    """A command line with something wrong."""

    words: list[str]
    what: str
    named: tuple[str, ...] = ()
    """What the answer must mention, if any of it: what was given, or the nearest that there is."""


def all_wrong(rng: np.random.Generator, most: int) -> list[Wrong]:
    """Return some wrong command lines, evenly over the ways to be wrong."""
    ways = (options, names, contradictions, settings, parts, environment, arguments, trees, texts)
    ways += (files,)
    kinds = [list(kind()) for kind in ways]
    found: list[Wrong] = []
    for number, kind in enumerate(kinds):
        share = (most - len(found)) // (len(kinds) - number)
        found += [kind[i] for i in rng.permutation(len(kind))[:share]]
    return found


def options() -> Iterator[Wrong]:
    """Yield options that do not exist, lack their value, or have one that does not fit."""
    for name, right in RIGHT.items():
        for word in ("--nope", "-x", "--set-", "extra word", "--\x00"):
            yield Wrong([*right, word], "option")
        kind = COMMANDS[name]
        hints = typing.get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            if field.name in POSITIONAL:
                continue
            inner, shown = typing.get_args(hints[field.name])
            option = flag(field.name)
            if inner is bool:
                yield Wrong([*right, f"{option}=yes"], "switch with a value", (option,))
                continue
            yield Wrong([*right, option], "option without a value", (option,))
            for value in _unfit(field.name, inner, shown):
                named = () if _unseen(value) else (option, value.partition("=")[0][:40], field.name)
                yield Wrong([*right, f"{option}={value}"], f"{option} {value!r}", named)


def _unseen(text: str) -> bool:
    """Return whether a text is shown in another form than its own."""
    return not text.strip() or not text.isprintable()


def _unfit(name: str, hint: Any, shown: Shown) -> Iterator[str]:
    kinds = [k for k in (typing.get_args(hint) or (hint,)) if k is not types.NoneType]
    if kinds[0] in (int, float):
        yield from (v for v in NUMBERS if v != "-0.5" or shown.low >= 0)
        yield f"{shown.low - 1:g}" if shown.low > -1e12 else "-1e13"
    elif name == "budget":
        yield from ("", "soon", "-5m", "0s", "1e99h", "nan", "5 minutes", "m")
    elif name in ("budget_tokens", "budget_turns", "exploiter"):
        yield from ("", "many", "-1", "0", "nan", "inf", "nope=3", "=")
    elif name in ("set", "env_option"):
        yield from ("nope", "=", "=1", "a.b.c.d=1", "nope=1", "a={", "\u200b=1")
    elif name not in PATHLIKE:
        yield from NAMES


def names() -> Iterator[Wrong]:
    """Yield names that nobody has, near to those that somebody has."""
    for known in ALGORITHMS:
        for typed in (known[:-1], known + "x", known.upper(), f"{known}:nope"):
            if typed not in ALGORITHMS:
                near = (known,) if ":" not in typed else ("nope",)
                yield Wrong(["train", typed, *RIGHT["train"][2:]], "algorithm", near)
                compared = ["compare", "--algos", typed, *RIGHT["compare"][3:]]
                yield Wrong(compared, "algorithm", near)
        varied = ["train", known, "--variant", "nope", *RIGHT["train"][2:]]
        yield Wrong(varied, "variant", ("nope",))
    for known in ENVS:
        for typed in (known[:-1], known.replace("coevo/", ""), known + "9", known.upper()):
            evaluated = ["evaluate", "--agent", "random", "--env", typed]
            yield Wrong(evaluated, "environment", (known,))
            trained = ["train", "mars", "--env", typed, "--steps", "1"]
            yield Wrong(trained, "environment", (known,))
    for path in PATHS:
        for words in (
            ["train", "--resume", path],
            ["train", "--config", path],
            ["report", path],
            ["replay", path],
            ["evaluate", "--agent", f"hf:./{path}", "--env", KUHN],
            ["evaluate", "--generations", path],
            ["compare", "--out", path],
            ["tournament", "--out", path],
        ):
            yield Wrong(words, f"path {path[:20]!r}")
    for agent in (
        "expert:2",
        "expert:nan",
        "expert:",
        "hf:",
        "sb3:",
        "openai:",
        "randon",
        "expert:x",
    ):
        yield Wrong(["evaluate", "--agent", agent, "--env", KUHN], f"agent {agent}")
        yield Wrong(["play", "--agent", agent, "--env", KUHN], f"agent {agent}")


def settings() -> Iterator[Wrong]:
    """Yield values that no field of an algorithm takes."""
    for name, algorithm in ALGORITHMS.items():
        for place, hint in _leaves(type(algorithm), algorithm):
            for value in _outside(hint):
                pair = f"{place}={value}"
                told = tuple(place.split(".")[-2:])  # an unknown name is that of its component
                yield Wrong([*_train(name), "--set", pair], pair, told)
            misspelt = [*_train(name), "--set", f"{place}x=1"]
            yield Wrong(misspelt, f"{place}x", (place.rpartition(".")[2],))


def _train(name: str) -> list[str]:
    return ["train", name, *RIGHT["train"][2:], "--out", "new"]


def _leaves(kind: Any, value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        own, place = getattr(value, field.name), f"{at}{field.name}"
        if dataclasses.is_dataclass(own):
            yield place, hints[field.name]
            yield from _leaves(type(own), own, f"{place}.")
        else:
            yield place, hints[field.name]


def _outside(hint: Any) -> Iterator[str]:
    """Yield what is outside of an annotated type."""
    low, high, numeric = _range(hint)
    if components(hint):
        yield from ("nope", "{name: nope}", "3", "{nam: gae}")
    elif numeric:
        yield from (".nan", "text", "[1]", "{a: 1}", "1e13", "-1e13")
        if low is not None:
            yield f"{low - 1:g}"
        if high is not None:
            yield f"{high + 1:g}"
    elif _plain(hint) is bool:
        yield from ("perhaps", "2", "[]", "{}")
    elif typing.get_origin(_plain(hint)) is typing.Literal:
        yield from ("nope", "3", "[]", "{}")
    elif dataclasses.is_dataclass(_plain(hint)):
        yield from ("nope", "3", "[1]", "{nope: 1}")


def parts() -> Iterator[Wrong]:
    """Yield components that an algorithm may have, with a value that none of their fields takes."""
    mars = ALGORITHMS["mars"]
    for place, hint in _leaves(type(mars), mars):
        for name, kind in components(hint).items():
            for told, text in _unfitting(name, kind):
                whole = f"[{text}]" if typing.get_origin(_plain(hint)) is tuple else text
                yield Wrong([*_train("mars"), "--set", f"{place}={whole}"], f"{place} {text}", told)
    for name, module in REWARDS.items():
        for told, text in _unfitting(name, module):
            yield Wrong([*_train("mars"), "--set", f"rewards=[{text}]"], f"rewards {text}", told)
    for members in ("[nope]", "3", "[expert:9]", "['']", "[[expert:0.5]]", "{expert: 1}", "[3]"):
        pair = f"population={{name: past_selves, members: {members}}}"
        yield Wrong(
            [*_train("mars"), "--set", pair], pair, ("members", "nope", "expert", "past_selves")
        )
    for draw in ("nope", "{name: prioritised, power: 0}", "{name: prioritised, prefers: nope}"):
        pair = f"population={{name: past_selves, draw: {draw}}}"
        yield Wrong([*_train("mars"), "--set", pair], pair, ("draw",))


def _unfitting(name: str, kind: type) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield components with one wrong field, as text, and what the answer must name."""
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        if field.name != "name":
            for value in _outside(hints[field.name]):
                yield (field.name, name), f"{{name: {name}, {field.name}: {value}}}"
    yield (f"{name}x", name), f"{{name: {name}x}}"
    yield ("nope", name), f"{{name: {name}, nope: 1}}"


def arguments() -> Iterator[Wrong]:
    """Yield values outside of what the fields of an environment's arguments take."""
    from coevo.envs import make

    for known in ENVS:
        try:
            kind = make(known).task.config_class
        except Exception:  # what needs an extra is tried elsewhere
            continue
        hints = typing.get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            for value in _outside(hints[field.name]):
                words = ["evaluate", "--agent", "random", "--env", known, "--games", "2"]
                pair = f"{field.name}={value}"
                yield Wrong([*words, "--env-option", pair], f"{known} {pair}", (field.name,))


def _range(hint: Any) -> tuple[float | None, float | None, bool]:
    low = high = None
    for part in getattr(hint, "__metadata__", ()):
        for rule in (part, *getattr(part, "metadata", ())):
            low = next(
                (getattr(rule, k) for k in ("ge", "gt") if getattr(rule, k, None) is not None), low
            )
            high = next(
                (getattr(rule, k) for k in ("le", "lt") if getattr(rule, k, None) is not None), high
            )
    inner = [_range(part) for part in typing.get_args(hint) if not isinstance(part, str)]
    numeric = _plain(hint) in (int, float)
    for one in inner:
        low, high = (low if one[0] is None else one[0]), (high if one[1] is None else one[1])
        numeric |= one[2] and typing.get_origin(hint) not in (tuple, list, dict)
    return low, high, numeric and _plain(hint) in (int, float)


def _plain(hint: Any) -> Any:
    if hasattr(hint, "__metadata__"):
        return _plain(hint.__origin__)
    inner = [k for k in typing.get_args(hint) if k is not types.NoneType]
    return _plain(inner[0]) if isinstance(hint, types.UnionType) and len(inner) == 1 else hint


def environment() -> Iterator[Wrong]:
    """Yield arguments that no environment takes."""
    from coevo.envs import make

    for known in ENVS:
        try:
            arguments = sorted({*make(known).options, "illegal", "max_cycles"})
        except Exception:  # what needs an extra is tried elsewhere
            continue
        for argument in (*arguments, "nope"):
            for value in VALUES:
                if argument == "prompt_style" or value not in ("''", "[]", "{}"):
                    words = ["evaluate", "--agent", "random", "--env", known, "--games", "2"]
                    pair = f"{argument}={value}"
                    yield Wrong([*words, "--env-option", pair], pair, (argument, value))


def trees() -> Iterator[Wrong]:
    """Yield configurations with a field that is missing, unknown or of a wrong type."""
    for number in range(TREES):
        path = f"wrong{number}.yaml"
        # What rewards there are only the environment knows, which is made after the file was read.
        named = (path, "advantage.reward_weights")
        yield Wrong(["train", "--config", path, "--no-eval"], f"tree {number}", named)


def contradictions() -> Iterator[Wrong]:
    """Yield options that exclude each other, lists of nothing, and roles and devices of nobody."""
    evaluated, trained = ["evaluate", "--agent", "random"], RIGHT["train"]
    sets = {"--suite": "games", "--scenario": "all", "--axis": "players", "--generations": "run"}
    for option, value in sets.items():
        for other, also in {**sets, "--opponent": "random", "--samples": "2"}.items():
            if option != other and {option, other} != {"--suite", "--samples"}:
                words = [*evaluated, option, value, other, also]
                yield Wrong(words, f"{option} {other}", (option, other))
    own = {"--seed": "1", "--model": "table", "--set": "a=1", "--env": KUHN, "--threads": "1"}
    more = {"--variant": "x", "--temperature": "1", "--device": "cpu", "--env-option": "a=1"}
    for option, value in {**own, **more, "--max-new-tokens": "3"}.items():
        for source in (["--resume", "a run"], ["--config", "right.yaml"]):
            yield Wrong(["train", *source, option, value], f"{source[0]} {option}", (option,))
    for suite in ("words", "societies", "dilemmas"):
        words = [*evaluated, "--suite", suite]
        yield Wrong([*words, "--env", KUHN], f"suite {suite}", ("--env",))
        yield Wrong([*evaluated, "--suite", f"{suite}x"], f"suite {suite}x", (suite,))
        yield Wrong([*words, "--games", "0"], f"suite {suite}", ("games",))
    for words, named in (
        (["envs", "--env", KUHN], "--env"),
        (["envs", "words", "--json"], "words"),
        (["algos", "mars", "grpo"], "grpo"),
        (["starter", "nope"], "nope"),
        (["starter", "build", "--minutes", "0", "--out", "built"], "--minutes"),
    ):
        yield Wrong(words, f"command {' '.join(words)}", (named,))
    both = ["train", "--resume", "a run", "--config", "right.yaml"]
    yield Wrong(both, "two sources", ("--config",))
    for words, named in (
        ([*trained, "--skip-damaged"], "--skip-damaged"),
        ([*RIGHT["evaluate"], "--greedy", "--temperature", "0.5"], "--greedy"),
        (["reproduce", "tis_cosine", "--list"], "--list"),
        (["evaluate", "--env", KUHN], "--agent"),
        (evaluated, "--env"),
        (["compare", "--env", KUHN], "--algos"),
        (["compare", "--algos", "mars"], "--env"),
        (["tournament", "--env", KUHN], "--agents"),
        (["train", "--env", KUHN], "algorithm"),
        (["train", "mars"], "--env"),
        ([*RIGHT["compare"], "--on", "ray", "--workers", "0.5"], "--workers"),
        ([*RIGHT["compare"], "--baseline", "grpo"], "grpo"),
        ([*RIGHT["compare"], "--algos", "mars,mars"], "mars"),
        ([*RIGHT["compare"], "--env", f"{KUHN},{KUHN}"], "kuhn_poker"),
        ([*RIGHT["compare"], "--budget-tokens", "leduc_poker=3"], "leduc_poker"),
        ([*RIGHT["tournament"], "--agents", "random,random"], "random"),
        ([*RIGHT["tournament"], "--agents", "random"], "random"),
        (["train", "mars", "--env", "{}", "--steps", "1"], "env"),
        (["train", "mars", "--env", f"{{{KUHN}: 0}}", "--steps", "1"], "weight"),
        (["train", "mars", "--env", f"{{{KUHN}: -1}}", "--steps", "1"], "weight"),
        (["train", "mars", "--env", f"{{{KUHN}: .nan}}", "--steps", "1"], "weight"),
        (["train", "mars", "--env", f"{{{KUHN}: {{wieght: 1}}}}", "--steps", "1"], "weight"),
        ([*trained, "--log", "tensorbord"], "tensorboard"),
        ([*trained, "--log", "tensorboard,tensorboard"], "tensorboard"),
    ):
        yield Wrong(words, f"contradiction {named}", (named,))
    for option in ("--algos", "--env"):
        for empty in (",", ", ,", " "):
            yield Wrong([*RIGHT["compare"], option, empty], f"{option} {empty!r}", (option,))
    for name in ("train", "compare", "evaluate", "exploitability", "tournament"):
        for device in ("tpu", "CPU", "cuda:99", "cpu,cuda", "0"):
            yield Wrong([*RIGHT[name], f"--device={device}"], "device", (device, "--device"))
    for pair in (
        *("optim.alternate=[nope]", "optim.frozen=[nope]", "optim.frozen=[player, player]"),
        *("population={name: adapters, frozen: [nope]}", "population={name: past_selves, size: 0}"),
        *("population={name: separate, frozen: [nope]}", "optim.alternate=[player, player]"),
        *("optim.frozen=player", "optim.alternate={}", "cycle=[]", "rewards=[{name: nope}]"),
        *("sampling_of.nope.top_p=0.9", "sampling_of.player_0.top_p=9", "loss.regularise=[nope]"),
        *("optim_of.nope.lr=0.1", "optim_of.policy.warmup=3", "judges={referee: nope}"),
    ):
        named = (pair.partition("=")[0].rpartition(".")[2], "nope", "player", "past_selves")
        yield Wrong([*_train("mars"), "--set", pair], pair, named)
    for told in ("name=x", "summary=x", "status=table", "published={}"):
        yield Wrong([*_train("mars"), "--set", told], told, (told.partition("=")[0],))
    for game in ("go(board_size=-1)", "nope", "kuhn_poker(nope=3)", "kuhn_poker(players=x)"):
        measured = ["exploitability", "--agent", "random", "--env", "coevo/openspiel-v0"]
        yield Wrong([*measured, "--env-option", f"game={game}"], game, (game.partition("(")[0],))
    for pair in ("optim.lr=1", "optim={}", "lr=1"):
        yield Wrong([*RIGHT["compare"], "--set", f"grpo.{pair}"], f"grpo.{pair}", ("grpo",))


BROKEN = {
    "empty": b"",
    "spaces": b"  \n\t\n",
    "a list": b"[1, 2]",
    "a text": b"hello",
    "a number": b"3",
    "no end": b"{a: [1, ",
    "no end either": b'{"a": "',
    "a tab": b"a:\n\t- 1",
    "not text": b"\xff\xfe\x00\x81" * 99,
    "null bytes": b"seed: 1\x00",
    "deep": b"[" * 100_000,
    "deep by lines": b"".join(b" " * n + b"a:\n" for n in range(1500)),
    "a tag": b"!!python/object/apply:os.getpid []",
    "an alias": b"a: &a [1]\nb: *a",
    "two documents": b"a: 1\n---\nb: 2",
    "a key twice": b"env: a\nenv: b",
    "a key that is a list": b"? [a]\n: 1",
    "a key that is a number": b"3: 4",
    "a long line": b"a: " + b"x" * (5 << 20),
    "an archive": b"PK\x03\x04" + bytes(200),
    "a pickle": b"\x80\x04\x95\x10\x00\x00\x00.",
    "surrogates": b'{"a": "\\ud800"}',
}
"""What a file may hold that is none of ours."""
PLACES = ("gone.yaml", "a folder", "a loop", "a pipe", "/dev/zero", "a file/below")
"""Paths behind which no file is."""
TREES = 400
"""Configurations with one wrong field."""


def broken_name(kind: str) -> str:
    """Return the name of the file that holds what is none of ours."""
    return f"{kind.replace(' ', '_')}.broken"


def files() -> Iterator[Wrong]:
    """Yield files that are missing, no files, unreadable, or hold something else."""
    for path in (*map(broken_name, BROKEN), *PLACES):
        asked = f"questions={{name: jsonl, path: {path}}}"
        for words in (
            ["train", "--config", path, "--no-eval"],
            ["replay", path],
            ["report", path],
            ["train", "--resume", path],
            [*RIGHT["evaluate"], "--agent", f"./{path}"],
            [*RIGHT["exploitability"], "--agent", f"./{path}"],
            [*RIGHT["train"], "--model", f"./{path}"],
            [*RIGHT["evaluate"], "--env", "coevo/debate-v0", "--env-option", asked],
            ["evaluate", "--generations", path],
            [*RIGHT["compare"], "--out", path],
            [*RIGHT["tournament"], "--out", path],
            [*RIGHT["evaluate"], "--out", path],
        ):
            if not ("--out" in words and path in ("gone.yaml", "a folder")):  # a folder to be
                yield Wrong(words, f"file {path}", (path,))


def texts() -> Iterator[Wrong]:
    """Yield trees on the command line that are malformed or hold what no field takes."""
    for text in (
        *("{", "}", "{name: gae", "[1, 2", "'", "{a: 1, a: 2}", "!!set {a}", "*x", "&x [*x]"),
        *("{name: gae, lam: 2}", "{name: gae, lam: .nan}", "{name: gae, lamm: 1}", "{name: 3}"),
        *("{name: [gae]}", "{name: {name: gae}}", "{}", "[gae]", "[]", "gae gae", "{GAE: 1}"),
        *("{name: gae, lam: true}", "{name: gae, lam: [1]}", "%", "@"),
        "[" * 80 + "]" * 80,
        "x" * 5000,
    ):
        for setting in ("advantage.credit", "loss.surrogate", "population"):
            pair = f"{setting}={text}"
            yield Wrong([*_train("ppo"), "--set", pair], pair[:60])
