"""Text of the archive in prompts: what the record says of it, and under which prompt it is learnt.

1. A turn holds what its seat saw, the artifact's id, and how it is learnt.
2. `as_seen` learns under the prompt that was sampled under; `stripped` under the one without;
   `hidden` is read by the reference alone.
3. What was injected is part of what makes a group.
4. A killed run goes on with the same draws.
"""

import itertools
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from coevo.agents.load import load_agent
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.envs.core.config import assign
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import CoevoError
from coevo.envs.core.parsing import Status
from coevo.trainers import checkpoint, loop
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.injected_texts import uplift_by_artifact
from coevo.trainers.archive.sharing import ByGame, Nearest, game_of
from coevo.trainers.build import build
from coevo.trainers.collect.injected import Injected
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.steps import POLICY_GRADIENT, InjectText, WeighArtifacts
from tests.trainers.conftest import GUIDED

KUHN = "coevo/kuhn_poker-v0"
SEATS = ("player_0", "player_1")
LOOK = Injected("instruction-0", "Look twice.")
STRIPPED = replace(LOOK, trained="stripped")
HIDDEN = replace(LOOK, trained="hidden")


@pytest.fixture(scope="module")
def language_model(tiny_model_dir):
    return load_agent(str(tiny_model_dir), sampling=GUIDED, device="cpu")


def table():
    return TabularPolicy(Table(), Rows(), name="policy")


def played(agent, told, style="terse", seeds=(3,), env=KUHN, seats=SEATS):
    specs = [
        EpisodeSpec(s, dict.fromkeys(seats, "policy"), i, injected=told)
        for i, s in enumerate(seeds)
    ]
    return rollout(env, specs, {"policy": agent}, {"prompt_style": style})


def test_a_turn_says_what_was_seen_what_was_added_and_how_it_is_learnt():
    (episode,) = played(table(), {"player_1": LOOK})
    for turn in episode.turns:
        told = turn.agent == "player_1"
        system = [m["content"] for m in turn.chat if m["role"] == "system"]
        assert system == (["Look twice."] if told else [])
        assert (turn.injected, turn.trained) == (
            (["instruction-0"], "as_seen") if told else ([], "")
        )
    again = Episode.from_json(episode.to_json())
    assert [(t.chat, t.injected, t.trained) for t in again.turns] == [
        (t.chat, t.injected, t.trained) for t in episode.turns
    ]


def test_text_joins_the_system_message_that_there_is():
    chat = ({"role": "system", "content": "Rules."}, {"role": "user", "content": "Go"})
    assert LOOK.added(chat)[0]["content"] == "Look twice.\n\nRules."
    assert len(LOOK.added(chat)) == 2


@pytest.mark.parametrize("told", [LOOK, STRIPPED])
def test_a_table_learns_the_row_of_the_prompt_that_counts(told):
    agent = table()
    (plain,) = played(agent, {})
    (episode,) = played(agent, dict.fromkeys(SEATS, told))
    with_text = {row for key, row in agent.rows.of.items() if "Look twice." in key}
    learnt = {span.ids[0] for span in build([episode], [0]).spans}
    assert learnt and (learnt <= with_text) == (told is LOOK)
    assert {t.prompt_ids[0] for t in episode.turns} <= with_text
    if told is STRIPPED:
        (first,) = (t.prompt_ids for t in plain.turns[:1])
        assert episode.turns[0].stripped_ids == first, "equal cards, equal prompt"


@pytest.mark.parametrize("style", ["terse", "full"])
def test_a_model_learns_under_the_tokens_of_the_chat_without_the_text(language_model, style):
    env = "coevo/iterated_game-v0"
    (episode,) = played(language_model, {"player_0": STRIPPED}, style, env=env)
    own = [t for t in episode.turns if t.agent == "player_0"]
    assert len(own) > 1
    encode = language_model.tokens.prompt
    for turn in own:
        assert turn.prompt_ids != turn.stripped_ids
        assert language_model.tokens.tokenizer.decode(turn.prompt_ids).count("Look twice.") == 1
        assert "Look twice." not in language_model.tokens.tokenizer.decode(turn.stripped_ids)
    first = own[0]
    without = tuple(
        {**m, "content": m["content"].removeprefix("Look twice.\n\n")}
        for m in first.chat
        if m["content"] != "Look twice."
    )
    assert first.stripped_ids == encode(without)
    if style == "full":  # a growing chat stays one sequence
        for before, turn in itertools.pairwise(own):
            grown = [*before.stripped_ids, *before.token_ids]
            assert turn.stripped_ids[: len(grown)] == grown
    batch = build([episode], [0])
    spans = {s.ids for s in batch.spans}
    assert (*own[-1].stripped_ids, *own[-1].token_ids) in spans


