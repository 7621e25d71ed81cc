"""Scripted players of the iterated prisoner's dilemma and of other games with two actions.

They read what their seat knows from its info (`history`, `payoffs`), never from the words of a
prompt. Action 0 is to cooperate. Among several others one defector is enough to be
answered as a defection.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from coevo.agents.agent import Agent, Request
from coevo.agents.scripted import NEUTRAL, MoveAgent
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer
from coevo.envs.core.task import Replies

ITERATED = "coevo/iterated_game-v0"
C, D = 0, 1
Moves = Sequence[int]
"""Past actions of one side: 0 cooperate, 1 defect."""
Rule = Callable[[Moves, Moves], float]
"""(own moves, the others' moves) -> probability of cooperating."""
Vector = tuple[float, float, float, float]
"""Probabilities of cooperating after (own, other) = CC, CD, DC, DD."""
_EDGE = 1e-9


class IteratedStrategy(MoveAgent):
    """A player of `coevo/iterated_game-v0` with two actions per seat."""

    def __init__(self, name: str, rule: Rule | None = None) -> None:
        self.name = name
        self._rule = rule

    def rule(self, payoffs: np.ndarray, player: int) -> Rule:
        """Return the rule for a game: payoffs [actions, ..., players] and the own seat."""
        if self._rule is None:
            raise NotImplementedError(f"{type(self).__name__} must define rule")  # abstract
        return self._rule

    def odds(self, request: Request) -> np.ndarray:
        payoffs, player, history = _table(self.name, request)
        own = [joint[player] for joint in history]
        others = [int(any(joint[:player] + joint[player + 1 :])) for joint in history]
        share = self.rule(payoffs, player)(own, others)
        order = request.info.get("order", (C, D))
        return np.array([share, 1 - share])[list(order)]

    def speech(self, request: Request) -> Replies:
        known(self.name, request, ITERATED, "payoffs")
        legal = request.info["legal_actions"]
        if not legal:
            return Replies((NEUTRAL,), np.ones(1))
        return Replies(tuple(map(answer, legal)), self.odds(request))


class MemoryOne(IteratedStrategy):
    """Cooperates with a probability that depends on the last round alone.

    Args:
        name: for records.
        first: probability of cooperating in the first round.
        vector: probabilities after CC, CD, DC, DD, the own move first; or what gives them for
            (R, S, T, P) of the game at hand.
    """

    def __init__(
        self,
        name: str,
        first: float,
        vector: Vector | Callable[[float, float, float, float], Vector],
    ) -> None:
        super().__init__(name)
        self.first, self._vector = first, vector

    def vector(self, r: float = 3, s: float = 0, t: float = 5, p: float = 1) -> Vector:
        """Return the probabilities for a game's reward, sucker, temptation and punishment."""
        given = self._vector
        return given(r, s, t, p) if callable(given) else given

    def rule(self, payoffs: np.ndarray, player: int) -> Rule:
        given = self._vector
        chances = given(*two_player_table(self.name, payoffs, player)) if callable(given) else given

        def share(own: Moves, others: Moves) -> float:
            return float(chances[2 * own[-1] + others[-1]]) if own else self.first

        return share


def drawn_memory_one(number: str) -> MemoryOne:
    """Return a memory-one player whose five probabilities were drawn at random, by its number.

    Args:
        number: of the player, whose probabilities are even in 0..1 (Weis et al., arXiv
            2602.16301); or NUMBER/SHAPE, for Beta(SHAPE, SHAPE): below 1 players are more decided.

    >>> drawn_memory_one("7").vector() == drawn_memory_one("7").vector()
    True
    >>> [round(p) for p in drawn_memory_one("7/0.01").vector()]
    [1, 0, 0, 1]
    """
    which, _, shape = number.partition("/")
    if not which.isdigit() or float(shape or 1) <= 0:
        raise ValueError(number)
    a = float(shape or 1)
    first, *vector = np.random.default_rng(int(which)).beta(a, a, size=5)
    cc, cd, dc, dd = map(float, vector)
    return MemoryOne(f"memory_one:{number}", float(first), (cc, cd, dc, dd))


def generosity(r: float, s: float, t: float, p: float) -> float:
    """Return how often generous tit-for-tat forgives: min(1 - (T-R)/(R-S), (R-P)/(T-P)).

    >>> round(generosity(3, 0, 5, 1), 4)
    0.3333
    """
    _prisoners("gtft", r, s, t, p)
    return min(1 - (t - r) / (r - s), (r - p) / (t - p))


def linear_relation(
    slope: float, scale: float, generous: bool = False
) -> Callable[[float, float, float, float], Vector]:
    """Return the zero-determinant vector that enforces own - l = (other - l) / slope.

    p_CC = 1 - phi(1-s)(R-l), p_CD = 1 - phi(s(l-S) + (T-l)), p_DC = phi((l-S) + s(T-l)),
    p_DD = phi(1-s)(l-P) (Press, Dyson 2012; Stewart, Plotkin 2013). s is the slope, one over the
    factor of extortion; phi, over 0, is the scale: how fast it answers. The baseline l is P, which
    is extortion, or R if `generous`.

    >>> tuple(round(9 * q, 6) for q in linear_relation(1 / 2, 1 / 9)(3, 0, 5, 1))
    (8.0, 4.5, 3.0, 0.0)
    """

    def vector(r: float, s: float, t: float, p: float) -> Vector:
        base = r if generous else p
        chances = (
            1 - scale * (1 - slope) * (r - base),
            1 - scale * (slope * (base - s) + (t - base)),
            scale * ((base - s) + slope * (t - base)),
            scale * (1 - slope) * (base - p),
        )
        if not all(-_EDGE <= chance <= 1 + _EDGE for chance in chances):
            raise ConfigError(
                f"no zero-determinant strategy with slope {slope:g} and scale {scale:g} for "
                f"R={r:g} S={s:g} T={t:g} P={p:g}: probabilities {chances} leave 0..1"
            )
        a, b, c, d = (min(1.0, max(0.0, chance)) for chance in chances)
        return a, b, c, d

    return vector


# ---- Rules with a longer memory ----------------------------------------------------------------


def tit_for_two_tats(own: Moves, others: Moves) -> float:
    """Defect after two defections in a row."""
    return float(list(others[-2:]) != [D, D])


def hard_tit_for_tat(own: Moves, others: Moves) -> float:
    """Defect where one of the last three rounds brought a defection."""
    return float(D not in others[-3:])


def alternate(first: int, own: Moves, others: Moves) -> float:
    return float((len(own) + first) % 2 == C)


def defect_once(at: int, own: Moves, others: Moves) -> float:
    """Defect in one round, counted from 0, and cooperate in all others."""
    return float(len(own) != at)


def probe(chance: float, own: Moves, others: Moves) -> float:
    """Play tit-for-tat, but defect with a small probability after cooperation."""
    if not own:
        return 1.0
    return 0.0 if others[-1] == D else 1 - chance


def always(share: float) -> Vector:
    """Return the vector of a player that cooperates with one probability, come what may."""
    return share, share, share, share


# ---- What a request says -----------------------------------------------------------------------


def known(name: str, request: Request, env_id: str, key: str) -> Mapping[str, Any]:
    """Return the info of a request; ConfigError where it lacks what only an environment's has."""
    info = request.info
    if key not in info or "history" not in info:
        raise ConfigError(f"{name} plays {env_id} only, not {info.get('env_id') or 'this'}")
    return info


def _table(name: str, request: Request) -> tuple[np.ndarray, int, Sequence[tuple[int, ...]]]:
    info = known(name, request, ITERATED, "payoffs")
    payoffs = np.asarray(info["payoffs"], dtype=float)
    if set(payoffs.shape[:-1]) != {2}:
        sizes = " x ".join(map(str, payoffs.shape[:-1]))
        raise ConfigError(f"{name} plays games of two actions each, not {sizes}")
    return payoffs, int(info["player"]), info["history"]


def two_player_table(
    name: str, payoffs: np.ndarray, player: int
) -> tuple[float, float, float, float]:
    """Return the own R, S, T, P of a 2x2 game; raise ConfigError where there are more players."""
    if payoffs.ndim != 3:
        raise ConfigError(f"{name} is a strategy for two players, not {payoffs.ndim - 1}")
    own = payoffs[..., 0] if player == 0 else payoffs[..., 1].T
    return float(own[0, 0]), float(own[0, 1]), float(own[1, 0]), float(own[1, 1])


def _prisoners(name: str, r: float, s: float, t: float, p: float) -> None:
    if not t > r > p > s:
        raise ConfigError(f"{name} needs a prisoner's dilemma, not R={r:g} S={s:g} T={t:g} P={p:g}")


def _generous(r: float, s: float, t: float, p: float) -> Vector:
    share = generosity(r, s, t, p)
    return 1.0, share, 1.0, share


_TFT: Vector = (1, 0, 1, 0)
MEMORY_ONE: dict[str, tuple[float, Vector | Callable[[float, float, float, float], Vector]]] = {
    "always_c": (1, always(1)),
    "always_d": (0, always(0)),
    "tft": (1, _TFT),
    "suspicious_tft": (0, _TFT),
    "reverse_tft": (0, (0, 1, 0, 1)),
    "gtft": (1, _generous),
    "wsls": (1, (1, 0, 0, 1)),
    "grim": (1, (1, 0, 0, 0)),
    "extort2": (1, linear_relation(1 / 2, 1 / 9)),
    "extort3": (1, linear_relation(1 / 3, 3 / 26)),
    "extort4": (1, linear_relation(1 / 4, 4 / 17)),
    "zd_gtft2": (1, linear_relation(1 / 2, 1 / 4, generous=True)),
    **{f"random_c{n}": (n / 100, always(n / 100)) for n in (10, 25, 50, 75, 90)},
}
"""Name -> (first, vector); `random_c25` cooperates in a quarter of the rounds."""
RULES: dict[str, Rule] = {
    "tf2t": tit_for_two_tats,
    "hard_tft": hard_tit_for_tat,
    "alternator": functools.partial(alternate, C),
    "alternator_dc": functools.partial(alternate, D),
    "defect_once": functools.partial(defect_once, 3),
    "naive_prober": functools.partial(probe, 0.1),
    "naive_prober20": functools.partial(probe, 0.2),
}
"""Name -> rule; `defect_once` does it in the fourth round."""
STRATEGIES: dict[str, Callable[[], Agent]] = {
    **{name: functools.partial(MemoryOne, name, *given) for name, given in MEMORY_ONE.items()},
    **{name: functools.partial(IteratedStrategy, name, rule) for name, rule in RULES.items()},
}


# ---- Players that learn within an episode --------------------------------------------------------


Choose = Callable[[np.ndarray, Moves, Moves], float]
"""(own payoffs [own action, other's action], own moves, the other's moves) -> P(action 0)."""


class Learner(IteratedStrategy):
    """A player of two-player games of two actions who knows its payoffs."""

    def __init__(self, name: str, choose: Choose) -> None:
        super().__init__(name)
        self._choose = choose

    def rule(self, payoffs: np.ndarray, player: int) -> Rule:
        r, s, t, p = two_player_table(self.name, payoffs, player)
        return functools.partial(self._choose, np.array([[r, s], [t, p]]))


def fictitious_play(own: np.ndarray, mine: Moves, theirs: Moves) -> float:
    """Best-respond to how often the other has taken each action, each once before the start.

    Ties are broken evenly (Brown 1951).

    >>> fictitious_play(np.array([[3, 0], [5, 1]]), [], [])
    0.0
    """
    counts = 1 + np.bincount(np.asarray(theirs, dtype=int), minlength=2)
    worth = own @ counts
    return 0.5 if np.isclose(worth[0], worth[1]) else float(worth[0] > worth[1])


def regret_matching(own: np.ndarray, mine: Moves, theirs: Moves) -> float:
    """Take actions in proportion to what always taking them would have gained (Hart, Mas-Colell).

    Evenly where nothing is regretted.

    >>> regret_matching(np.array([[3, 0], [5, 1]]), [0, 1], [0, 1])
    0.0
    """
    if not len(mine):
        return 0.5
    others = np.asarray(theirs, dtype=int)
    gained = own[:, others].sum(axis=1) - own[np.asarray(mine, dtype=int), others].sum()
    regret = np.maximum(gained, 0.0)
    return float(regret[0] / regret.sum()) if regret.sum() > 0 else 0.5


LEARNERS: dict[str, Callable[[], Agent]] = {
    "fictitious_play": functools.partial(Learner, "fictitious_play", fictitious_play),
    "regret_matching": functools.partial(Learner, "regret_matching", regret_matching),
}
