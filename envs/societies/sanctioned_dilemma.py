"""A dilemma among strangers, with partner choice, reputation and punishment as one likes.

Agents        player_0 .. player_n-1, an even number, who meet in pairs
Observation   chat: the rules, then who is met, what is known of it, and what came out
Action        text ending in a move: a partner, e.g. [player_2]; a choice, [A] or [B]; [punish] or
              [pass]
Reward        the payoff of the pair's game, and what punishing pays and costs
Ends          after `rounds` rounds of pairing, choosing and judging
Options       mechanisms: any of partner_choice, reputation, punishment (by: partner or bystander),
              each with its numbers, see mechanisms.py; [] for none of them; game: any 2x2 game of
              the catalogue, symmetric; players; rounds
References    return of a seat in self-play by default: random 0 (exact), mutual cooperation without
              punishment 15, which is the highest

Without partner choice pairs are drawn. The other's choice in its last game is always shown. Choice
A is to cooperate; the game's name is not shown. Rules after Dasgupta and Musolesi (arXiv
2301.08278); numbers of their variants are in mechanisms.py. They let each open a game with a
partner of its choice; here each plays one game a round. Experts choose the partner of the best
standing, cooperate with those who last cooperated, and punish defection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.protocol import All, One, Pay, Protocol
from coevo.envs.core.task import Replies, mostly
from coevo.envs.dilemmas.catalogue import Matrix, matrix_game
from coevo.envs.dilemmas.matrices import payoff
from coevo.envs.dilemmas.payoff_words import PayoffWords
from coevo.envs.societies.mechanisms import (
    Mechanism,
    PartnerChoice,
    Punishment,
    Reputation,
    check_mechanisms,
)
from coevo.envs.societies.society import Society, listed, points

DEFAULT_GAME = "prisoners_dilemma_partner_selection"
CHOICES = ("A", "B")
VERDICTS = ("punish", "pass")


@config
class SanctionedDilemmaConfig:
    game: Matrix | None = None
    """A symmetric 2x2 game; None for the prisoner's dilemma with 3, 0, 4 and 1."""
    players: Annotated[int, whole(2, 20)] = 4
    """Seats, an even number."""
    rounds: Annotated[int, whole(1, 1000)] = 5
    """Rounds of one game each."""
    mechanisms: tuple[Mechanism, ...] = (PartnerChoice(), Reputation(), Punishment())
    """What is joined to the game; punishments are judged in this order."""

    def __post_init__(self) -> None:
        if self.players % 2:
            raise ConfigError(f"players={self.players} must be even: they meet in pairs")
        check_mechanisms(self.mechanisms, self.players)


