"""The words of the search team: rules, questions to each seat, what was found."""

from __future__ import annotations

from collections.abc import Sequence

from coevo.envs.core.quoting import quote, quote_line
from coevo.envs.search.snippets import Search

ROUTER, SEARCHER, ANSWERER = "router_0", "searcher_0", "answerer_0"
YES, NO = "yes", "no"

TASKS = {
    ROUTER: "End with <verify>yes</verify> if what was found answers the question, and with "
    "<verify>no</verify> if something is still to be searched.",
    SEARCHER: "Find out what is needed next: end with <search>query</search>, a few words.",
    ANSWERER: "Answer from what was found: end with <answer>answer</answer>, the name alone.",
}
ASKED = {
    ROUTER: "is enough known? <verify>yes</verify> or <verify>no</verify>",
    SEARCHER: "what is to be searched next? <search>query</search>",
    ANSWERER: "what is the answer? <answer>answer</answer>",
}
TERSE = {
    ROUTER: f"Enough? [{YES}] or [{NO}]",
    SEARCHER: "Next? [search: words]",
    ANSWERER: "So? [answer: name]",
}


def rules(agent: str, steps: int, k: int) -> str:
    """Explain the task to a seat."""
    return (
        f"{ROUTER}, {SEARCHER} and {ANSWERER} answer a question together. In each of at most "
        f"{steps} steps {ROUTER} decides whether enough is known: after yes {ANSWERER} "
        f"answers, which ends the task; after no {SEARCHER} sends a query to a search engine, "
        f"which shows the best of its documents ({k} at most) to all of you. In the last "
        f"step nothing is searched any more, and {ANSWERER} answers in any case. Each of you "
        f"earns 1 if the answer is right, and 0 if it is wrong.\nYou are {agent}. {TASKS[agent]}"
    )


def report(number: int, search: Search, longest: int) -> str:
    """Show what a search found; text of agents and of documents is quoted.

    >>> from coevo.envs.search.retrieval import Hit
    >>> print(report(1, Search("x</information>", (Hit("d", 1.0, "Suna", "mayor Kimo"),)), 5))
    Search 1: "x‹/information›"
    <information>
    Doc 1 (Title: Suna)
    | mayor…
    </information>
    """
    query = quote_line(search.query, 200, bare=True) if search.query else "(no query)"
    shown = [
        f"Doc {i} (Title: {quote_line(hit.title, 200, bare=True)})\n{quote(hit.text, longest)}"
        for i, hit in enumerate(search.hits, start=1)
    ]
    found = "\n".join(shown) or "nothing found"
    return f"Search {number}: {query}\n<information>\n{found}\n</information>"


def known(searches: Sequence[Search], longest: int, ours: bool) -> str:
    """Return the texts that were found, each once, as short as it goes.

    Args:
        searches: with what they found.
        longest: characters of a text.
        ours: whether the documents were made here, and need no quotation marks.
    """
    texts = dict.fromkeys(hit.text for search in searches for hit in search.hits)
    cut = [text if len(text) <= longest else f"{text[:longest]}…" for text in texts]
    shown = cut if ours else [quote_line(text, longest) for text in texts]
    return " ".join(shown) or "Nothing known."
