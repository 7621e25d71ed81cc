"""Seconds to index many passages with BM25, and to find the best ten for many queries.

Passages are drawn: words by Zipf's law from a vocabulary of made-up words, as many to a passage as
a paragraph of an encyclopaedia has. A query is words of one passage, drawn without replacement.
Seconds are those of the process's CPU, on one thread.

    OMP_NUM_THREADS=1 python studies/search_speed.py > search_speed.txt
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from coevo.envs.search.corpus import Document
from coevo.envs.search.retrievers import Bm25

VOCABULARY, LENGTH, ASKED, HITS = 200_000, 100, 6, 10
"""Words that there are, of a passage and of a query, and hits of a query."""


def corpus(count: int, rng: np.random.Generator) -> list[Document]:
    """Return passages of drawn words."""
    ranks = np.arange(1, VOCABULARY + 1)
    odds = 1 / ranks
    drawn = rng.choice(VOCABULARY, size=(count, LENGTH), p=odds / odds.sum())
    words = [_word(i) for i in range(VOCABULARY)]
    return [
        Document(str(i), f"title {_word(i)}", " ".join(words[w] for w in row))
        for i, row in enumerate(drawn)
    ]


def _word(number: int) -> str:
    """Return a made-up word, another for every number."""
    letters = "aeiou", "bdfgklmnprstvz"
    found = ""
    for place in range(6):
        number, rest = divmod(number, len(letters[place % 2]))
        found += letters[place % 2][rest]
    return found + ("x" + str(number) if number else "")


def main() -> None:
    """Draw a corpus, index it, ask, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    documents = corpus(args.passages, rng)
    asked = rng.choice(len(documents), args.queries, replace=False)
    queries = [" ".join(rng.choice(documents[i].text.split(), ASKED, replace=False)) for i in asked]
    began = time.process_time()
    retriever = Bm25().make(documents, HITS)
    indexed = time.process_time()
    found = retriever.search(queries)
    ended = time.process_time()
    right = sum(
        documents[i].id in [hit.id for hit in hits] for i, hits in zip(asked, found, strict=True)
    )
    sys.stdout.write(
        f"{args.passages} passages indexed in {indexed - began:.1f} s, {args.queries} queries in "
        f"{ended - indexed:.2f} s; the passage of {right} queries is among {HITS} hits\n"
    )


if __name__ == "__main__":
    main()
