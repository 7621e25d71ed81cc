import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.agents.engines.prefix_tree import LONGEST, common, laid_out, shared_rows

SEQUENCES = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=9).map(tuple), min_size=1)


def beginnings(sequences):
    return {ids[:n] for ids in sequences for n in range(1, len(ids) + 1)}


@given(SEQUENCES, st.integers(1, 30))
def test_every_sequence_is_in_one_row_whose_length_is_that_of_its_tree(sequences, longest):
    rows = shared_rows(sequences, longest)
    assert sorted(i for row in rows for i in row.members) == list(range(len(sequences)))
    for row in rows:
        assert row.length == len(beginnings([sequences[i] for i in row.members]))
        assert row.length <= longest or len(beginnings([sequences[row.members[0]]])) == row.length


@given(SEQUENCES, st.integers(1, 30))
def test_a_token_sees_its_own_beginning_and_nothing_else(sequences, longest):
    rows = shared_rows(sequences, longest)
    layout = laid_out(sequences, [r.members for r in rows])
    seen_BLL = layout.seen_BLL()
    assert layout.ids_BL.shape == (len(rows), max(r.length for r in rows))
    for ids, b, places in zip(sequences, layout.row_of, layout.places, strict=True):
        assert layout.ids_BL[b, places].tolist() == list(ids)
        assert layout.depth_BL[b, places].tolist() == list(range(len(ids)))
        for n, place in enumerate(places):
            assert seen_BLL[b, place].nonzero().squeeze(-1).tolist() == places[: n + 1]


@given(SEQUENCES)
def test_padding_sees_itself_and_is_seen_by_no_other(sequences):
    rows = shared_rows(sequences)
    seen_BLL = laid_out(sequences, [r.members for r in rows]).seen_BLL()
    for row, seen_LL in zip(rows, seen_BLL, strict=True):
        padding = seen_LL[row.length :]
        assert padding.sum(1).eq(1).all() and padding.diagonal(row.length).all()
        assert not seen_LL[: row.length, row.length :].any()


@given(SEQUENCES)
def test_the_order_of_a_row_changes_its_length_and_not_what_is_seen(sequences):
    layout = laid_out(sequences, [range(len(sequences))])
    seen_BLL = layout.seen_BLL()
    for ids, places in zip(sequences, layout.places, strict=True):
        assert layout.ids_BL[0, places].tolist() == list(ids)
        assert seen_BLL[0, places[-1]].nonzero().squeeze(-1).tolist() == places


def test_a_group_is_one_row_and_unlike_sequences_stay_apart():
    prompt = tuple(range(10, 27))
    group = [(*prompt, reply, 3) for reply in range(30, 38)]
    rows = shared_rows([*group, (5, 6, 7)])
    assert [(len(r.members), r.length) for r in rows] == [(1, 3), (8, 17 + 8 * 2)]


def test_little_that_is_shared_is_computed_again_rather_than_attended_to_by_long_replies():
    replies = [tuple(range(n, n + 500)) for n in range(100, 100 * 9, 100)]
    assert len(shared_rows([(1, 2, 3, *reply) for reply in replies])) == len(replies)
    prompt = tuple(range(500))
    assert len(shared_rows([(*prompt, *reply[:20]) for reply in replies])) == 1


def test_rows_are_cut_where_they_get_too_long():
    prompt = tuple(range(1000))
    group = [(*prompt, *([5 + i] * 100)) for i in range(64)]
    for longest in (1500, 10**6):
        rows = shared_rows(group, longest)
        assert min(longest, LONGEST) - 100 < max(r.length for r in rows) <= min(longest, LONGEST)


@pytest.mark.parametrize("cut", [0, 1, 5, 8])
def test_common_beginnings_are_found(cut):
    ids = tuple(range(8))
    assert common(ids, (*ids[:cut], 99)) == common((*ids[:cut], 99), ids) == cut
    assert common(ids, ids[:cut]) == cut
