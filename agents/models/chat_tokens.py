"""From chats to token ids, in pieces that never change once written.

A chat template is rendered with place-holders for the contents, so that template text is
tokenised with its special tokens and contents without: text of an agent can never become a
control token. A growing chat appends the ids of its new messages to the ids that were really
sampled; the past is not tokenised again.
"""

from __future__ import annotations

import functools
import re
import threading
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jinja2.exceptions import TemplateError

from coevo.envs.core.chat import Chat, Message, Role
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.quoting import encodable
from coevo.envs.core.remembering import remembered

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_DIALOGUE: tuple[Role, ...] = ("user", "assistant", "user")
_MARK = re.compile("\ue000(\\d+)\ue001")
PLAIN_TEMPLATE = (
    "{% if bos_token %}{{ bos_token }}{% endif %}"
    "{% for m in messages %}{{ m['role'] | capitalize }}: {{ m['content'] }}"
    "{% if m['role'] == 'assistant' %}{{ eos_token }}{% endif %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)
"""For models without a chat template; a bare line feed after a block would be trimmed."""

CONTENT_BYTES = 64 * 2**20
"""Of messages, and of template text, whose ids are remembered; for each tokenizer."""

TEMPLATE_CHARACTERS = 100_000
"""Most that a template may write for each message."""

_ONE_AT_A_TIME = threading.Lock()
"""A call sets how special tokens are read on the tokenizer that all threads share."""

Piece = str | int
"""Template text, or the index of the message whose content stands there."""
Rendered = tuple[Piece, ...]


class ChatTokens:
    """Tokenises chats for one tokenizer."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Args: tokenizer: with its chat template, if it has one."""
        self.tokenizer = tokenizer
        self.template = PLAIN_TEMPLATE
        if tokenizer.chat_template:
            self.template = tokenizer.get_chat_template()  # of several, the default one
        self._control_ids = self._find_control_ids()
        self._rendered = functools.lru_cache(maxsize=512)(self._render)
        self._content = remembered(CONTENT_BYTES)(self._encode_content)
        self._control = remembered(CONTENT_BYTES)(self._encode_control)
        self.end_ids = self._find_end_ids()
        self.thought_ids = self._find_thought_ids()
        """Ids of <think> and </think>, where the vocabulary has one for each."""
        self.opens_thought = self._opens_thought()
        """Whether the template writes <think> before a reply, and leaves it open."""

    def prompt(self, chat: Chat) -> list[int]:
        """Return the ids of a chat up to where the assistant begins to write."""
        return self._encode(chat, 0)

    def continuation(self, chat: Chat, spoken: int, sampled: Sequence[int]) -> list[int]:
        """Return the ids that follow a sampled reply, up to where the assistant writes next.

        Args:
            chat: the whole chat; `chat[spoken]` is the assistant's reply.
            spoken: index of that reply.
            sampled: ids that were sampled for it; an end token is not written twice.
        """
        ids = self._encode(chat, spoken + 1)
        if sampled and sampled[-1] in self.end_ids and sampled[-1] in ids:
            # Some templates put a space before their end token.
            at = ids.index(sampled[-1])
            if not self._spelled(ids[:at]).strip():
                return ids[at + 1 :]
        return ids

    def begun(self, text: str) -> list[int]:
        """Return the ids of what a reply begins with."""
        return list(self._content(text)) if text else []

    def answer(self, text: str) -> list[int]:
        """Return the ids of a reply in its usual spelling, end token included."""
        return [*self._content(text), self.end_ids[0]]

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of sampled ids without special tokens."""
        return self._spelled(ids, skip_special_tokens=True)

    def _encode(self, chat: Chat, start: int) -> list[int]:
        """Tokenise what stands after the content of message `start - 1` (all, for 0)."""
        taken = self._accepted(chat)
        start = max(start - (len(chat) - len(taken)), 0)
        ids: list[int] = []
        for piece in _after(self._pieces(taken), start):
            ids += (
                self._control(piece)
                if isinstance(piece, str)
                else self._content(taken[piece]["content"])
            )
        return ids

    def _accepted(self, chat: Chat) -> Chat:
        """Return the chat as the template takes it: some have no system role of their own."""
        if isinstance(self._rendered(_roles(chat)), str) and _opens_with_system(chat):
            text = f"{chat[0]['content']}\n\n{chat[1]['content']}"
            return (Message(role="user", content=text), *chat[2:])
        return chat

    def _pieces(self, chat: Chat) -> Rendered:
        rendered = self._rendered(_roles(chat))
        if isinstance(rendered, str):
            raise ConfigError(f"the chat template does not take the roles {_roles(chat)}{rendered}")
        return rendered

    def _render(self, roles: tuple[str, ...]) -> Rendered | str:
        """Return the pieces of a chat with these roles, or why the template does not take it."""
        marks = [{"role": r, "content": f"\ue000{i}\ue001"} for i, r in enumerate(roles)]
        try:
            text = self.tokenizer.apply_chat_template(
                marks, chat_template=self.template, tokenize=False, add_generation_prompt=True
            )
        except MemoryError:
            raise
        except Exception as error:  # a template is a program: it may raise anything
            named = "" if isinstance(error, TemplateError) else f"{type(error).__name__}: "
            return f": {named}{str(error)[:300]}"
        if len(str(text)) > TEMPLATE_CHARACTERS * (1 + len(roles)):
            return f": it writes {len(str(text))} characters around {len(roles)} messages"
        parts = _MARK.split(str(text))
        pieces = tuple(int(p) if i % 2 else p for i, p in enumerate(parts) if i % 2 or p)
        left_out = [r for i, r in enumerate(roles) if i not in pieces]
        return f": it leaves out the content of {', '.join(left_out)}" if left_out else pieces

    def _encode_content(self, text: str) -> array[int]:
        ids = self._ids(encodable(text), split_special_tokens=True)
        # Tokenizers that look whole words up find control tokens all the same.
        return array("i", (i for i in ids if i not in self._control_ids))

    def _encode_control(self, text: str) -> array[int]:
        return array("i", self._ids(text))

    def _ids(self, text: str, **kwargs: Any) -> list[int]:
        with _ONE_AT_A_TIME:
            return list(self.tokenizer(text, add_special_tokens=False, **kwargs)["input_ids"])

    def _spelled(self, ids: Sequence[int], **kwargs: Any) -> str:
        return str(self.tokenizer.decode(list(ids), clean_up_tokenization_spaces=False, **kwargs))

    def _find_control_ids(self) -> frozenset[int]:
        """Find the tokens that text must never become; unknown characters may become `unk`."""
        added = self.tokenizer.added_tokens_decoder.items()
        special = {i for i, token in added if token.special} | set(self.tokenizer.all_special_ids)
        if self.tokenizer.unk_token_id != self.tokenizer.eos_token_id:
            special.discard(self.tokenizer.unk_token_id)
        return frozenset(special)

    def _find_end_ids(self) -> tuple[int, ...]:
        """Find the tokens that end a reply: the template's own first, then the tokenizer's."""
        pieces = self._pieces(tuple(Message(role=r, content="") for r in _DIALOGUE))
        after = _after(pieces, 2)
        written = self._control(after[0]) if after and isinstance(after[0], str) else []
        solid = [i for i in written if self._spelled([i]).strip()]
        ends = [i for i in solid[:1] if i in self._control_ids]
        if self.tokenizer.eos_token_id is not None:
            ends.append(int(self.tokenizer.eos_token_id))
        if not ends:
            raise ConfigError("the tokenizer has no end-of-turn token: set its eos_token")
        return tuple(dict.fromkeys(ends))

    def _find_thought_ids(self) -> tuple[int, int] | None:
        found = []
        for tag in ("<think>", "</think>"):
            ids = self._control(tag)
            if len(ids) != 1 or self.text(ids) != tag:
                return None
            found.append(ids[0])
        return found[0], found[1]

    def _opens_thought(self) -> bool:
        if self.thought_ids is None:
            return False
        opens, closes = self.thought_ids
        chat = tuple(Message(role=r, content="") for r in _DIALOGUE)
        written = [i for i in self._encode(chat, len(chat)) if i in (opens, closes)]
        return written[-1:] == [opens]


def _opens_with_system(chat: Chat) -> bool:
    return len(chat) > 1 and chat[0]["role"] == "system"


def _roles(chat: Chat) -> tuple[str, ...]:
    return tuple(m["role"] for m in chat)


def _after(pieces: Rendered, start: int) -> Rendered:
    """Return the pieces after the content of message `start - 1`."""
    return pieces if start == 0 else pieces[pieces.index(start - 1) + 1 :]
