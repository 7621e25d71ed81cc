"""Whether the words that ask for an answer move the choices of a model, and how replies are read.

    python -P studies/answer_words.py --model FOLDER

1. For the first state of nine environments in full prompts: the probability of the first of two
   legal moves, among both as whole replies, when only the example in the request changes. `ours` is
   the engine's, `form` describes the brackets without an example, `first` and `second` show a legal
   move, as tasks did before the engine asked.
2. Replies (greedy, 48 tokens at most) to the first state of twelve environments: how many are read
   by the default rule, and by the strict one.
"""

from __future__ import annotations

import argparse

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import coevo.envs
from coevo.envs.core.chat import Chat
from coevo.envs.core.conventions import strict
from coevo.envs.core.parsing import ANSWER_FORMAT, answer, parse_move

PAIRS = {
    "leduc_poker": ("check", "raise"),
    "stackelberg": ("100/0", "0/100"),
    "iterated_game": ("A", "B"),
    "sanctioned_dilemma": ("A", "B"),
    "trust_and_split": ("10", "0"),
    "sequential_public_goods": ("1", "0"),
    "kuhn_poker": ("check", "bet"),
    "pig": ("roll", "stop"),
    "hiring": ("70", "90"),
}
OPTIONS = {"trust_and_split": {"messages": False}, "sanctioned_dilemma": {"mechanisms": []}}
GAMES = (
    *("kuhn_poker", "leduc_poker", "iterated_game", "sanctioned_dilemma", "stackelberg", "pig"),
    *("hiring", "tic_tac_toe", "lewis_signaling", "twenty_questions", "fishery", "nim"),
)
SEEDS = range(4)
EXAMPLE = "like this: [your move]"


def started(name: str, seed: int = 0) -> coevo.envs.core.env.TextEnv:
    env = coevo.envs.make(f"coevo/{name}-v0", **OPTIONS.get(name, {}))
    env.reset(seed=seed)
    return env


def worded(chat: Chat, words: str) -> list[dict[str, str]]:
    """Return a chat whose request gives another example."""
    asked = ANSWER_FORMAT.replace(EXAMPLE, words)
    return [{**m, "content": m["content"].replace(ANSWER_FORMAT, asked)} for m in chat]


class Model:
    def __init__(self, folder: str) -> None:
        self.tokens = AutoTokenizer.from_pretrained(folder)
        self.net = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def ids(self, chat: list[dict[str, str]]) -> list[int]:
        text = self.tokens.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        return self.tokens(text, add_special_tokens=False)["input_ids"]

    @torch.no_grad()
    def log_probability(self, chat: list[dict[str, str]], reply: str) -> float:
        start, said = self.ids(chat), self.tokens(reply, add_special_tokens=False)["input_ids"]
        said = [*said, self.tokens.eos_token_id]
        logits = self.net(torch.tensor([start + said])).logits[0, len(start) - 1 : -1]
        found = logits.log_softmax(-1).gather(1, torch.tensor(said)[:, None])
        return float(found.sum())

    @torch.no_grad()
    def reply(self, chat: list[dict[str, str]]) -> str:
        start = torch.tensor([self.ids(chat)])
        made = self.net.generate(
            start, max_new_tokens=48, do_sample=False, pad_token_id=self.tokens.eos_token_id
        )
        return str(self.tokens.decode(made[0, start.shape[1] :], skip_special_tokens=True))

    def first(self, chat: list[dict[str, str]], pair: tuple[str, str]) -> float:
        """Return the probability of the first of two moves, among both."""
        one, two = (self.log_probability(chat, answer(move)) for move in pair)
        return float(torch.sigmoid(torch.tensor(one - two)))


def anchors(model: Model) -> None:
    forms = {
        "ours": EXAMPLE,
        "form": "an opening bracket, the move, a closing bracket",
        "blank": "like this: [...]",
    }
    names = ("ours", "form", "blank", "first", "second")
    print(f"{'environment':26} {'pair':16} " + " ".join(f"{name:>6}" for name in names))
    for name, pair in PAIRS.items():
        env = started(name)
        chat = env.chat(env.agent_selection)
        words = forms | {k: f"for example {answer(m)}" for k, m in zip(("first", "second"), pair)}
        found = [model.first(worded(chat, w), pair) for w in words.values()]
        print(f"{name:26} {' '.join(pair):16} " + " ".join(f"{p:6.3f}" for p in found))


def shares(model: Model) -> None:
    total = {"strict": 0, "default": 0, "all": 0}
    print(f"\n{'environment':26} {'replies':>7} {'strict':>7} {'default':>7}")
    for name in GAMES:
        read = dict.fromkeys(total, 0)
        for seed in SEEDS:
            env = started(name, seed)
            seat = env.agent_selection
            said, legal = model.reply(list(env.chat(seat))), env.task.legal(seat)
            read["all"] += 1
            read["strict"] += parse_move(strict(said, legal), legal).ok
            read["default"] += env.task.read(seat, said).ok
            print("   ", repr(said)[:150], "->", env.task.read(seat, said).move)
        print(f"{name:26} {read['all']:7} {read['strict']:7} {read['default']:7}")
        total = {k: n + read[k] for k, n in total.items()}
    print(f"{'all':26} {total['all']:7} {total['strict']:7} {total['default']:7}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="folder of a Hugging Face causal model")
    torch.set_num_threads(1)
    model = Model(parser.parse_args().model)
    anchors(model)
    shares(model)