@pytest.mark.parametrize("style", ["terse", "full"])
def test_a_hidden_text_is_read_by_the_reference_alone(language_model, style):
    env, decode = "coevo/iterated_game-v0", language_model.tokens.tokenizer.decode
    (episode,) = played(language_model, {"player_0": HIDDEN}, style, env=env)
    own = [t for t in episode.turns if t.agent == "player_0"]
    for turn in own:
        assert "Look twice." not in decode(turn.prompt_ids) + str(turn.chat)
        assert decode(turn.reference_ids).count("Look twice.") == 1
        assert turn.stripped_ids is None and turn.injected == ["instruction-0"]
    batch = build([episode], [0])
    pairs = list(zip(batch.spans, batch.reference_spans, strict=True))
    for mine, read in pairs:
        said = [[span.ids[i] for i in span.positions()] for span in (mine, read)]
        assert said[0] == said[1]
    others = [one for one, two in pairs if one == two]
    assert len(others) == (1 if style == "full" else len(own)), "those of the other seat"


def test_texts_part_a_group():
    agent = table()
    one, same = played(agent, dict.fromkeys(SEATS, LOOK), seeds=(3, 3))
    other, none = (
        played(agent, told)[0]
        for told in ({s: replace(LOOK, id="instruction-1") for s in SEATS}, {})
    )
    batch = build([one, same, other, none], [7, 7, 7, 7])
    group = {}
    for (at, _), key in zip(batch.origin_B, batch.keys["group"].tolist(), strict=True):
        group.setdefault(at, set()).add(key)
    assert group[0] == group[1]
    assert len(group[0] | group[2] | group[3]) == 3


@pytest.fixture
def told(config):
    cycle = (
        InjectText(first=("Look.", "Guess."), trained="stripped"),
        *POLICY_GRADIENT,
        WeighArtifacts(),
    )
    changes = {"cycle": cycle, "collect.episodes": 16, "collect.group_size": 4}
    return config("rloo", changes, model="table", steps=6, checkpoint_every=2)


def test_all_episodes_of_a_group_are_told_the_same_and_their_reward_is_credited(told, folder):
    run = loop.start(told, folder(told))
    metrics, episodes = loop.update(run)
    by_task = [
        {(*t.injected, t.trained) for e in episodes[i : i + 4] for t in e.turns}
        for i in range(0, 16, 4)
    ]
    assert all(len(found) == 1 for found in by_task)
    assert {i for found in by_task for i, _ in found} == {"instruction-0", "instruction-1"}
    for one in run.archive.living("instruction"):
        own = [e for e in episodes if e.turns[0].injected == [one.id]]
        mean = sum(e.total(s, "payoff") for e in own for s in SEATS) / (2 * len(own))
        assert one.uses == 2 * len(own) and one.weight == pytest.approx(0.3 * mean)
    assert metrics["archive/instruction"] == 2.0


def test_a_run_that_was_stopped_goes_on_with_the_same_archive(told, folder):
    calm, stopped = folder(told, "calm"), folder(told, "stopped")
    whole = loop.train(told, calm)
    for done in loop.updates(loop.start(told, stopped)):
        if done.step == 3:
            break
    again = loop.start(told, stopped)
    assert again.progress.step == 2
    for _ in loop.updates(again):
        pass
    assert again.archive.state_dict() == whole.archive.state_dict()
    ends = [
        checkpoint.latest(f.checkpoints) / "policy" / "table.safetensors" for f in (calm, stopped)
    ]
    assert ends[0].read_bytes() == ends[1].read_bytes()


