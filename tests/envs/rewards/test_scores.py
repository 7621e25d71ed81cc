"""What a reward module returns for a batch: values, what is invalid, and a version on the turn."""

import pytest

from coevo.envs.core.apply import apply_batch, apply_turn
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import DataError
from coevo.envs.core.parsing import Status
from coevo.envs.core.rewards import RewardModule, ScoreContext, Scores
from coevo.envs.rewards import Format, Gated, TokenCost, WeightedSum

SEATS = ("a_0", "a_1")


def episode(*agents):
    turns = [Turn(a, (), "[x]", "x", Status.LEGAL, ("x",), token_ids=[1]) for a in agents]
    return Episode("coevo/kuhn_poker-v0", 0, {}, SEATS, "t", turns, StopReason.FINISHED)


class Unsure(RewardModule):
    """Pays a turn its number, and cannot say what the second is worth."""

    name, per_turn, version = "unsure", False, 7

    def score(self, episodes, context):
        self.step = context.step
        table = [[{t.agent: float(k)} for k, t in enumerate(e.turns)] for e in episodes]
        for row in table:
            row[1].clear()
        invalid = {(i, 1, e.turns[1].agent): "no answer" for i, e in enumerate(episodes)}
        return Scores(table, self.version, invalid)


def test_values_versions_and_reasons_are_written_on_the_turns():
    one, module = episode(*SEATS, *SEATS), Unsure()
    apply_batch([module], [one], ScoreContext(step=3))
    assert module.step == 3
    assert [t.rewards["unsure"] for t in one.turns] == [{"a_0": 0.0}, {}, {"a_0": 2.0}, {"a_1": 3}]
    assert {t.versions["unsure"] for t in one.turns} == {7}
    assert [t.invalid for t in one.turns] == [{}, {"unsure": {"a_1": "no answer"}}, {}, {}]
    assert one.unrewarded("a_1") and not one.unrewarded("a_0")
    again = Episode.from_json(one.to_json())
    assert again.turns[1].invalid == one.turns[1].invalid
    assert again.turns[1].versions == {"unsure": 7}


def test_modules_that_know_the_past_alone_are_versioned_too():
    one = episode("a_0")
    apply_turn([Format()], one, one.turns[0])
    assert one.turns[0].versions == {"format": 0}


def test_a_value_cannot_be_given_and_invalid():
    with pytest.raises(DataError, match="a_0 has a reward, which is invalid"):
        Scores([[{"a_0": 0.0}]], 0, {(0, 0, "a_0"): "why"})


@pytest.mark.parametrize(
    "whole",
    [
        WeightedSum(parts=(Unsure(), TokenCost())),
        Gated(module=TokenCost(), when=Unsure(), least=0.0),
        Gated(module=Unsure(), when=TokenCost(), least=-1.0),
    ],
)
def test_what_is_invalid_for_a_part_is_invalid_for_the_whole(whole):
    one = episode(*SEATS)
    apply_batch([whole], [one])
    assert one.unrewarded("a_1") and "a_1" not in one.turns[1].rewards[whole.component]
    assert "a_0" in one.turns[0].rewards[whole.component]
    assert one.turns[0].versions == {whole.component: 7}
