import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.statistics.social import social_outcome
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.societies.mechanisms import Punishment

ID = "coevo/sanctioned_dilemma-v0"
BOTH = [{"name": "punishment", "by": "partner"}, {"name": "punishment", "by": "bystander"}]
SHAPED = {"name": "punishment", "by": "partner", "cost": 0, "just": 2, "unjust": -10}


def play(act, seed=0, **options):
    env = make(ID, **options)
    env.reset(seed=seed)
    while env.awaiting:
        env.step(f"[{act(env, env.agent_selection)}]")
    return env


def best(env, seat):
    replies = env.expert(seat, 1.0)
    return replies.texts[int(replies.probabilities.argmax())][1:-1]


def with_defector(seat):
    """Everybody an expert, but one seat always defects and never punishes."""

    def act(env, at):
        if at == seat and env.task.phase in ("choice", "judge"):
            return "B" if env.task.phase == "choice" else "pass"
        return best(env, at)

    return act


@pytest.mark.parametrize("mechanisms", [[], ["partner_choice"], ["reputation", *BOTH]])
@pytest.mark.parametrize("players", [4, 6])
def test_everybody_meets_one_other_and_judges_whom_the_rules_say(mechanisms, players):
    env = make(ID, mechanisms=mechanisms, players=players, rounds=3)
    env.reset(seed=2)
    while env.awaiting:
        task = env.task
        if task.phase != "partner":
            assert set(task.pairs) == set(task.seats)
            assert all(task.pairs[task.pairs[a]] == a != task.pairs[a] for a in task.seats)
        if task.phase == "judge":
            judged = {a: task.judged(a) for a in task.seats}
            assert set(judged.values()) == set(task.seats), "everybody is judged once"
            direct = task.punishments[task.judging].by == "partner"
            assert all((task.pairs[a] == b) == direct and a != b for a, b in judged.items())
        env.step(f"[{best(env, env.agent_selection)}]")
    assert len(env.task.history) == 3


def test_a_partner_is_chosen_among_the_free_and_the_last_two_are_left_for_each_other():
    env = make(ID, players=6, mechanisms=["partner_choice"], rounds=1)
    env.reset(seed=0)
    asked = []
    while env.task.phase == "partner":
        seat = env.agent_selection
        legal = env.infos[seat]["legal_actions"]
        assert seat not in legal and not set(legal) & set(env.task.pairs)
        asked.append(len(legal))
        env.step(f"[{legal[-1]}]")
        assert env.task.pairs[seat] == legal[-1]
    assert asked == [5, 3]


def test_payoffs_scores_and_fines_add_up():
    choices = {"player_0": "B", "player_1": "A", "player_2": "A", "player_3": "A"}

    def act(env, seat):
        if env.task.phase == "choice":
            return choices[seat]
        return "punish" if env.task.judged(seat) == "player_0" else "pass"

    env = play(act, rounds=1, mechanisms=["reputation", SHAPED])
    victim = env.task.met["player_0"]
    wanted = {"player_0": 4 - 3, victim: 0 + 2}
    assert {a: env.episode.total(a) for a in env.possible_agents} == {
        a: wanted.get(a, 3) for a in env.possible_agents
    }
    assert env.task.scores["player_0"] == -1 and env.task.scores[victim] == 1 + 2
    assert env.episode.outcome == env.episode.outcome | {
        "cooperation": 0.75,
        "punishments": 0.25,
        "just_punishments": 1.0,
    }
    assert social_outcome(env.episode)["peace"] == 3


def test_an_unjust_punishment_costs_its_author():
    def act(env, seat):
        if env.task.phase == "choice":
            return "A"
        return "punish" if seat == "player_3" else "pass"

    env = play(act, rounds=1, mechanisms=["reputation", SHAPED])
    assert env.episode.total("player_3") == 3 - 10
    assert env.task.scores["player_3"] == 1 - 3
    assert env.episode.total(env.task.met["player_3"]) == 0
    assert env.payoff_range == (0 - 10 - 3, 4 + 2)


@pytest.mark.parametrize(
    ("mechanisms", "pays"),
    [([], True), (["reputation"], True), (BOTH, False), (["partner_choice", *BOTH], False)],
)
def test_defection_among_reciprocal_strangers_pays_only_where_it_is_punished(mechanisms, pays):
    """With a stranger, once: without sanctions the defector is ahead of the others."""
    others, own = [], []
    for seat in ("player_0", "player_2"):
        env = play(with_defector(seat), mechanisms=mechanisms, players=6, rounds=1)
        own.append(env.episode.total(seat))
        others += [env.episode.total(a) for a in env.possible_agents if a != seat]
    assert (sum(own) / len(own) > sum(others) / len(others)) == pays


def test_a_defector_is_the_last_to_be_chosen():
    env = make(ID, players=4, rounds=2, mechanisms=["partner_choice", "reputation"])
    for seed in range(6):
        env.reset(seed=seed)
        defector = with_defector("player_1")
        while env.task.round == 0:
            env.step(f"[{defector(env, env.agent_selection)}]")
        if env.agent_selection != "player_1":
            assert best(env, env.agent_selection) != "player_1"
            assert env.task.scores["player_1"] == -1


def test_references():
    refs = spec(ID).refs
    rule = Punishment()
    game = (3 + 0 + 4 + 1) / 4
    judged = (rule.pays(True) + rule.pays(False)) / 4 - rule.fine / 2
    assert refs["random"] == 5 * (game + judged)
    assert refs["oracle"] == evaluate(ExpertAgent(1.0), ID, None, 2).value == 15
    assert evaluate(RandomAgent(), ID, None, 80).value == pytest.approx(refs["random"], abs=0.9)


@pytest.mark.parametrize("style", ["full", "terse"])
def test_without_reputation_no_score_is_shown(style):
    for mechanisms in (["partner_choice"], ["partner_choice", "reputation"]):
        env = play(best, mechanisms=mechanisms, rounds=2, prompt_style=style)
        shown = str([env.chat(a) for a in env.possible_agents])
        assert ("score" in shown) == (len(mechanisms) == 2)


def test_choices_are_made_without_seeing_each_other():
    env = make(ID, mechanisms=[])
    env.reset(seed=0)
    seats = env.awaiting
    before = [env.chat(a) for a in seats[1:]]
    env.step("[B]")
    assert [env.chat(a) for a in seats[1:]] == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"players": 5}, "players=5 must be even"),
        ({"players": 2}, "four players or more, not 2"),
        ({"mechanisms": ["reputation", "reputation"]}, "reputation is given 2 times"),
        ({"mechanisms": ["punish"]}, "punishment"),
        ({"game": "battle_of_sexes"}, "symmetric 2x2"),
        ({"mechanisms": [{"name": "punishment", "fine": -1}]}, "fine=-1"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises((ConfigError, KeyError), match=message):
        make(ID, **options)


def test_the_mechanisms_come_back_from_the_record():
    env = play(best, rounds=1, mechanisms=[*BOTH, "reputation"])
    again = make(ID, **env.episode.options)
    assert again.task.config == env.task.config
