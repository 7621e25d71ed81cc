"""Whether the words that ask for an answer move the choices of a model, and how replies are read.

    python -P studies/answer_words.py --model FOLDER [--part words|replies]

`words`    For the first state of nine environments in full prompts: the probability of the first
           of two legal moves, among both as whole replies, when only the example in the request
           changes. `ours` is the engine's; `other` and `none` are another that is no move, and no
           example; `first` and `second` are the legal moves, as tasks showed one of them once.
`replies`  Greedy replies of at most 48 tokens to the first state of twelve environments: how many
           are read by the default rule and by the strict one.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Iterable
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import coevo.envs
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
    "scored_reports": ("70", "90"),
}
"""Environment -> two of its legal moves."""
OPTIONS = {"trust_and_split": {"messages": False}, "sanctioned_dilemma": {"mechanisms": []}}
GAMES = (
    *("kuhn_poker", "leduc_poker", "iterated_game", "sanctioned_dilemma", "stackelberg", "pig"),
    *("scored_reports", "tic_tac_toe", "lewis_signaling", "twenty_questions", "fishery", "nim"),
)
SEEDS = range(4)
EXAMPLE = ", like this: [your move]"
EXAMPLES = {"ours": EXAMPLE, "other": ", like this: [your choice]", "none": ""}
Chat = Iterable[Any]


def started(name: str, seed: int = 0) -> Any:
    """Return an environment at its first state."""
    env = coevo.envs.make(f"coevo/{name}-v0", **OPTIONS.get(name, {}))
    env.reset(seed=seed)
    return env


def worded(chat: Chat, words: str) -> list[dict[str, str]]:
    """Return a chat whose request gives another example."""
    asked = ANSWER_FORMAT.replace(EXAMPLE, words)
    return [{**m, "content": m["content"].replace(ANSWER_FORMAT, asked)} for m in chat]


class Model:
    """A causal model that answers chats."""

    def __init__(self, folder: str) -> None:
        self.tokens = AutoTokenizer.from_pretrained(folder)
        self.net = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def ids(self, chat: Chat) -> list[int]:
        """Return the tokens of a chat that is to be answered."""
        text = self.tokens.apply_chat_template(
            list(chat), add_generation_prompt=True, tokenize=False
        )
        return list(self.tokens(text, add_special_tokens=False)["input_ids"])

    @torch.no_grad()
    def first(self, chat: Chat, pair: tuple[str, str]) -> float:
        """Return the probability of the first of two moves, among both."""
        start = self.net(torch.tensor([self.ids(chat)]), use_cache=True)
        found = []
        for move in pair:
            said = self.tokens(answer(move), add_special_tokens=False)["input_ids"]
            said = torch.tensor([[*said, self.tokens.eos_token_id]])
            rest = self.net(said, past_key_values=copy.deepcopy(start.past_key_values)).logits[0]
            logits = torch.cat([start.logits[0, -1:], rest[:-1]]).log_softmax(-1)
            found.append(logits.gather(1, said.T).sum())
        return float(torch.sigmoid(found[0] - found[1]))

    @torch.no_grad()
    def reply(self, chat: Chat) -> str:
        """Return the greedy reply."""
        start = torch.tensor([self.ids(chat)])
        end = self.tokens.eos_token_id
        made = self.net.generate(start, max_new_tokens=48, do_sample=False, pad_token_id=end)
        return str(self.tokens.decode(made[0, start.shape[1] :], skip_special_tokens=True))


def row(name: str, *cells: float | str) -> None:
    """Write a line of a table."""
    shown = (f"{c:8.3f}" if isinstance(c, float) else f"{c:>8}" for c in cells)
    sys.stdout.write(f"{name:24}{' '.join(shown)}\n")
    sys.stdout.flush()


def words(model: Model) -> None:
    """Print the probabilities of the first move."""
    row("", *EXAMPLES, "first", "second")
    for name, pair in PAIRS.items():
        env = started(name)
        moves = [f", for example {answer(move)}" for move in pair]
        chats = [worded(env.chat(env.agent_selection), w) for w in (*EXAMPLES.values(), *moves)]
        row(name, *(model.first(chat, pair) for chat in chats))


def replies(model: Model) -> None:
    """Print how many replies are read, and the replies."""
    total, said = [0, 0, 0], []
    for name in GAMES:
        read = [0, 0, 0]
        for seed in SEEDS:
            env = started(name, seed)
            seat = env.agent_selection
            text, legal = model.reply(env.chat(seat)), env.task.legal(seat)
            found = env.task.read(seat, text)
            read = [
                read[0] + 1,
                read[1] + parse_move(strict(text, legal), legal).ok,
                read[2] + found.ok,
            ]
            said.append(f"{name} {found.move or found.miss}: {text!r}")
        row(name, *map(str, read))
        total = [sum(pair) for pair in zip(total, read, strict=True)]
    row("replies, strict, default", *map(str, total))
    sys.stdout.write("\n".join(said) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="folder of a Hugging Face causal model")
    parser.add_argument("--part", choices=("words", "replies"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    parts = {"words": words, "replies": replies}
    for part in [given.part] if given.part else parts:
        parts[part](Model(given.model))
