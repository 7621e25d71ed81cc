import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.agents.agent import Request
from coevo.agents.load import load_agent
from coevo.agents.models.chat_tokens import ChatTokens
from coevo.benchmarks.starter import build, imitation, muon
from coevo.benchmarks.starter import examples as in_tokens
from coevo.benchmarks.starter.corpus import CorpusSource, sources, turns
from coevo.benchmarks.starter.examples import Encoded, SeedConfig
from coevo.benchmarks.starter.lesson import LessonConfig, teach
from coevo.envs import list_envs
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status, parse_move
from coevo.trainers.loop import drive
from coevo.trainers.run_folder import RunFolder

KUHN = CorpusSource(env="coevo/kuhn_poker-v0")


@pytest.fixture(scope="module")
def examples():
    return list(turns(KUHN, 200, seed=0))


@pytest.fixture(scope="module")
def tokenizer(examples):
    return build.make_tokenizer(examples, 300)


def test_a_line_of_a_board_is_a_token_and_a_name_that_was_never_seen_is_two():
    def pieces(tokenizer, text):
        return [tokenizer.decode([i]) for i in tokenizer(text)["input_ids"]]

    boards = CorpusSource("coevo/tic_tac_toe-v0", options={"openings": 4})
    worlds = CorpusSource("coevo/search_router-v0", options={"world": {"name": "fictional"}})
    heard = [*turns(boards, 2000, seed=0), *turns(worlds, 1000, seed=0)]
    tokenizer = build.make_tokenizer(heard, 1536)
    assert pieces(tokenizer, " X23 4O6 / XO9") == [" X23", " 4O6", " /", " XO9"]
    assert pieces(tokenizer, " Dalu. Teko") == [" Da", "lu", ".", " Te", "ko"]


def small(**settings):
    sizes = {"hidden": 32, "layers": 2, "heads": 2, "feed_forward": 64, "vocabulary": 300}
    return SeedConfig(**{**sizes, "context": 256, "batch_tokens": 2048, **settings})


def test_the_corpus_has_every_environment_that_the_starter_model_promises():
    assert {s.env for s in sources()} == {s.id for s in list_envs() if s.starter_trained}
    assert all(s.share > 0 and s.skills for s in sources())


def test_transcripts_are_legal_turns_that_depend_on_the_seed_alone(examples):
    assert len(examples) == 200 and examples == list(turns(KUHN, 200, seed=0))
    assert examples != list(turns(KUHN, 200, seed=1))
    for e in examples:
        legal = e.chat[-1]["content"].partition("Moves: ")[2].partition(". Answer")[0].split(", ")
        assert [parse_move(r, legal).status for r in e.replies] == [Status.LEGAL] * len(legal)
        assert sum(e.odds) == pytest.approx(1) and min(e.odds) > 0


def test_labels_are_the_odds_of_an_expert_of_mean_skill(examples):
    mean = sum(KUHN.skills) / len(KUHN.skills)
    king = next(e for e in examples if "king. Betting: bet" in e.chat[-1]["content"])
    odds = dict(zip(king.replies, king.odds, strict=True))
    assert odds["[call]"] == pytest.approx(mean + (1 - mean) / 2, abs=0.01)


def test_later_lessons_are_about_what_takes_longest_to_see():
    first, second, third = (
        {s.env: s.share for s in sources(n) if "game" not in s.options} for n in (1, 2, 3)
    )
    assert {e for e in first if second[e] > first[e]} == {
        "coevo/tic_tac_toe-v0",
        "coevo/leduc_poker-v0",
    }
    assert {e for e in first if third[e] > first[e]} == {
        "coevo/peer_review-v0",
        "coevo/search_router-v0",
        "coevo/search_self_play-v0",
        "coevo/solver_verifier-v0",
    }


def test_lessons_share_out_all_turns_and_minutes():
    parts = build.lessons(SeedConfig(turns=1000, minutes=10.0))
    assert sum(p.turns for p in parts) == 1000
    assert sum(p.minutes for p in parts) == pytest.approx(10.0)
    assert [p.lr / parts[0].lr for p in parts] == [1.0, 0.5, 0.5]


def test_the_tokenizer_spells_everything(tokenizer, examples):
    tokens = ChatTokens(tokenizer)
    assert tokens.end_ids == (tokenizer.convert_tokens_to_ids("<|end|>"),)
    for text in ("[bet]", "Zażółć ‹gęślą›\n\t", "2048", "<|end|>"):
        ids = tokens.answer(text)
        assert tokens.text(ids) == text and ids[-1] == tokens.end_ids[0]


def test_examples_are_tokenised_as_agents_read_and_write_them(tokenizer, examples):
    tokens = ChatTokens(tokenizer)
    rng = np.random.default_rng(0)
    for example, encoded in zip(examples, in_tokens.encode(examples, tokens, rng), strict=True):
        assert list(encoded.ids[: encoded.reply]) == tokens.prompt(example.chat)
        assert tokens.text(encoded.ids[encoded.reply :]) in example.replies
        for place, possible in zip(encoded.ids[encoded.reply :], encoded.targets, strict=True):
            assert dict(possible)[place] > 0
            assert sum(odds for _, odds in possible) == pytest.approx(1)


def test_targets_are_the_odds_of_the_next_token_given_the_ones_before():
    replies, odds = [[1, 2, 0], [1, 3, 0], [4, 0]], (0.2, 0.6, 0.2)
    assert dict(in_tokens._next([], replies, odds)) == pytest.approx({1: 0.8, 4: 0.2})
    assert dict(in_tokens._next([1], replies, odds)) == pytest.approx({2: 0.25, 3: 0.75})
    assert dict(in_tokens._next([1, 3], replies, odds)) == {0: 1.0}


