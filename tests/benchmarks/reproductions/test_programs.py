"""Claims about programs: their measures, on short runs."""

from coevo.benchmarks.reproductions.claims import drq_generality, policy_synthesis_feedback
from coevo.benchmarks.reproductions.run import World


def test_generality_is_measured_of_the_champions_of_a_run(monkeypatch):
    monkeypatch.setattr(drq_generality, "DUELS", 2)
    monkeypatch.setattr(drq_generality, "HELD_OUT", drq_generality.HELD_OUT[:2])
    small = {"cycle.challenge.children": 2, "cycle.challenge.updates": 1}
    monkeypatch.setattr(drq_generality, "CHANGES", drq_generality.CHANGES | small)
    world = World("coevo/core_war-v0", 6, {"warriors": 1, "rounds": 1, "cycles": 400})
    monkeypatch.setattr(drq_generality, "WORLD", world)
    found = drq_generality.rounds("drq")(0)
    assert set(found) == {"older", "early", "late", "rise"}
    assert all(0 <= found[name] <= 1 for name in ("older", "early", "late"))
    assert found["rise"] == found["late"] - found["early"]
    assert found == drq_generality.rounds("drq")(0) != drq_generality.rounds("drq")(1)


def test_synthesis_is_measured_of_the_best_program_in_other_games(monkeypatch):
    monkeypatch.setattr(policy_synthesis_feedback, "GAMES", 2)
    world = World(policy_synthesis_feedback.ENV, 3, {"steps": 20})
    monkeypatch.setattr(policy_synthesis_feedback, "WORLD", world)
    found = policy_synthesis_feedback.refined("policy_synthesis")(0)
    assert set(found) == {"known", "return"} and found["return"] >= 0
    assert found == policy_synthesis_feedback.refined("policy_synthesis")(0)


def test_no_attack_gains_or_moves_anything():
    assert policy_synthesis_feedback.cheated(1) == {"gain": 0.0, "moved": 0.0}
