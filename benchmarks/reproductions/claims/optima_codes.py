"""Optima: a team learns to be right and terse from its own best plays."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect, Found, value
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import Micro, numbered, world
from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.core.rewards import RewardModule, Rewards
from coevo.envs.core.task import NoArguments
from coevo.trainers.algorithm import Algorithm

SENDER, RECEIVER = "sender_0", "receiver_0"
DIGITS = 5
TOKENS = {"sentence": 12, "code": 2, "noise": 1}
LOSS = {"sentence": 1.5, "code": 2.5, "noise": 4.0}
"""Of the start model, per token of a message."""


class Codes(Micro[NoArguments]):
    """A sender says its digit; a receiver adds its own, unless the message was noise."""

    env_id = "coevo/codes-v0"
    seats = (SENDER, RECEIVER)
    payoff_range = (0.0, 1.0)
    about = "Two partners add their digits."

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        sent, own = (int(d) for d in rng.integers(DIGITS, size=2))
        self.task_id, self.said, self.right = f"{sent}+{own}", "", False
        tell = f"You are to tell your digit, {sent}."
        self.said = yield One(SENDER, terse=tell, moves=tuple(TOKENS))
        if self.said != "noise":
            shown = f"You have {own}. Your partner's {self.said} says {sent}."
            answer = yield One(RECEIVER, terse=shown, moves=numbered(DIGITS))
            self.right = int(answer) == (sent + own) % DIGITS
            yield Pay(dict.fromkeys(self.seats, float(self.right)))

    def outcome(self) -> dict[str, float]:
        found = {"right": float(self.right), "tokens": float(TOKENS.get(self.said, 0))}
        return found | {f"form/{f}": float(f == self.said) for f in TOKENS}


@config
class MessageTerm(RewardModule):
    """Pays both seats for the sender's message: minus its share of the longest, or 1 / its loss."""

    name: Literal["message_term"] = "message_term"
    of: Literal["brevity", "readability"] = "brevity"

    @property
    def component(self) -> str:
        return self.of

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        if turn.agent != SENDER or turn.move is None:
            return {}
        worth = 1 / LOSS[turn.move]
        if self.of == "brevity":
            worth = -TOKENS[turn.move] / max(TOKENS.values())
        return dict.fromkeys(episode.agents, worth)


raw_env, env = world(Codes, "one digit told, two added", kind="cooperative")


def _weighted(**weights: float) -> Callable[[Algorithm, int], Algorithm]:
    terms = tuple(MessageTerm(of=name) for name in ("brevity", "readability"))

    def edit(made: Algorithm, seed: int) -> Algorithm:
        advantage = replace(made.advantage, reward_weights=weights)
        return replace(made, rewards=terms, advantage=advantage)

    return edit


def _measure(end: Trained) -> dict[str, float]:
    names = ("right", "tokens", "form/sentence", "form/code")
    return {name.removeprefix("form/"): end.last(10, f"outcome/{name}") for name in names}


def _saved(found: Found) -> list[float]:
    return [1 - share for share in value("sft.tokens / naive.tokens", found)]


BOTH = _weighted(brevity=0.6, readability=1.0)
THETA = "cycle.make_items.to.above"
CLAIM = Claim(
    property="""Learning from its own best plays, a team becomes right and terse; which form it
        settles on follows the terms of the reward.""",
    source="""Chen et al. 2024, Optima, arXiv 2410.08115 (the three terms of the reward and their
        ablation); the references are which form R is highest for""",
    minutes=12.0,
    on="toy",
    setting="""Two seats on one table. The sender sees a digit and says it in a `sentence` (12
        tokens), as a `code` (2), or makes `noise` (1), which ends the play, since it cannot be
        answered; the receiver sees its own digit and the message, and answers the sum modulo 5. A
        message's loss per token under the start model is 1.5, 2.5 and 4, so that it is worth R =
        right - 0.6 tokens / 12 + 1 / loss: 1.07, 1.30 and 0.20 if it is right (noise never is).
        `optima` and its variants: 20 tasks an update, each played 10 times, Adam 0.2, 50 updates;
        the figures are those of the last 10.""",
    measured="""Accuracy, tokens of a message, and which form it takes, for iSFT, iDPO and both in
        turns; without the term of the tokens (1.67 for a sentence, 1.40 for a code); without that
        of the loss (0.40, 0.90); and for imitation of what is right alone, the naive control.""",
    chosen="""Digits below 5, sizes. theta is 0.6; it is 1 where R is larger, and 0 for accuracy
        alone.""",
    world=World(Codes.env_id, 50),
    changes={"collect.episodes": 200, "optim.lr": 0.2, "optim.epochs": 1, "optim.warmup": 0},
    arms={
        "sft": Arm("optima", edit=BOTH),
        "dpo": Arm("optima:dpo", edit=BOTH),
        "hybrid": Arm("optima:hybrid", edit=BOTH),
        "wordy": Arm("optima", {THETA: 1.0}, edit=_weighted(brevity=0.0, readability=1.0)),
        "strange": Arm("optima", edit=_weighted(brevity=0.6, readability=0.0)),
        "naive": Arm("optima", {THETA: 0.0}, edit=_weighted(brevity=0.0, readability=0.0)),
    },
    measure=_measure,
    expect=(
        Expect("right alone: accuracy", "naive.right"),
        Expect("right alone: tokens", "naive.tokens"),
        Expect("iSFT: accuracy", "sft.right", low=0.9),
        Expect("iSFT: codes", "sft.code", 1.0, low=0.9),
        Expect("iSFT: tokens saved against right alone", _saved, low=0.5),
        Expect("iDPO: accuracy", "dpo.right", low=0.9),
        Expect("iDPO: codes", "dpo.code", 1.0, low=0.9),
        Expect("hybrid: accuracy", "hybrid.right", low=0.9),
        Expect("hybrid: codes", "hybrid.code", 1.0, low=0.9),
        Expect("iSFT without the token term: sentences", "wordy.sentence", 1.0, 0.9),
        Expect("iSFT without the loss term: codes", "strange.code", 1.0, 0.9),
    ),
)
