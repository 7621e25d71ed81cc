import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.parsing import Status
from coevo.trainers.build import build


def turn(agent, prompt, reply, pay=None, player="policy", status=Status.LEGAL, choices=None):
    written = Turn(agent, (), "", None, status, None)
    written.player = player
    if reply is not None:
        written.prompt_ids, written.token_ids = list(prompt), list(reply)
        written.logprobs = [-0.5 - i for i in range(len(reply))]
        written.choices = choices
    for component, table in (pay or {}).items():
        written.pay(component, table)
    return written


def episode(*turns, agents=("a", "b")):
    return Episode("coevo/some-v0", 0, {}, agents, turns=list(turns))


def rewards(batch):
    mask = batch.turn_mask_BT
    table = batch.reward_BTK.sum(-1)
    return [row[m].tolist() for row, m in zip(table, mask, strict=True)]


def paid(**table):
    return {"payoff": table}


def test_a_reward_belongs_to_the_last_own_reply_before_it():
    batch = build(
        [
            episode(
                turn("a", [1], [2], paid(a=1, b=10)),
                turn("b", [1], [2], paid(a=2, b=20)),
                turn("a", [1], [2], paid(a=4, b=40)),
                turn("b", [1], [2], paid(a=8, b=80)),
            )
        ],
        [0],
    )
    assert rewards(batch) == [[1 + 2, 4 + 8], [10 + 20 + 40, 80]]
    assert batch.place_BT.tolist() == [[0, 2], [1, 3]]


def test_what_falls_due_before_the_first_own_reply_goes_to_it():
    batch = build([episode(turn("a", [1], [2], paid(b=5)), turn("b", [1], [2], paid(b=1)))], [0])
    assert rewards(batch) == [[0], [6]]
    silent = build([episode(turn("a", [1], [2], paid(a=-1, b=1)))], [0])
    assert rewards(silent) == [[-1]]


def test_opponents_without_tokens_pay_but_have_no_rows():
    batch = build(
        [
            episode(
                turn("a", [1], [2]),
                turn("b", (), None, paid(a=-3), player="random"),
            )
        ],
        [0],
    )
    assert rewards(batch) == [[-3]] and batch.policy_C == ("policy",)
    assert build([episode(turn("b", (), None, player="random"))], [0]) is None


def test_simultaneous_moves_share_the_payoff_of_their_round():
    rounds = [
        t for r in (1, 10) for t in (turn("a", [1], [2]), turn("b", [1], [2], paid(a=r, b=-r)))
    ]
    assert rewards(build([episode(*rounds)], [0])) == [[1, 10], [-1, -10]]


def test_only_learners_are_compared_and_keys_do_not_depend_on_who_learns():
    plays = [
        episode(turn("a", [1], [2]), turn("b", [1], [2], player="past")),
        episode(turn("a", [1], [2], player="past"), turn("b", [1], [2])),
    ]
    batch = build(plays, [5, 6], {"policy"})
    keys = batch.keys
    assert keys["seat"].tolist() == [0, 1] and keys["group"].tolist() == [0, 1]
    assert len(build(plays, [5, 6]).policy_C) == 4
    second = build(plays[1:], [6], {"policy"}).keys
    assert second["agent"].tolist() == [keys["agent"][1]]


def test_illegal_replies_and_retries_are_trained():
    batch = build(
        [
            episode(
                turn("a", [1], [2, 3], status=Status.UNPARSABLE),
                turn("a", [1, 2, 3, 9], [4], {"illegal": {"a": -2.0}}, status=Status.ILLEGAL),
            )
        ],
        [0],
    )
    assert rewards(batch) == [[0, -2]] and int(batch.mask_CL.sum()) == 3
    assert len(batch.spans) == 1


