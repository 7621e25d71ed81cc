"""What the study of an episode's cost makes of its figures."""

import pytest
from episode_cost import TURNS, Cost, Costs, plotted, table


def costs(engine, power):
    """Return figures that grow by a power of the new tokens, but for the shortest episodes."""
    new = {turns: 100 + 300 * turns for turns in TURNS}
    seconds = {n: (n / 1000) ** power + (turns < 4) for turns, n in new.items()}
    return Costs(engine, tuple(Cost(t, n, 2 * n, seconds[n]) for t, n in new.items()))


@pytest.mark.parametrize("power", [1, 2.5])
def test_the_exponent_is_the_power_by_which_seconds_grow(power):
    assert costs("torch", power).exponent() == pytest.approx(power)


def test_figures_of_two_engines_go_through_a_file_into_one_table_and_picture(tmp_path):
    ours, theirs = costs("torch", 2), costs("vllm", 1)
    theirs.write(tmp_path / "vllm.json")
    both = [ours, Costs.read(tmp_path / "vllm.json")]
    assert both[1] == theirs
    text = table(both)
    assert text.count("| torch |") == text.count("| vllm |") == len(TURNS)
    assert "| vllm | 32 | 9,700 | 19,400 | 9.700 | 1.000 |" in text
    assert "engine torch: exponent 2.00\nengine vllm: exponent 1.00" in text
    plotted(both, tmp_path / "both.png")
    assert (tmp_path / "both.png").stat().st_size > 10_000