class SanctionedDilemma(Society[SanctionedDilemmaConfig]):
    env_id = "coevo/sanctioned_dilemma-v0"
    config_class = SanctionedDilemmaConfig

    def __init__(self, config: SanctionedDilemmaConfig) -> None:
        super().__init__(config)
        self.seats = tuple(f"player_{i}" for i in range(config.players))
        self.game = matrix_game(config.game or DEFAULT_GAME)
        if self.game.sizes != (2, 2) or not self.game.symmetric:
            raise ConfigError(f"game={self.game.name} must be a symmetric 2x2 game: seats change")
        self.words = PayoffWords(self.game, CHOICES, ("you", "other"))
        found = config.mechanisms
        self.chosen = any(isinstance(m, PartnerChoice) for m in found)
        self.reputation = next((m for m in found if isinstance(m, Reputation)), None)
        self.punishments = [m for m in found if isinstance(m, Punishment)]
        edges = [self.game.range, *(m.bounds() for m in self.punishments)]
        low, high = (sum(edge) for edge in zip(*edges, strict=True))
        self.lasts = config.rounds
        self.payoff_range = (config.rounds * low, config.rounds * high)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        orders = [rng.permutation(self.seats).tolist() for _ in range(self.config.rounds)]
        self.scores = dict.fromkeys(self.seats, 0.0)
        self.last: dict[str, str] = {}
        self.history: list[dict[str, str]] = []
        self.sentences = [0, 0]
        self.punished: dict[str, list[str]] = {seat: [] for seat in self.seats}
        for played, order in enumerate(orders):
            self.round, self.order = played, [str(seat) for seat in order]
            self.pairs: dict[str, str] = {}
            self.choosers: list[str] = []
            while free := self._free():
                one, other = free[:2]
                if self.chosen and len(free) > 2:
                    other = yield One(one, phase="partner", moves=sorted(free[1:]))
                    self.choosers.append(one)
                self.pairs |= {one: other, other: one}
            choices = yield All(self.seats, phase="choice", moves=CHOICES)
            yield Pay(self._settle(choices))
            for number in range(len(self.punishments)):
                self.judging = number
                verdicts = yield All(self.seats, phase="judge", moves=VERDICTS)
                yield Pay(self._judge(verdicts))

    def _free(self) -> list[str]:
        return [seat for seat in self.order if seat not in self.pairs]

    def judged(self, seat: str) -> str:
        """Return the player whom a seat judges: its partner, or one of the pair drawn after it."""
        if self.punishments[self.judging].by == "partner":
            return self.pairs[seat]
        line = [a for a, b in self.pairs.items() if self.order.index(a) < self.order.index(b)]
        leader = seat if seat in line else self.pairs[seat]
        target = line[(line.index(leader) + 1) % len(line)]
        return target if seat == leader else self.pairs[target]

    def _settle(self, moves: Mapping[str, str]) -> dict[str, float]:
        self.history.append(dict(moves))
        self.last = dict(moves)
        self.met = dict(self.pairs)
        paid = {}
        for seat, other in self.pairs.items():
            joint = [CHOICES.index(moves[seat]), CHOICES.index(moves[other])]
            paid[seat] = float(payoff(self.game, joint)[0])
            if self.reputation:
                gain = self.reputation.defection if joint[0] else self.reputation.cooperation
                self.scores[seat] += gain
        self.punished = {seat: [] for seat in self.seats}
        return paid

    def _judge(self, moves: Mapping[str, str]) -> dict[str, float]:
        rule = self.punishments[self.judging]
        paid, hit = dict.fromkeys(self.seats, 0.0), []
        for seat in (a for a, verdict in moves.items() if verdict == "punish"):
            target = self.judged(seat)
            defected = self.last[target] == CHOICES[1]
            paid[seat] += rule.pays(defected)
            paid[target] -= rule.fine
            hit.append(target)
            self.punished[target].append(seat)
            self.sentences[defected] += 1
            if self.reputation:
                self.scores[seat] += self.reputation.just if defected else self.reputation.unjust
        self.note("sanctioned", hit)
        return paid

    def expert(self, seat: str, skill: float) -> Replies:
        """Return a partner in good standing, reciprocity, or a just verdict; mostly."""
        legal = self.moves_of(seat)
        if self.phase == "partner":
            best = max(legal, key=lambda a: (self.scores[a], self.last.get(a, "A") == "A"))
        elif self.phase == "choice":
            best = self.last.get(self.pairs[seat], CHOICES[0])
        else:
            best = VERDICTS[0] if self.last[self.judged(seat)] == CHOICES[1] else VERDICTS[1]
        return mostly(legal, {best: 1.0}, skill)

    def info(self, seat: str) -> dict[str, Any]:
        found = {**super().info(seat), "last": dict(self.last), "points": self.earned[seat]}
        if self.reputation:
            found["scores"] = dict(self.scores)
        if self.phase != "partner":
            found["partner"] = self.pairs[seat]
        if self.phase == "judge":
            found["judged"] = self.judged(seat)
        return found

    def outcome(self) -> dict[str, float]:
        """Return the rates of cooperation and punishment, and the share of just punishments."""
        if not self.history:
            return {}
        moves = [[move == CHOICES[0] for move in joint.values()] for joint in self.history]
        found = {"cooperation": float(np.mean(moves))}
        if self.punishments:
            chances = len(self.history) * len(self.seats) * len(self.punishments)
            found["punishments"] = sum(self.sentences) / chances
        if sum(self.sentences):
            found["just_punishments"] = self.sentences[1] / sum(self.sentences)
        return found

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        pairing = "Pairs are drawn at random."
        if self.chosen:
            pairing = "In a random order, those without a partner choose one of those who are free."
        lines = [
            f"You are {seat}, one of {len(self.seats)} players. In each of {self.config.rounds} "
            f"rounds they meet in pairs. {pairing} Both choose {CHOICES[0]} or {CHOICES[1]} at the "
            f"same time. Points:\n{self.words.full(0)}"
        ]
        lines += [self._punishment_rule(m) for m in self.punishments]
        if self.reputation:
            r = self.reputation
            judged = (
                f", {r.just:+g} for punishing somebody who chose B, {r.unjust:+g} for punishing"
            )
            judged += " somebody who chose A"
            lines.append(
                f"Everybody has a public score: {r.cooperation:+g} for choosing A, "
                f"{r.defection:+g} for choosing B{judged if self.punishments else ''}. It is worth "
                "no points."
            )
        lines.append("Your goal is to get as many points as you can over all rounds.")
        return "\n".join(lines)

    def _punishment_rule(self, rule: Punishment) -> str:
        whom = "its partner" if rule.by == "partner" else "one player of another pair"
        pays = f"To punish costs {points(rule.cost)}"
        if rule.just or rule.unjust:
            pays += f" and pays {rule.just:g} if that one chose B, {rule.unjust:g} if it chose A"
        return f"Then each may punish {whom}. {pays}; the punished one loses {points(rule.fine)}."

    def situation(self, seat: str) -> str:
        moves = f"Legal moves: {listed(self.moves_of(seat))}"
        if self.phase == "judge":
            target = self.judged(seat)
            lines = [] if self.judging else self._result(seat)
            standing = self._known(target)
            return "\n".join([*lines, f"You may punish {target}{standing}. {moves}"])
        told = self.phase == "choice" and seat in self.choosers
        lines = [] if told else self._news(seat)
        if self.phase == "partner":
            free = [f"- {a}{self._known(a)}" for a in self.moves_of(seat)]
            return "\n".join([*lines, "Whom do you meet?", *free, moves])
        other = self.pairs[seat]
        lines.append(f"You meet {other}{self._known(other)}.")
        return "\n".join([*lines, f"Your choice? {moves}"])

    def _result(self, seat: str) -> list[str]:
        other = self.met[seat]
        joint = [CHOICES.index(self.last[seat]), CHOICES.index(self.last[other])]
        got = payoff(self.game, joint)[0]
        return [f"You chose {self.last[seat]}, {other} chose {self.last[other]}; you got {got:g}."]

    def _news(self, seat: str) -> list[str]:
        lines = [f"Round {self.round + 1} of {self.config.rounds}."]
        if self.round:
            lines += [] if self.punishments else self._result(seat)
            if self.punished[seat]:
                lines.append(f"You were punished by {', '.join(self.punished[seat])}.")
            lines.append(f"Your points so far: {self.earned[seat]:g}.")
        return lines

    def _known(self, seat: str) -> str:
        """Return what is public about a player, in brackets."""
        facts = [f"score {self.scores[seat]:g}"] * bool(self.reputation)
        when = "just now" if self.phase == "judge" else "last"
        if seat in self.last:
            facts.append(f"{when} chose {self.last[seat]}")
        return f" ({', '.join(facts)})" if facts else ""

    def _standing(self, seat: str) -> str:
        facts = [f"{self.scores[seat]:g}"] if self.reputation else []
        facts += [self.last[seat]] if seat in self.last else []
        return f" {' '.join(facts)}" if facts else ""

    def terse(self, seat: str) -> str:
        ask = f"Answer {' or '.join(map(answer, self.moves_of(seat)))}"
        if self.phase == "judge":
            rule, target = self.punishments[self.judging], self.judged(seat)
            given = f"It loses {rule.fine:g}, you get {rule.pays(True):g} if it chose B"
            rest = f"else {rule.pays(False):g}. {ask}"
            return f"Judge {target}{self._known(target)}. {given}, {rest}"
        now = f"{self.words.terse(0)} Round {self.round + 1} of {self.config.rounds}."
        if self.phase == "partner":
            free = ", ".join(f"{a}{self._standing(a)}" for a in self.moves_of(seat))
            head = (
                "Choose a partner (score, last choice)" if self.reputation else "Choose a partner"
            )
            return f"{head}: {free}. Answer {listed(self.moves_of(seat), 1)}"
        other = self.pairs[seat]
        return f"{now} You meet {other}{self._known(other)}. {ask}"

    def draw(self) -> str:
        lines = [
            f"round {n}: {' '.join(joint[a] for a in self.seats)}"
            for n, joint in enumerate(self.history, start=1)
        ]
        if self.reputation:
            lines.append(f"scores: {' '.join(f'{s:g}' for s in self.scores.values())}")
        return "\n".join([*lines, f"points: {' '.join(f'{p:g}' for p in self.earned.values())}"])


raw_env, env = turn_based(SanctionedDilemma)
