"""The soak of training, at a size of seconds."""

from soak_training import RUNS, Seen, faults, soak


def test_every_kind_of_run_is_trained_and_its_files_are_closed():
    found = soak(0.0, updates=2)
    assert len(found) == len(RUNS)
    assert found[-1].files <= found[0].files
    assert found[-1].threads <= found[0].threads


def test_what_grows_is_seen():
    flat = [Seen(500.0, 9, 3)] * 8
    assert faults(flat) == []
    assert faults([*flat[:7], Seen(500.0, 10, 3)]) == ["files grew from 9 to 10"]
    assert faults([*flat[:7], Seen(500.0, 9, 4)]) == ["threads grew from 3 to 4"]
    assert "memory" in faults([Seen(500.0 + 5 * n, 9, 3) for n in range(8)])[0]
