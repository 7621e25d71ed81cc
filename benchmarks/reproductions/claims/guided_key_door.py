"""Agent-RLVR: guidance opens tasks that pay too rarely to be learnt from."""

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.key_door import KeyDoor, walkers
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import SEAT


def _measure(end: Trained) -> dict[str, float]:
    (episodes,) = end.run.collector.held_out(64, end.run.progress.step)
    first = end.log[:10]
    return {
        "solved": sum(e.total(SEAT) for e in episodes) / len(episodes),
        "failed_first": sum(update.get("guide/failed", 0.0) for update in first) / len(first),
        "failed_last": end.last(10, "guide/failed"),
    }


CLAIM = Claim(
    property="""With guidance on tasks that no attempt solved, a sparse task is learnt from the same
        number of moves that teaches little without it, and fewer tasks stay unsolved.""",
    source="""Da et al. 2025, Agent-RLVR, arXiv 2506.11425 (guided training lifts pass@1; the
        abstract was read); the bounds are ours""",
    minutes=1.5,
    on="toy",
    setting="""A room of 4 by 4 squares, 14 moves; a walker that starts at least 10 moves from the
        end earns 1 if it brings the key to the door. It has a table of places and moves, and makes
        an advised move with probability 0.9 at the start. `agent_rlvr`: 4 tasks of 4 episodes an
        update, the expert's moves as guidance; its variants `imitate` and `unguided`; GRPO. All
        arms get 10,000 sampled moves, those of guided episodes included.""",
    measured="""Share of 64 held-out tasks that are solved without guidance at the end; share of
        the tasks of an update that no unguided attempt solved, in the first and the last ten.""",
    chosen="""Learning rates and bounds, before the figures. The world after them, as the third of
        three: with starts anywhere, and 8 moves in a room of 3 by 3 (seed 0: guided 0.98, unguided
        pairs 0.97, GRPO 0.63) or 12 in this one (0.77, 0.75, 0), easy starts teach the others.""",
    world=World(
        KeyDoor.env_id,
        options={"moves": 14, "least": 10},
        maker=walkers(0.9),
        settings={"budget_tokens": 10_000},
    ),
    changes={**PLAIN, "collect.episodes": 16, "collect.group_size": 4},
    arms={
        "pairs": Arm("agent_rlvr", {"optim.lr": 50.0}),
        "imitate": Arm("agent_rlvr:imitate", {"optim.lr": 10.0}),
        "unguided": Arm("agent_rlvr:unguided", {"optim.lr": 50.0}),
        "grpo": Arm("grpo", {"optim.lr": 30.0}),
    },
    measure=_measure,
    expect=(
        Expect("solved, guided pairs", "pairs.solved"),
        Expect("solved, guided imitation", "imitate.solved"),
        Expect("solved, unguided pairs", "unguided.solved"),
        Expect("solved, GRPO", "grpo.solved"),
        Expect("guided minus unguided pairs", "pairs.solved - unguided.solved", low=0.2),
        Expect("guided pairs minus GRPO", "pairs.solved - grpo.solved"),
        Expect("tasks without a success, first ten updates", "pairs.failed_first"),
        Expect("tasks without a success, last ten updates", "pairs.failed_last"),
        Expect("fall of that share", "pairs.failed_first - pairs.failed_last", low=0.2),
    ),
)
