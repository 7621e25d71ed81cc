"""AgentEvolver: marks on moves teach a sparse task sooner than its outcome alone."""

from statistics import fmean

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.key_door import KeyDoor, walkers
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import SEAT

UPDATES, ENOUGH, WINDOW = 80, 0.8, 5


def _measure(end: Trained) -> dict[str, float]:
    solved = [update[f"return/{SEAT}"] for update in end.log]
    means = [fmean(solved[max(0, k - WINDOW + 1) : k + 1]) for k in range(len(solved))]
    soon = next((k + 1 for k, mean in enumerate(means) if mean >= ENOUGH), len(solved))
    return {"soon": float(soon), "solved": means[-1], "on_the_way": fmean(solved)}


def _marked(flips: float) -> Arm:
    return Arm("agent_evolver:noted", {"cycle.mark_turns.by.flips": flips})


CLAIM = Claim(
    property="""Credit from marks on moves, one in five of them wrong, reaches 80 % success in fewer
        updates than GRPO on the outcome; marks that are pure chance do little harm.""",
    source="""Zhai et al. 2025, AgentEvolver, arXiv 2511.10395 (attribution: about 10 % more and 40
        % fewer steps than GRPO); the bounds are ours""",
    minutes=2.0,
    on="toy",
    setting="""A room of 3 by 3 squares, 8 moves; a walker earns 1 if it brings the key to the door.
        A move is good if it leads nearer to the end. `agent_evolver` with those marks, of which a
        fifth or a half change their sign, and GRPO: 80 updates of 4 tasks of 4 episodes, a table.
        """,
    measured="""The first update at which the mean success of five updates is 0.8 (80 if none is),
        the success of the last five, and the mean of all.""",
    chosen="Sizes, learning rate and bounds, before the figures.",
    world=World(KeyDoor.env_id, UPDATES, {"size": 3, "moves": 8}, walkers(0.9)),
    changes={**PLAIN, "collect.episodes": 16, "collect.group_size": 4, "optim.lr": 30.0},
    arms={"fifth": _marked(0.2), "half": _marked(0.5), "grpo": Arm("grpo")},
    measure=_measure,
    expect=(
        Expect("updates to 80 %, a fifth of the marks wrong", "fifth.soon"),
        Expect("updates to 80 %, half of the marks wrong", "half.soon"),
        Expect("updates to 80 %, GRPO", "grpo.soon"),
        Expect("GRPO minus a fifth wrong: updates", "grpo.soon - fifth.soon", low=5.0),
        Expect("success at the end, a fifth wrong", "fifth.solved"),
        Expect("success at the end, half wrong", "half.solved"),
        Expect("success at the end, GRPO", "grpo.solved"),
        Expect(
            "half wrong minus GRPO: mean success", "half.on_the_way - grpo.on_the_way", low=-0.05
        ),
    ),
)
