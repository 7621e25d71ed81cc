"""Promise: from what it is handed no agent finds the state or the seed, unless it is an insider."""

import gc
import types

import numpy as np
import pyspiel
import pytest

import coevo.envs
from coevo.agents.agent import Agent, Reply, request_of
from coevo.agents.api.agent import ApiAgent
from coevo.agents.load import load_agent
from coevo.agents.registry import SCRIPTED, as_opponent
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.envs.core.parsing import answer
from coevo.envs.core.single_agent import SingleAgentEnv
from coevo.envs.core.task import Task
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

KUHN = "coevo/kuhn_poker-v0"
SEATS = ("player_0", "player_1")
TRIED = 300
"""Seeds that the thief tries; those of the episodes are among them."""
NO_WAY_ON = (type, types.ModuleType)


def first_move(info):
    return Reply(answer(info["legal_actions"][0]))


class Thief(Agent):
    """Looks through all it is handed for the other's card; where it finds none it guesses."""

    def __init__(self):
        self.guesses, self.found = [], []
        self.guess = np.random.default_rng(0)

    def act(self, requests):
        return [self._one(r) for r in requests]

    def _one(self, request):
        own = int(request.info["information_state"][0])
        state = next(filter(None, (w(request) for w in (_from_objects, _from_seed))), None)
        self.found.append(state is not None)
        player = request.info["player"]
        others = [card for card in range(3) if card != own]
        guess = int(self.guess.choice(others)) if state is None else state.history()[1 - player]
        self.guesses.append(guess)
        return first_move(request.info)


def _reach(start):
    """Yield every object that leads on from what is handed over; classes and modules do not."""
    seen, open_ = set(), [start]
    while open_:
        at = open_.pop()
        if isinstance(at, types.FunctionType):
            open_ += [cell.cell_contents for cell in at.__closure__ or ()]
        elif id(at) not in seen and not isinstance(at, NO_WAY_ON):
            seen.add(id(at))
            yield at
            open_ += gc.get_referents(at)
            open_ += [getattr(at, name) for name in ("__self__", "func") if hasattr(at, name)]


def _from_objects(request):
    for at in _reach(request):
        if isinstance(at, TextEnv):
            return at.task.state
        if isinstance(at, pyspiel.State):
            return at
        assert not isinstance(at, Task | Episode)


def _from_seed(request):
    """Find the seed in the generator and in the names, and deal the cards again."""
    given = request.rng.bit_generator
    held = {str(given.state), *map(str, np.atleast_1d(given.seed_seq.entropy))}
    held |= {str(v) for v in (request.info["task_id"], request.conversation)}
    held |= {request.inside.task} if request.inside else set()
    for seed in range(TRIED):
        made = [np.random.default_rng(s) for s in (seed, [seed, 7], [seed, 0, 7])]
        if f"seed-{seed}" in held or any(str(r.bit_generator.state) in held for r in made):
            env = coevo.envs.make(KUHN)
            env.reset(seed=seed)
            return env.task.state


def stolen(thief):
    """Return the share of the other's cards that a thief names, over 300 deals in each seat."""
    dealt = []
    for number, seat in enumerate(SEATS):
        players = {s: "thief" if s == seat else "first" for s in SEATS}
        specs = [EpisodeSpec(seed, players) for seed in range(TRIED)]
        agents = {"thief": thief, "first": SCRIPTED["first_legal"]()}
        for spec, played in zip(specs, rollout(KUHN, specs, agents), strict=True):
            env = coevo.envs.make(KUHN)
            env.reset(seed=spec.seed)
            turns = sum(t.agent == seat for t in played.turns)
            dealt += [env.task.state.history()[1 - number]] * turns
    return dealt


def test_a_thief_that_searches_what_it_is_handed_guesses():
    thief = Thief()
    dealt = stolen(thief)
    assert len(dealt) == len(thief.guesses) >= 600
    assert not any(thief.found)
    share = np.mean(np.array(thief.guesses) == np.array(dealt))
    assert abs(share - 0.5) < 4 * np.sqrt(0.25 / len(dealt)), "one of the two other cards"


def test_an_insider_would_find_everything():
    """The search is no straw man: with the channel of insiders it names every card."""
    thief = Thief()
    thief.insider = True
    dealt = stolen(thief)
    assert thief.guesses == dealt and all(thief.found)


def test_a_generator_of_the_seed_would_tell_it():
    env = coevo.envs.make(KUHN)
    env.reset(seed=3)
    careless = request_of(env, env.agent_selection, np.random.default_rng([3, 7]))
    assert _from_seed(careless).history() == env.task.state.history()


def test_who_is_an_insider_is_known():
    outside = [name for name, make in SCRIPTED.items() if not make().insider]
    assert outside == ["human"] and ApiAgent.insider and not Agent.insider
    assert not load_agent("starter").insider, "no language model"


@pytest.mark.parametrize("insider", [False, True])
def test_opponents_of_a_view_are_handed_no_more(insider):
    class Watched(Agent):
        name = "watched"
        asked = ()

        def act(self, requests):
            self.asked += tuple(requests)
            return [Reply("[pass]") for _ in requests]

    agent = Watched()
    agent.insider = insider
    view = SingleAgentEnv(KUHN, seat="player_0", opponents=as_opponent(agent))
    _, info = view.reset(seed=3)
    view.step(first_move(info).text)
    asked, _ = agent.asked  # the reply is illegal, so that it is asked again
    assert (asked.inside is not None) == insider
    assert (_from_objects(asked) is not None) == insider


def test_the_generator_of_an_agent_follows_from_a_key(monkeypatch):
    def drawn():
        class Draws(Agent):
            def act(self, requests):
                return [Reply(answer(r.rng.choice(r.info["legal_actions"]))) for r in requests]

        specs = [EpisodeSpec(seed, dict.fromkeys(SEATS, "a")) for seed in range(30)]
        return [t.text for e in rollout(KUHN, specs, {"a": Draws()}) for t in e.turns]

    monkeypatch.setenv("COEVO_TASK_KEY", "one")
    first, again = drawn(), drawn()
    monkeypatch.setenv("COEVO_TASK_KEY", "other")
    assert first == again != drawn()
