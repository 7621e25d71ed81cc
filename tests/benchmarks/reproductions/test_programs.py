"""Claims about programs: their measures, on short runs."""

from coevo.benchmarks.reproductions.claims import (
    drq_generality,
    llm_ge,
    policy_synthesis_feedback,
    theta_evolve,
)
from coevo.benchmarks.reproductions.run import World
from coevo.envs import make


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


def test_points_are_moved_kept_or_lost_and_paid_for():
    start, task = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], theta_evolve
    assert task.changed(start, "keep 3") == start and task.changed(start, "break 0") is None
    assert task.changed(start, "move 0 1")[0] == [task.STEP, 0.0]
    assert task.changed(start, "move 0 0") == start, "a point stays in the square"
    env = make(task.FivePoints.env_id, prompt_style="terse")
    for move, paid in (("keep 0", -0.3), ("break 0", -0.2)):
        env.reset(seed=0)
        env.step(f"[{move}]")
        assert env.episode.total("player_0") == paid
    env.reset(seed=0, options={"parent": str([[0.0, 0.0], [0.1, 0.0], *start[1:4]])})
    env.step("[move 1 1]")
    assert env.episode.total("player_0") == 1.0
    assert env.episode.outcome["worth"] == 0.15


def test_a_writer_is_measured_with_and_without_an_archive():
    found = theta_evolve.CLAIM.run([0], 3).figures
    figures = {figure.label: figure.mean for figure in found}
    assert 0 < figures["alone: best child"] < figures["frozen: best child"] + 0.1
    assert 0 <= figures["trained: lazy children, last updates"] <= 1


def test_a_front_is_measured_at_the_end_and_on_the_way(monkeypatch):
    world = World(llm_ge.WORLD.env, 6, llm_ge.WORLD.options, watch=llm_ge.WORLD.watch)
    monkeypatch.setattr(llm_ge, "WORLD", world)
    monkeypatch.setattr(llm_ge, "GENERATIONS", 6)
    found = llm_ge.searched(begin=16)(0)
    assert found["fallen"] == 0 and 0 < found["third"] <= found["area"] < 0.9
    assert found["front"] >= 1 and 0.1 < found["accuracy"] < 1
    ahead = {"evolved": {"area": (0.2, 0.1)}, "random": {"area": (0.1, 0.1)}}
    assert llm_ge._ahead(ahead) == [0.5]
