from coevo.benchmarks.reproductions.claims import mansa_switch as mansa
from coevo.envs import make


def test_states_pay_what_the_climbing_game_or_either_seat_pays():
    assert mansa.worth(0, 0, 0) == 1 and mansa.worth(2, 0, 1) == -30 / 11
    assert mansa.worth(3, 0, 1) == 1 and mansa.worth(3, 0, 0) == 0.5 and mansa.worth(7, 0, 0) == 0
    best = [max(mansa.worth(s, a, b) for a in range(3) for b in range(3)) for s in range(12)]
    assert best == [1.0] * 12


def test_partners_see_the_state_and_which_seat_they_have():
    env = make(mansa.ManyStates.env_id)
    env.reset(seed=0)
    one, other = (env.task.array(seat) for seat in mansa.ManyStates.seats)
    assert one[:12].argmax() == other[:12].argmax() == env.task.state
    assert one[12:].tolist() == [1, 0] and other[12:].tolist() == [0, 1]
    assert one.sum() == other.sum() == 2
