"""Teams that are built and teams that talk: short runs of `mashost_size` and `marft_chain`."""

from coevo.benchmarks.reproductions.claims import marft_chain, mashost_size
from coevo.envs import make


def test_what_a_builder_sees_has_a_row_for_every_list_of_moves():
    env, rows = make("coevo/graph_builder-v0", prompt_style="terse"), set()
    for seed in range(200):
        env.reset(seed=seed)
        while env.awaiting:
            legal = env.infos["builder_0"]["legal_actions"]
            seen = mashost_size.read(env.chat("builder_0")[-1]["content"])
            rows.add((seen, tuple(legal)))
            assert len(legal) <= mashost_size.MOVES
            env.step(f"[{legal[hash((seed, seen)) % len(legal)]}]")
    assert len({seen for seen, _ in rows}) == len(rows) < mashost_size.ROWS


def test_nobody_but_the_actor_is_paid_and_credit_reaches_the_reasoner():
    before, after = (marft_chain.CLAIM.measures("team", steps=n)["right"] for n in (1, 25))
    assert after > before