def test_a_growing_chat_is_one_row_and_fresh_prompts_are_several():
    grown = build([episode(turn("a", [1, 2], [3, 4]), turn("a", [1, 2, 3, 4, 5], [6]))], [0])
    span = grown.spans[0]
    assert span.ids == (1, 2, 3, 4, 5, 6) and span.starts == (2, 5) and span.ends == (4, 6)
    assert [span.ids[i] for i in span.positions()] == [3, 4, 6]
    assert grown.turn_CL.tolist() == [[0, 0, 1]]
    fresh = build([episode(turn("a", [1, 2], [3, 4]), turn("a", [1, 2, 3, 9], [6]))], [0])
    assert [s.ids for s in fresh.spans] == [(1, 2, 3, 4), (1, 2, 3, 9, 6)]
    assert fresh.offset_C.tolist() == [0, 2]
    assert fresh.trajectory_C.tolist() == [0, 0]
    assert fresh.turn_CL.tolist() == [[0, 0], [1, -1]]
    assert fresh.logp_behaviour_CL.tolist() == [[-0.5, -1.5], [-0.5, 0]]
    assert fresh.turn_of_BS.tolist() == [[0, 0, 1]]


def test_equal_rows_are_one_sequence_unless_other_ids_were_allowed():
    same = [episode(turn("a", [1], [2, 3], choices=[[2, 3]])) for _ in range(3)]
    other = episode(turn("a", [1], [2, 3], choices=[[2, 3], [7, 3]]))
    rows = build([*same, other], [0, 1, 2, 3])
    assert rows.span_C.tolist() == [0, 0, 0, 1] and len(set(rows.spans)) == 1
    assert rows.choices == ((((2, 3),),), (((2, 3), (7, 3)),))
    free = build([episode(turn("a", [1], [2]))], [0])
    assert free.choices == (((),),)


def test_components_stay_apart():
    pay = {"payoff": {"a": 1.0, "b": -1.0}, "format": {"a": 0.05}}
    batch = build([episode(turn("a", [1], [2], pay), turn("b", [1], [2]))], [0])
    assert batch.components == ("format", "payoff")
    assert batch.reward_BTK[0, 0].tolist() == pytest.approx([0.05, 1.0])


@st.composite
def plays(draw):
    """Draw episodes whose prompts grow or start afresh, of one or two seats."""
    out = []
    for _ in range(draw(st.integers(1, 4))):
        context = {"a": [1], "b": [2]}
        turns = []
        for _ in range(draw(st.integers(1, 5))):
            agent = draw(st.sampled_from("ab"))
            prompt = context[agent] if draw(st.booleans()) else [9, len(turns) + 10]
            reply = draw(st.lists(st.integers(3, 6), min_size=1, max_size=3))
            turns.append(turn(agent, prompt, reply))
            context[agent] = [*prompt, *reply, 7]
        out.append(episode(*turns))
    return out


@given(plays())
def test_streams_and_rows_hold_the_same_numbers(episodes):
    batch = build(episodes, range(len(episodes)))
    mask_BS = batch.token_mask_BS
    stream = torch.arange(mask_BS.numel(), dtype=torch.float32).reshape(mask_BS.shape) + 1
    rows = batch.cut(stream)
    assert torch.equal(batch.joined(rows), stream * mask_BS)
    assert not rows[~batch.mask_CL].any()
    assert int(mask_BS.sum()) == int(batch.mask_CL.sum())
    turns = batch.cut(batch.turn_of_BS)
    assert torch.equal(turns[batch.mask_CL], batch.turn_CL[batch.mask_CL])


@given(plays())
def test_rows_hold_the_sampled_ids_in_order(episodes):
    batch = build(episodes, range(len(episodes)))
    sampled = [
        [i for t in e.turns if t.agent == seat for i in t.token_ids]
        for e in episodes
        for seat in e.agents
        if any(t.agent == seat for t in e.turns)
    ]
    trained = [[] for _ in sampled]
    for c, b in enumerate(batch.trajectory_C.tolist()):
        span = batch.spans[int(batch.span_C[c])]
        trained[b] += [span.ids[i] for i in span.positions()]
    assert trained == sampled
