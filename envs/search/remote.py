"""Finding passages on a server that speaks Search-R1's contract.

    POST {"queries": [..], "topk": k, "return_scores": true}
    -> {"result": [[{"document": {"id", "contents"}, "score"}, ..], ..]}, one list per query

`contents` is a title, with or without quotes, a line end and the text. What a server says is data:
it is checked, bounded and shown to agents in quotation marks only.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from coevo.envs.core.addresses import checked
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import DataError
from coevo.envs.search.corpus import Document
from coevo.envs.search.retrieval import Hit, LocalRetriever

MOST_QUERIES = 64
"""Queries of one request."""
LARGEST = 2**20
"""Bytes of an answer that are read."""
LONGEST = 10_000
"""Characters of a text, a title and an id that are kept; published passages have 100 words."""
LONGEST_PAUSE = 60.0
"""Seconds between two tries at most."""
REMEMBERED = 100_000
"""Answers that are kept, so that a query is asked once."""


@config
class Remote:
    """A server of passages; it has a corpus of its own, whose ids the questions may know."""

    name: Literal["remote"] = "remote"
    url: str
    """http on this machine, https, or http on a host of `allow_hosts`."""
    allow_hosts: tuple[str, ...] = ()
    """Further hosts that are asked without encryption."""
    timeout: Annotated[float, real(above=0)] = 10.0
    """Seconds until a request is given up, however busy the server looks."""
    tries: Annotated[int, whole(1, 100)] = 3
    pause: Annotated[float, real(0)] = 0.5
    """Seconds after the first failure; twice as many after every further one, 60 at most."""
    strict: bool = False
    """Whether a failure ends the run; else nothing is found, and `failed` is counted."""

    def __post_init__(self) -> None:
        checked(self.url, self.allow_hosts, "queries")

    def make(self, documents: Sequence[Document], k: int) -> RemoteRetriever:
        """Return the client; the documents of the corpus stay here."""
        return RemoteRetriever(self, k)


class SearchFailedError(DataError):
    """A server of passages did not answer, or not in the agreed form."""

    exit_code = 1


class RemoteRetriever(LocalRetriever):
    """Asks a server; every query once.

    Args:
        config: where and how.
        k: hits per query.
    """

    def __init__(self, config: Remote, k: int = 3) -> None:
        super().__init__(k)
        self._config, self._known = config, dict[tuple[str, int], list[Hit]]()

    def find(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        new = [q for q in queries if (q, k) not in self._known]
        for start in range(0, len(new), MOST_QUERIES):
            part = new[start : start + MOST_QUERIES]
            try:
                found = self._ask(part, k)
            except SearchFailedError:
                if self._config.strict:
                    raise
                self.counts["failed"] += len(part)
                continue
            if len(self._known) > REMEMBERED:
                self._known.clear()
            self._known.update({(q, k): hits for q, hits in zip(part, found, strict=True)})
        return [self._known.get((q, k), []) for q in queries]

    def _ask(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        sent = json.dumps({"queries": list(queries), "topk": k, "return_scores": True}).encode()
        tries, why = self._config.tries, "no answer"
        for number in range(tries):
            try:
                return hits_of(self._post(sent), len(queries), k)
            except (OSError, http.client.HTTPException, DataError) as error:
                why = str(error) or type(error).__name__
            if number + 1 < tries:
                time.sleep(min(self._config.pause * 2**number, LONGEST_PAUSE))
        raise SearchFailedError(f"{self._config.url}: {why} ({tries} tries)")

    def _post(self, sent: bytes) -> Any:
        """Send a request; redirects are not followed, and a server that drips is cut off."""
        parts = urlsplit(self._config.url)
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        seconds = self._config.timeout
        line = kind(str(parts.hostname), parts.port, timeout=seconds)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        with contextlib.closing(line):
            line.connect()
            # an answer without a length takes the socket from the line
            late = threading.Timer(seconds, _cut, [line.sock])
            late.start()  # the timeout of a connection begins anew with every byte
            try:
                line.request("POST", path, sent, {"Content-Type": "application/json"})
                answer = line.getresponse()
                text = answer.read(LARGEST + 1)
            finally:
                late.cancel()
        if answer.status != http.HTTPStatus.OK:
            raise DataError(f"status {answer.status}, 200 is expected")
        if len(text) > LARGEST:
            raise DataError(f"an answer of more than {LARGEST} bytes")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"the answer is not JSON: {error}") from None


def _cut(ours: socket.socket) -> None:
    """End a connection that another thread waits for."""
    with contextlib.suppress(OSError):
        ours.shutdown(socket.SHUT_RDWR)


def hits_of(answer: Any, queries: int, k: int) -> list[list[Hit]]:
    r"""Read an answer: a list of hits per query, best first, equal scores by id.

    Raises:
        DataError: it has another form.

    >>> hit = {"document": {"id": "d", "contents": '"Suna"\nmayor Kimo'}, "score": 2}
    >>> hits_of({"result": [[hit]]}, 1, 3)
    [[Hit(doc_id='d', score=2.0, title='Suna', text='mayor Kimo')]]
    """
    lists = answer.get("result") if isinstance(answer, Mapping) else None
    if not isinstance(lists, list) or len(lists) != queries:
        raise DataError(f"`result` must be a list of {queries} lists of hits")
    try:
        found = [[_hit(entry) for entry in hits] for hits in lists]
    except (TypeError, LookupError, ValueError, AttributeError, OverflowError) as error:
        said = f"{type(error).__name__} {error}"[:200]
        raise DataError(f"a hit must be {{document: {{id, contents}}, score}}: {said}") from None
    return [sorted(hits, key=lambda h: (-h.score, h.doc_id))[:k] for hits in found]


def _hit(entry: Mapping[str, Any]) -> Hit:
    document, score = entry["document"], float(entry["score"])
    if not math.isfinite(score):
        raise ValueError("a score that is no number")
    title, _, text = _whole(document["contents"]).partition("\n")
    title = title.strip().strip('"')
    given = (title[:LONGEST], text.strip()[:LONGEST]) if text.strip() else ("", title[:LONGEST])
    return Hit(_whole(str(document["id"]))[:LONGEST], score, *given)


def _whole(text: Any) -> str:
    """Return a text with a mark in the place of half a surrogate pair, which no file can hold."""
    if not isinstance(text, str):
        raise TypeError(f"{type(text).__name__} in the place of a text")
    return text.encode("utf-8", "replace").decode()
