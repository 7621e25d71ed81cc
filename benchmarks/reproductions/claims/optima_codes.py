"""Optima: a team learns to be right and terse from its own best plays."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from coevo.benchmarks.reproductions.claim import Claim, Expect, Found, value
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.rewards import RewardModule, Rewards
from coevo.envs.discussion.digit_message import FORMS, SENDER
from coevo.trainers.algorithm import Algorithm

WORDS = {form: len(text.split()) for form, text in FORMS.items()}
LOSS = {"sentence": 1.5, "code": 2.5, "noise": 4.0}
"""Of the start model, per word of a message."""


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
            worth = -WORDS[turn.move] / max(WORDS.values())
        return dict.fromkeys(episode.agents, worth)


def _weighted(**weights: float) -> Callable[[Algorithm, int], Algorithm]:
    terms = tuple(MessageTerm(of=name) for name in ("brevity", "readability"))

    def edit(made: Algorithm, seed: int) -> Algorithm:
        advantage = replace(made.advantage, reward_weights=weights)
        return replace(made, rewards=terms, advantage=advantage)

    return edit


def _measure(end: Trained) -> dict[str, float]:
    names = ("accuracy", "words", "form/sentence", "form/code")
    return {name.removeprefix("form/"): end.last(10, f"outcome/{name}") for name in names}


def _saved(found: Found) -> list[float]:
    return [1 - share for share in value("sft.words / naive.words", found)]


BOTH = _weighted(brevity=0.6, readability=1.0)
THETA = "cycle.make_items.to.above"
CLAIM = Claim(
    property="""Learning from its own best plays, a team becomes right and terse; which form it
        settles on follows the terms of the reward.""",
    source="""Chen et al. 2024, Optima, arXiv 2410.08115 (the three terms of the reward and their
        ablation); the references are which form R is highest for""",
    minutes=12.0,
    on="table",
    setting="""`coevo/digit_message-v0` with listed forms, two seats on one table. The sender sees a
        digit and says it in a `sentence` (12 words), as a `code` (2), or makes `noise` (1), which
        ends the play, since it cannot be answered; the receiver sees its own digit and the message,
        and answers the sum modulo 5. A message's loss per word under the start model is set to 1.5,
        2.5 and 4, so that it is worth R = right - 0.6 words / 12 + 1 / loss: 1.07, 1.30 and 0.20 if
        it is right (noise never is).
        `optima` and its variants: 20 tasks an update, each played 10 times, Adam 0.2, 50 updates;
        the figures are those of the last 10.""",
    measured="""Accuracy, words of a message, and which form it takes, for iSFT, iDPO and both in
        turns; without the term of the words (1.67 for a sentence, 1.40 for a code); without that
        of the loss (0.40, 0.90); and for imitation of what is right alone, the naive control.""",
    chosen="""Digits below 5, sizes. theta is 0.6; it is 1 where R is larger, and 0 for accuracy
        alone.""",
    world=World("coevo/digit_message-v0", 50, {"listed": True}),
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
        Expect("right alone: accuracy", "naive.accuracy"),
        Expect("right alone: words", "naive.words"),
        Expect("iSFT: accuracy", "sft.accuracy", low=0.9),
        Expect("iSFT: codes", "sft.code", 1.0, low=0.9),
        Expect("iSFT: words saved against right alone", _saved, low=0.5),
        Expect("iDPO: accuracy", "dpo.accuracy", low=0.9),
        Expect("iDPO: codes", "dpo.code", 1.0, low=0.9),
        Expect("hybrid: accuracy", "hybrid.accuracy", low=0.9),
        Expect("hybrid: codes", "hybrid.code", 1.0, low=0.9),
        Expect("iSFT without the token term: sentences", "wordy.sentence", 1.0, 0.9),
        Expect("iSFT without the loss term: codes", "strange.code", 1.0, 0.9),
    ),
)
