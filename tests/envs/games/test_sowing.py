"""Mancala and oware as our prompts word them, played beside OpenSpiel's."""

import numpy as np
import pytest

from coevo.envs import make


def sown(pits, start, skipped):
    """Sow the seeds of one pit and return the last place; `skipped` is left out."""
    place, seeds, pits[start] = start, pits[start], 0
    while seeds:
        place = (place + 1) % len(pits)
        if place != skipped:
            pits[place] += 1
            seeds -= 1
    return place


def kalah(pits, player, pit):
    """Make a move of Kalah; places are six pits and the store of player 0, then of player 1."""
    store, first = player * 7 + 6, player * 7
    last = sown(pits, first + pit, skipped=(1 - player) * 7 + 6)
    if first <= last < store and pits[last] == 1 and pits[12 - last]:
        pits[store] += pits[12 - last] + 1
        pits[last] = pits[12 - last] = 0
    return player if last == store else 1 - player


def test_mancala_is_played_as_it_is_explained():
    task, rng = make("coevo/mancala-v0").task, np.random.default_rng(0)
    for _ in range(40):
        task.reset(rng, {})
        pits, player = [4, 4, 4, 4, 4, 4, 0] * 2, 0
        while task.to_move():
            assert task.to_move() == [f"player_{player}"]
            move = str(rng.choice(task.legal(f"player_{player}")))
            paid = task.play({f"player_{player}": move})
            player = kalah(pits, player, int(move) - 1)
            if task.to_move():
                shown = [task.side(task.state, p) for p in range(2)]
                assert pits == [*shown[0][0], shown[0][1], *shown[1][0], shown[1][1]]
        assert not any(pits[:6]) or not any(pits[7:13])
        assert paid["player_0"] == np.sign(sum(pits[:7]) - sum(pits[7:]))


def captured(houses, half, player, house):
    """Make a move of oware; return the houses after it and what was captured."""
    houses = list(houses)
    start = player * half + house
    last = sown(houses, start, skipped=start)
    other = range((1 - player) * half, (2 - player) * half)
    taken = []
    while last in other and houses[last] in (2, 3):
        taken.append(last)
        last -= 1
    caught = sum(houses[i] for i in taken)
    if caught == sum(houses[i] for i in other):
        return houses, 0
    return [0 if i in taken else n for i, n in enumerate(houses)], caught


@pytest.mark.parametrize(("half", "seeds"), [(4, 3), (6, 4)])
def test_oware_is_played_as_it_is_explained(half, seeds):
    game = f"oware(num_houses_per_player={half},num_seeds_per_house={seeds})"
    task, rng = make("coevo/oware-v0", game=game).task, np.random.default_rng(0)
    for _ in range(20):
        task.reset(rng, {})
        houses, caught, player = [seeds] * 2 * half, [0, 0], 0
        while task.to_move():
            own = [n for n in range(half) if houses[player * half + n]]
            feeds = slice((1 - player) * half, (2 - player) * half)
            fair = [n for n in own if any(captured(houses, half, player, n)[0][feeds])]
            assert task.legal(f"player_{player}") == [str(n + 1) for n in fair]
            move = int(rng.choice(fair))
            paid = task.play({f"player_{player}": str(move + 1)})
            houses, more = captured(houses, half, player, move)
            caught[player] += more
            player = 1 - player
            if task.to_move():
                shown = [task.side(task.state, p) for p in range(2)]
                assert [*shown[0][0], *shown[1][0]] == houses
                assert [shown[0][1], shown[1][1]] == caught
        left = [sum(houses[:half]), sum(houses[half:])]
        assert paid["player_0"] == np.sign(caught[0] + left[0] - caught[1] - left[1])