def test_what_texts_are_worth_is_kept_game_by_game(config, folder):
    """Two plans for two and for three travellers; uses of what was played fade at one rate."""
    cycle = (
        InjectText(first=("Plan 1.", "Plan 2."), by=ByGame(explore=1.0)),
        *POLICY_GRADIENT,
        WeighArtifacts(rate=0.5, games=True),
    )
    changes = {"cycle": cycle, "collect.episodes": 64, "collect.up_to": 1.0}
    changes["collect.group_size"] = 2
    river = {"travellers": (2, 3), "prompt_style": "terse"}
    given = config(
        "rloo", changes, env="coevo/crossing-v0", env_options=river, model="table", steps=2
    )
    run = loop.start(given, folder(given))
    episodes = [loop.update(run)[1] for _ in range(2)]
    for one, size in itertools.product(run.archive.living("instruction"), (2, 3)):
        game, (first, second) = (
            game_of("coevo/crossing-v0", {"difficulty": size}),
            (
                [e for e in some if len(e.turns) == size and e.turns[0].injected == [one.id]]
                for some in episodes
            ),
        )
        worth = [
            fmean(e.total(t.agent, "payoff") for e in own for t in e.turns)
            for own in (first, second)
        ]
        assert one.stats[f"used/{game}"] == len(first) / 2 + len(second)
        assert one.stats[f"worth/{game}"] == pytest.approx(fmean(worth))


def test_a_text_that_was_never_tried_in_a_game_comes_first_and_a_bonus_parts_games():
    texts = [Artifact(f"{k}", "instruction", f"Plan {k}.") for k in range(3)]
    for text, worth in zip(texts[:2], (1.0, 0.9), strict=True):
        text.stats = {"worth/a": worth, "worth/b": worth, "used/a": 9.0, "used/b": 0.0}
    scores = ByGame(bonus=0.0).scores(texts, "a")
    assert scores.tolist() == [1.0, 0.9, float("inf")]
    texts[1].stats |= {"used/a": 0.0, "used/b": 9.0}
    without, bonus = (ByGame(bonus=x).scores(texts[:2], "b") for x in (0.0, 0.1))
    assert without.argmax() == 0 and bonus.argmax() == 1
    q = {0: (10 / 11, 1 / 11), 1: (1 / 11, 10 / 11)}  # one count is added to each
    gained = [0.1 * np.log(q[1][k] / ((q[0][k] + q[1][k]) / 2)) for k in range(2)]
    assert (bonus - without).tolist() == pytest.approx(gained)


def test_an_archive_with_nothing_to_draw_is_refused(told, folder):
    empty = assign(told, {"algorithm.cycle.inject_text.first": []})
    with pytest.raises(
        CoevoError, match=r"no instruction to draw; give some in cycle\.inject_text\.first"
    ):
        loop.update(loop.start(empty, folder(empty)))


def test_what_a_text_adds_is_told_from_what_its_tasks_pay():
    """One task pays 1 with and without, another 0.5 with and 0 without: 0 and 0.5 are added."""

    def one(text, paid, seat="player_0"):
        made = Turn(seat, (), "x", "x", Status.LEGAL, None, injected=[text] if text else [])
        made.pay("payoff", {seat: paid})
        return Episode("coevo/some-v0", 0, {}, (seat,), turns=[made])

    episodes = [one("easy", 1.0), one("", 1.0), one("hard", 1.0), one("hard", 0.0), one("", 0.0)]
    groups = [0, 0, 1, 1, 1]
    assert uplift_by_artifact(episodes, groups, "payoff") == {
        "easy": [(0.0, 1)],
        "hard": [(0.5, 2)],
    }
    alone = [one("easy", 1.0), one("", 0.0)]
    assert uplift_by_artifact(alone, [0, 1], "payoff") == {}, "another task says nothing"


def test_a_share_of_every_group_gets_a_text_and_each_part_is_a_group_of_its_own(config, folder):
    told = InjectText(
        first=("Look.", "Kuhn poker: bet with the King."),
        by=Nearest(among=1),
        seats=("player_0",),
        share=0.5,
    )
    given = config("grpo", {"collect.episodes": 8, "collect.group_size": 4}, model="table")
    given = replace(given, algorithm=replace(given.algorithm, cycle=(told, *POLICY_GRADIENT)))
    run = loop.start(given, folder(given))
    ctx = loop.context_of(run)
    for step in given.algorithm.cycle[:3]:
        step(ctx)
    for at, episode in enumerate(ctx.collected.episodes):
        used = {i for t in episode.turns for i in t.injected}
        assert used == ({"instruction-1"} if at % 4 < 2 else set()), "the nearest to the prompt"
    keys = ctx.batch.keys["group"].tolist()
    plain = [any(t.injected for t in turns) for turns in ctx.batch.turns_B]
    assert len(set(keys)) == 4
    assert all(len({p for k, p in zip(keys, plain, strict=True) if k == key}) == 1 for key in keys)
