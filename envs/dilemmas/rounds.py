"""What repeated dilemmas share: rounds of an optional message each and then one joint choice.

In a round the seats first speak in turn (who starts is drawn for the first round and alternates),
each seeing what was said before; then all choose at the same time. All replies of a seat in one
game round carry its number as `Turn.round`, so that they may be credited as one time-step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from coevo.envs.core.chat import escape
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Parse, Status, answer, normalise, parse_move
from coevo.envs.dilemmas.options import flag

MESSAGE_LENGTH = 500
"""Characters of a message that reach the others."""
TERSE_MESSAGE = 48
"""Characters of a message that a terse prompt has room for."""
MESSAGE_FORMAT = (
    "When you are asked for a message, put it between <message> and </message>; the others see "
    f"nothing else of your reply. Up to {MESSAGE_LENGTH} characters reach them."
)
_TAGGED = re.compile(r"<(action|choice|proposal)>\s*([^<>\[\]\n]{1,200}?)\s*</\1>\s*\Z", re.I)
_BARE = re.compile(r"<\s*([^<>/\[\]\n]{1,200}?)\s*>\s*\Z")
_MESSAGE = re.compile(r"<message>(.*?)</message>", re.I | re.S)
_SAY = re.compile(r"\[\s*say\s*:(.*)\]\s*\Z", re.I | re.S)


class RepeatedGame(TextEnv):
    """Base of tasks in rounds of talk and simultaneous choice.

    Args:
        rounds: game rounds.
        messages: whether each seat sends one message before the choice.
        unparsable: legal choice that is played for a reply that gives none, instead of what the
            illegal-move policy does; the reply still counts as an illegal one. None for the policy.
        **kwargs: of TextEnv.
    """

    def __init__(
        self,
        *,
        rounds: int = 10,
        messages: bool = False,
        unparsable: str | int | None = None,
        **kwargs: Any,
    ) -> None:
        if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= 10_000:
            raise ConfigError(f"rounds={rounds!r} must be a whole number from 1 to 10000")
        self.rounds, self.messages = rounds, flag("messages", messages)
        super().__init__(**kwargs)
        self.unparsable = None if unparsable is None else self._fallback(str(unparsable))

    # ---- What a subclass says -----------------------------------------------------------------

    def _choices(self, agent: str) -> Sequence[str]:
        """Give the legal choices of a seat; the same in every round."""
        raise NotImplementedError  # abstract

    def _new_game(self) -> None:
        """Draw whatever chance decides, for all rounds: equal seeds must meet equal luck."""

    def _resolve(self, moves: dict[str, str]) -> dict[str, float]:
        """Pay the choices of a round and remember them."""
        raise NotImplementedError  # abstract

    def _facts(self, agent: str) -> dict[str, Any]:
        """Give what a seat knows, as numbers for scripted players."""
        return {}

    # ---- Rounds -------------------------------------------------------------------------------

    def _begin(self, options: Mapping[str, Any]) -> None:
        self.round = 0
        self.starter = int(self.np_random.integers(len(self.possible_agents)))
        self._new_game()
        self._open_talk()

    def _open_talk(self) -> None:
        """Let everybody speak in turn, from the starter of this round on."""
        seats, first = self.possible_agents, self.starter + self.round
        order = [seats[(first + i) % len(seats)] for i in range(len(seats))]
        self.speakers: list[str] = order if self.messages else []
        self.said: dict[str, str] = {}

    @property
    def over(self) -> bool:
        """Whether all rounds were played."""
        return self.round >= self.rounds

    def speaking(self, agent: str) -> bool:
        """Tell whether the seat is asked for a message."""
        return self.speakers[:1] == [agent]

    def others(self, agent: str) -> list[str]:
        """Give the other seats in order."""
        return [a for a in self.possible_agents if a != agent]

    def _to_move(self) -> Sequence[str]:
        if self.over:
            return []
        return self.speakers[:1] or self.possible_agents

    def _legal(self, agent: str) -> Sequence[str] | None:
        return None if self.speaking(agent) else self._choices(agent)

    def _play(self, moves: dict[str, str]) -> dict[str, float]:
        if self.speakers:
            speaker = self.speakers.pop(0)
            self.said[speaker] = moves[speaker]
            return {}
        paid = self._resolve(moves)
        self.round += 1
        if not self.over:
            self._open_talk()
        return paid

    # ---- Replies ------------------------------------------------------------------------------

    def _read(self, agent: str, text: str) -> Parse:
        if self.speaking(agent):
            return Parse(message(text), Status.LEGAL)
        return read_choice(text, self._choices(agent))

    def _describe(self, agent: str, turn: Turn) -> None:
        super()._describe(agent, turn)
        turn.round = self.round
        turn.notes["phase"] = "message" if self.speaking(agent) else "choice"

    def _offence(self, agent: str, parse: Parse, turn: Turn) -> None:
        if self.unparsable is None:
            super()._offence(agent, parse, turn)
            return
        turn.move = self.unparsable
        self._accept(agent, self.unparsable, turn)

    def _fallback(self, given: str) -> str:
        known = [set(self._choices(a)) for a in self.possible_agents]
        found = [
            c for c in self._choices(self.possible_agents[0]) if normalise(c) == normalise(given)
        ]
        if len(found) != 1 or not all(found[0] in own for own in known):
            names = ", ".join(sorted(set.intersection(*known)))
            raise ConfigError(f"unparsable={given!r} must be a choice of every seat: {names}")
        self.options["unparsable"] = found[0]
        return found[0]

    # ---- Words --------------------------------------------------------------------------------

    def heard(self, agent: str, most: int = MESSAGE_LENGTH) -> list[str]:
        """Quote what this seat was told in this round; in a growing chat, since its own message."""
        speakers = [s for s in self.said if s != agent]
        if self.prompt_style == "full" and agent in self.said:
            order = list(self.said)
            speakers = order[order.index(agent) + 1 :]
        texts = {s: self.said[s] for s in speakers}
        cut = {s: t if len(t) <= most else f"{t[:most]}…" for s, t in texts.items()}
        verb = " said" if self.prompt_style == "full" else ""
        return [f'{self.name_for(s)}{verb}: "{t}"' for s, t in cut.items()]

    def name_for(self, seat: str) -> str:
        """Name another seat."""
        if self.prompt_style == "full":
            return seat
        return "Other" if len(self.possible_agents) == 2 else f"p{self.possible_agents.index(seat)}"

    def _private_info(self, agent: str) -> dict[str, Any]:
        return {
            "player": self.possible_agents.index(agent),
            "round": self.round,
            "rounds": self.rounds,
            "messages": dict(self.said),
            **self._facts(agent),
        }


def message(text: str) -> str:
    """Read a message: what stands in `<message>` tags or in `[say: ...]`, else the whole reply.

    It is one line, escaped, without the quotation marks that prompts set around it.

    >>> message('Thinking. <message>I have "rock".</message>')
    "I have 'rock'."
    >>> message("[say: hello]"), message("<think>lie</think> [say: I have [paper]]")
    ('hello', 'I have ⟦paper⟧')
    """
    said = str(parse_move(text, None).move)
    tagged, bracketed = _MESSAGE.findall(said), _SAY.search(said)
    if tagged:
        said = tagged[-1]
    elif bracketed:
        said = bracketed.group(1)
    line = " ".join(escape(said).replace('"', "'").split())
    return line if len(line) <= MESSAGE_LENGTH else line[:MESSAGE_LENGTH]


def read_choice(text: str, legal: Sequence[str]) -> Parse:
    """Read a choice: `[A]`, `<action>A</action>`, `<proposal>5</proposal>` or `<A>` at the end.

    >>> read_choice("I keep half. <proposal>5</proposal>", ["0", "5"]).move
    '5'
    >>> read_choice("So <b>", ["A", "B"]).move
    'B'
    """
    found = _TAGGED.search(text)
    if found:
        text = text[: found.start()] + answer(found.group(2))
    bare = None if found else _BARE.search(text)
    if bare and normalise(bare.group(1)) in map(normalise, legal):
        text = text[: bare.start()] + answer(bare.group(1))
    return parse_move(text, legal)
