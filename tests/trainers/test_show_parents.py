"""Parents: who sees whose moves in a round, in which order seats are asked, and what is learnt."""

import pytest

from coevo.agents import FirstLegalAgent
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import context_of
from coevo.trainers.run_folder import RunFolder

GAME = {"game": {"name": "public_goods", "players": 3}, "rounds": 2, "prompt_style": "terse"}
SEATS = ("player_0", "player_1", "player_2")
SEEN = "In this round {} has moved: "


class Asked(FirstLegalAgent):
    """Counts the calls, and keeps what was shown."""

    def __init__(self):
        self.calls = []

    def act(self, requests):
        self.calls.append([r.seat for r in requests])
        return super().act(requests)


def shown(turn, seat):
    return any(SEEN.format(seat) in m["content"] for m in turn.chat)


def test_a_seat_waits_for_its_parents_and_sees_their_moves_of_this_round_alone():
    agent = Asked()
    parents = {"player_1": ("player_0", "player_2"), "player_2": ("player_1",)}
    spec = EpisodeSpec(0, dict.fromkeys(SEATS, "a"), parents=parents)
    (episode,) = rollout("coevo/iterated_game-v0", [spec], {"a": agent}, GAME)
    assert agent.calls == [["player_0"], ["player_1"], ["player_2"]] * 2
    for turn in episode.turns:
        before = {s for s in SEATS if shown(turn, s)}
        assert (
            before
            == {"player_0": set(), "player_1": {"player_0"}, "player_2": {"player_1"}}[turn.agent]
        )
        assert sum(SEEN.format(s) in str(turn.chat) for s in SEATS) == len(before)
        assert turn.injected == ["parents"] * len(before)


@pytest.fixture
def start(tmp_path):
    def make(chance, model="table", env="coevo/iterated_game-v0"):
        changes = {"cycle.show_parents.chance": chance, "collect.episodes": 8}
        options = GAME if env == "coevo/iterated_game-v0" else {}
        given = TrainConfig(
            algorithm=algorithm("bn_ac", "shown", changes),
            env=env,
            env_options=options,
            model=model,
            steps=1,
            device="cpu",
        )
        return loop.start(given, RunFolder(tmp_path))

    return make


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_edges_are_drawn_and_held_out_episodes_have_none(start, chance):
    ctx = context_of(start(chance))
    for step in ctx.cycle[:2]:
        step(ctx)
    turns = [t for e in ctx.episodes.episodes for t in e.turns]
    last = [t for t in turns if t.agent == "player_2"]
    share = sum(shown(t, s) for t in last for s in SEATS[:2]) / (2 * len(last))
    assert share == chance if chance in (0.0, 1.0) else 0.2 < share < 0.8
    assert not any(t.injected for t in turns if t.agent == "player_0")
    (tried,) = ctx.collector.held_out(4, 0)
    assert not any(t.injected for e in tried for t in e.turns)


def test_networks_over_arrays_are_refused(start):
    run = start(1.0, "net:hidden=8", "coevo/gathering-v0")
    with pytest.raises(ConfigError, match=r"show_parents: .* is a network over arrays"):
        context_of(run).cycle[0](context_of(run))