def test_the_loss_weighs_prompt_and_reply_and_ignores_padding(tokenizer):
    model = build.make_model(small(), tokenizer).eval()
    rows = [
        Encoded((5, 6, 7, 8, 9), 3, (((8, 0.75), (11, 0.25)), ((9, 1.0),))),
        Encoded((10, 11), 1, (((11, 1.0),),)),
    ]
    total = weights = 0.0
    with torch.no_grad():
        for row in rows:
            logp = model(torch.tensor([row.ids])).logits[0].log_softmax(-1)
            for i in range(1, row.reply):
                total -= 0.25 * float(logp[i - 1, row.ids[i]])
                weights += 0.25
            for i, possible in enumerate(row.targets, row.reply):
                total -= sum(odds * float(logp[i - 1, token]) for token, odds in possible)
                total -= 2.0 * math.log(sum(math.exp(logp[i - 1, token]) for token, _ in possible))
                weights += 1
        config = small(prompt_weight=0.25, legal_weight=2.0)
        assert float(in_tokens.loss_of(model, rows, config)) == pytest.approx(
            total / weights, abs=1e-5
        )


@pytest.mark.parametrize("shape", [(8, 24), (24, 8), (8, 8)])
def test_muon_moves_matrices_as_torch_does_within_its_bfloat16(shape):
    start = torch.randn(shape)
    ours, theirs = (torch.nn.Parameter(start.clone()) for _ in range(2))
    pair = (
        muon.Muon([ours], lr=0.02, weight_decay=0.1),
        torch.optim.Muon([theirs], lr=0.02, weight_decay=0.1),
    )
    for _ in range(4):
        ours.grad = torch.randn(shape)
        theirs.grad = ours.grad.clone()
        for optimizer in pair:
            optimizer.step()
    moved, expected = (start - ours).detach(), (start - theirs).detach()
    assert float((moved - expected).norm() / expected.norm()) < 0.03


def test_batches_hold_every_example_once_per_pass():
    data = [
        Encoded(tuple(range(n + 1)), 1, ()) for n in np.random.default_rng(0).integers(1, 30, 100)
    ]
    seen, batches = [], imitation.batches(data, 90, np.random.default_rng(0))
    while len(seen) < len(data):
        batch = next(batches)
        assert len(batch) == 1 or len(batch) * max(len(e.ids) for e in batch) <= 90
        seen += batch
    assert Counter(map(id, seen)) == Counter(map(id, data))


def test_a_built_model_loads_and_answers_in_form(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "sources", lambda lesson: [KUHN])
    told = []
    out = build.build(
        small(turns=1500, epochs=4.0, lr=0.01),
        tmp_path / "seed",
        lambda s, loss: told.append((s, loss)),
    )
    shares, losses = zip(*told, strict=True)
    assert list(shares) == sorted(shares) and shares[-1] == 1 and losses[-1] < 0.6 * losses[0]
    assert [p.name for p in tmp_path.iterdir()] == ["seed"], "the training is over"
    agent = load_agent(str(out), device="cpu")
    assert sum(f.stat().st_size for f in out.iterdir()) < 1_000_000
    assert agent.tokens.end_ids == (agent.model.generation_config.eos_token_id,)
    asked = list(turns(KUHN, 50, seed=9))
    rng = np.random.default_rng(0)
    replies = agent.act([Request("player_0", e.chat, {"legal_actions": ["x"]}, rng) for e in asked])
    legal = {"[check]", "[bet]", "[fold]", "[call]"}
    assert sum(r.text in legal for r in replies) > 25


def test_an_interrupted_training_ends_with_the_same_weights(tmp_path, tokenizer, examples):
    settings = small(epochs=6.0, batch_tokens=256, minutes=1e9)  # the rate follows the clock, too
    data = in_tokens.encode(examples, ChatTokens(tokenizer), np.random.default_rng(0))

    def run(name):
        torch.manual_seed(0)
        model = build.make_model(settings, tokenizer)
        return imitation.ImitationRun(model, data, settings, RunFolder(tmp_path / name))

    whole = run("whole")
    straight = [u.metrics["loss"] for u in drive(whole, whole.update)]
    first = run("half")
    for _ in zip(range(2), drive(first, first.update), strict=False):
        pass
    first.save()
    second = run("half")
    rest = [u.metrics["loss"] for u in drive(second, second.update)]
    assert len(straight) > 3 and straight[2:] == rest
    after = zip(whole.model.parameters(), second.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in after)
    with pytest.raises(ConfigError, match=r"holds a run with epochs=6\.0, not 7\.0"):
        imitation.ImitationRun(whole.model, data, replace(settings, epochs=7.0), whole.folder)
    with pytest.raises(ConfigError, match=r"holds a run with model=None, not another"):
        imitation.ImitationRun(whole.model, data, settings, whole.folder, {"model": "another"})


def test_a_lesson_continues_a_model_in_one_environment(tmp_path):
    lesson = LessonConfig(source=KUHN, turns=200, minutes=0.2, epochs=2)
    start, heard = load_agent("starter"), encoded_with_the_starter(turns(KUHN, 300, seed=9))
    taught = load_agent(str(teach(lesson, tmp_path / "model")))
    with torch.no_grad():
        before, after = (
            float(in_tokens.loss_of(a.model, heard, lesson.training)) for a in (start, taught)
        )
    assert after < before


def encoded_with_the_starter(examples):
    return in_tokens.encode(examples, load_agent("starter").tokens, np.random.default_rng(0))


def test_a_lesson_is_for_language_models(tmp_path):
    with pytest.raises(ConfigError, match="--model random: a lesson continues a language model"):
        teach(LessonConfig(source=KUHN, model="random"), tmp_path / "model")
