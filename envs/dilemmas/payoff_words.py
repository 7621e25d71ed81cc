"""Payoff tables in words, as one player reads them: the own choice and payoff always come first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from coevo.envs.dilemmas.matrices import MatrixGame

TERSE_CELLS = 4
"""Most joint choices for which a terse table shows all payoffs; a larger one shows the own."""


@dataclass(frozen=True)
class PayoffWords:
    """A game with the names of its choices and of its players."""

    game: MatrixGame
    labels: Sequence[str]
    """Names of the choices."""
    seats: Sequence[str]
    """Names of the players."""

    @property
    def counted(self) -> bool:
        """Whether it is enough to say how many others take the first choice."""
        return self.game.players > 2 and self.game.symmetric and set(self.game.sizes) == {2}

    def full(self, me: int) -> str:
        """Return one line per joint choice, or per own choice and number of others."""
        if self.counted:
            return "\n".join(
                f"- if you choose {self.labels[a]} and {k} of the {self.game.players - 1} others "
                f"choose {self.labels[0]}, you get {self._paid(a, k):g}"
                for a in range(2)
                for k in reversed(range(self.game.players))
            )
        cells = sorted(itertools.product(*map(range, self.game.sizes)), key=lambda c: c[me])
        return "\n".join(f"- {self._cell(cell, me)}" for cell in cells)

    def _paid(self, own: int, cooperators: int) -> float:
        """Return the payoff in a symmetric game of two choices with so many others at the first."""
        rest = self.game.players - 1 - cooperators
        return float(self.game.payoffs[(own, *[0] * cooperators, *[1] * rest, 0)])

    def _cell(self, cell: tuple[int, ...], me: int) -> str:
        order = self._own_first(me)
        names = {i: "you" if i == me else self.seats[i] for i in order}
        chosen = ", ".join(f"{names[i]} {self.labels[cell[i]]}" for i in order)
        paid = self.game.payoffs[cell]
        got = ", ".join(f"{names[i]} get{'' if i == me else 's'} {paid[i]:g}" for i in order)
        return f"{chosen}: {got}"

    def terse(self, me: int) -> str:
        """Return all payoffs in one line."""
        if self.counted:
            counts = range(self.game.players)
            paid = [" ".join(f"{self._paid(a, k):.3g}" for k in counts) for a in range(2)]
            rows = ", ".join(f"{label} {row}" for label, row in zip(self.labels, paid, strict=True))
            return f"Points by number of others at {self.labels[0]}: {rows}."
        order = self._own_first(me)
        cells = list(itertools.product(*map(range, self.game.sizes)))
        cells.sort(key=lambda cell: [cell[i] for i in order])
        shown = order if len(cells) <= TERSE_CELLS else [me]
        paid = [",".join(f"{self.game.payoffs[c][i]:.3g}" for i in shown) for c in cells]
        rows = " ".join(f"{self.joined(c, me)} {p}" for c, p in zip(cells, paid, strict=True))
        return f"Points{' you,other' if len(shown) == 2 else ''}: {rows}."

    def joined(self, joint: Sequence[int], me: int) -> str:
        """Return a joint choice as one word."""
        between = "" if max(map(len, self.labels)) == 1 else "-"
        return between.join(self.labels[joint[i]] for i in self._own_first(me))

    def _own_first(self, me: int) -> list[int]:
        return [me, *(i for i in range(self.game.players) if i != me)]
