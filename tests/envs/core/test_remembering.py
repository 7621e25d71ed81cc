"""What functions of texts remember is bounded in bytes."""

import copy
import tracemalloc

from coevo.envs.core.remembering import remembered


def counted(most):
    asked = []

    @remembered(most)
    def length(text):
        asked.append(text)
        return len(text)

    return length, asked


def test_what_was_asked_last_is_known():
    length, asked = counted(4000)
    assert [length("a"), length("bb"), length("a")] == [1, 2, 1]
    assert asked == ["a", "bb"]


def test_what_was_not_asked_for_longest_goes_first():
    length, asked = counted(4000)  # room for 11 entries of about 360 bytes
    for number in range(9):
        length(f"{number}")
    length("0")
    for number in range(9, 15):
        length(f"{number}")
    asked.clear()
    length("0"), length("14"), length("1")
    assert asked == ["1"]
    assert length.held() <= 4000


def test_what_is_large_is_never_kept():
    length, asked = counted(10_000)
    length("x" * 2000), length("x" * 2000)
    assert (len(asked), length.held()) == (2, 0)


def test_memory_stays_within_the_bound():
    length = remembered(2_000_000)(len)
    tracemalloc.start()
    for number in range(2000):
        length(f"{number:020000}")
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 2_500_000


def test_a_copy_of_what_holds_it_remembers_with_it():
    length, asked = counted(4000)
    copy.deepcopy({"length": length})["length"]("a")
    length("a")
    assert asked == ["a"]
