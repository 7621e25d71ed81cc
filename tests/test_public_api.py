"""The stable surface: names, arguments and defaults that code outside this repository may use.

A failure here is a decision, not a repair: change the table together with a line in
CHANGELOG.md, under "Breaking" where code that worked stops working.
"""

import importlib
import inspect
import re

import pytest

from coevo.agents import Agent, Reply, Request
from coevo.commands.arguments import COMMANDS
from coevo.envs import list_envs
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Stop
from coevo.envs.rewards import RewardModule
from coevo.trainers.algorithms import ALGORITHMS

EXPORTED = {
    "coevo": "__version__ list_envs make",
    "coevo.envs": "list_envs make register spec",
    "coevo.envs.rewards": (
        "REWARDS FormatReward Gate InteractionReward LengthPenalty MajorityReward MarginReward "
        "OverlongPenalty PayoffReward Payments ProgressReward QualityReward RewardModule "
        "SemanticReward TokenCost ToolReward UnpaidWarning VerifierReward WeightedSum reward"
    ),
    "coevo.agents": (
        "Agent FirstLegalAgent FixedTextAgent HumanAgent OracleAgent RandomAgent Reply Request "
        "TutorAgent as_opponent"
    ),
}

# A further indented line continues the one above.
SIGNATURES = """
coevo:make(id, **kwargs)
coevo:list_envs()
coevo.envs:make(id, **kwargs)
coevo.envs:list_envs()
coevo.envs:spec(id)
coevo.envs:register(id, module, summary, **fields)
coevo.envs.core.registry:EnvSpec(*, id, module, summary, kind, simultaneous=False, seats=2,
    metric='', refs=<factory>, refs_source='', suites=None)
coevo.envs.core.env:TextEnv(*, prompt_style='full', illegal='forfeit', rewards=(),
    max_cycles=None, render_mode=None)
coevo.envs.core.env:TextEnv._seats(self)
coevo.envs.core.env:TextEnv._begin(self, options)
coevo.envs.core.env:TextEnv._to_move(self)
coevo.envs.core.env:TextEnv._legal(self, agent)
coevo.envs.core.env:TextEnv._play(self, moves)
coevo.envs.core.env:TextEnv._rules(self, agent)
coevo.envs.core.env:TextEnv._situation(self, agent)
coevo.envs.core.env:TextEnv._terse(self, agent)
coevo.envs.core.env:TextEnv._draw(self)
coevo.envs.core.env:TextEnv._stake(self, agent)
coevo.envs.core.env:TextEnv._outcome(self)
coevo.envs.core.env:TextEnv._private_info(self, agent)
coevo.envs.core.env:TextEnv.fresh(self)
coevo.envs.core.env:TextEnv.reset(self, seed=None, options=None)
coevo.envs.core.env:TextEnv.step(self, action)
coevo.envs.core.env:TextEnv.abandon(self, reason)
coevo.envs.core.env:TextEnv.observe(self, agent)
coevo.envs.core.env:TextEnv.chat(self, agent)
coevo.envs.core.env:TextEnv.render(self)
coevo.envs.core.episode:Episode(env, seed, options, agents, task='', turns=<factory>,
    stop=<Stop.UNFINISHED: 'unfinished'>, outcome=<factory>, note='')
coevo.envs.core.episode:Episode.total(self, agent, component=None)
coevo.envs.core.episode:Episode.to_json(self)
coevo.envs.core.episode:Episode.from_json(line)
coevo.envs.core.episode:Turn(agent, chat, text, move, status, legal, rewards=<factory>,
    player='', version=-1, prompt_ids=None, token_ids=None, logprobs=None, allowed=None,
    advantage=None, role='', round=0, about=-1, answer=None, verified=None, notes=<factory>)
coevo.envs.core.illegal:IllegalPolicy(*, retries=0, then='forfeit', offender='worst',
    surcharge=0.0, others=0.0, masked=False)
coevo.envs.rewards:reward(name, **params)
coevo.envs.questions:questions(spec='arithmetic')
coevo.envs.search.worlds:world(spec='fictional', seed=0)
coevo.envs.rewards:RewardModule.score_turn(self, episode, turn)
coevo.envs.rewards:RewardModule.score_earlier(self, episode, turn)
coevo.envs.rewards:RewardModule.score(self, episodes)
coevo.envs.rewards:RewardModule.fit(self, episodes)
coevo.envs.rewards:RewardModule.state_dict(self)
coevo.envs.rewards:RewardModule.load_state_dict(self, state)
coevo.agents:Agent()
coevo.agents:Agent.act(self, requests)
coevo.agents.speakers:speaker(env_id)
coevo.agents:Agent.probabilities(self, requests)
coevo.agents:Request(seat, chat, info, rng, conversation='', masked=False)
coevo.agents:Reply(text, prompt_ids=None, token_ids=None, logprobs=None, allowed=None)
coevo.agents:as_opponent(agent)
coevo.agents.load:load_agent(source, *, sampling=None, seed=0, device='auto',
    trust_remote_code=False)
coevo.agents.language_model:LanguageModelAgent(model, tokenizer, *, name='policy',
    sampling=None, seed=0)
coevo.agents.sampling:SamplingConfig(*, temperature=1.0, max_new_tokens=16, token_budget=16384)
coevo.trainers.loop:train(config, folder, *, probes=(), report=None)
coevo.trainers.run_folder:RunFolder(path)
coevo.trainers.config:load_config(path)
coevo.trainers.config:save_config(config, path)
coevo.trainers.config:TrainConfig(*, algorithm, env, env_options=<factory>, model='seed',
    sampling=<factory>, seed=0, steps=None, budget_seconds=None, budget_tokens=None,
    budget_turns=None, checkpoint_every=20, keep_checkpoints=2, probe_every=10, probe_points=0,
    episodes_logged=4, device='auto', threads=0, trust_remote_code=False)
coevo.trainers.algorithms:algorithm(name, variant=None, changes=None)
coevo.trainers.algorithm:Algorithm(*, name, summary, paper, formula, status='composed',
    checks=(), population=<factory>, rewards=(), sampler=<factory>, advantage=<factory>,
    loss=<factory>, replay_loss=None, magnet=<factory>, average=0.0, critic=None,
    optim=<factory>, optim_of=<factory>, published=<factory>, variants=<factory>)
coevo.trainers.algorithm:SamplerSpec(*, episodes=512, group_size=1, starts=0,
    allocate=<factory>, select=<factory>, replay=<factory>, archive=<factory>, greedy=False,
    component='payoff', low=-1.0, high=1.0)
coevo.trainers.algorithm:OptimSpec(*, lr=0.0003, schedule='constant', final_lr=0.1, warmup=5,
    beta1=0.9, beta2=0.95, weight_decay=0.0, grad_norm=1.0, epochs=1, minibatches=1,
    token_budget=8192, phases='', old='phase', frozen='')
coevo.trainers.algorithm:CriticSpec(*, form='value', lr=0.001, clip=0.2, passes=20, gamma=0.95,
    tau=0.1)
coevo.trainers.algorithm:Published(*, value, source, why='')
coevo.trainers.estimators:option(name, **params)
"""

COMMAND_LINE = """
envs(*, json=False)
algos(*, name=None, json=False)
check(*, name=None, list=False, seeds=5, json=False)
train(*, algo=None, env=None, model=None, steps=None, budget=None, budget_tokens=None,
    seed=None, out=None, variant=None, set=(), env_option=(), device=None, threads=None,
    temperature=None, max_new_tokens=None, log=None, resume=None, config=None, no_eval=False,
    eval_games=400)
compare(*, algos=None, env=None, out=None, seeds=None, budget_tokens=None, budget_turns=None,
    budget=None, model=None, baseline=None, points=None, games=None, set=(), env_option=(),
    temperature=None, max_new_tokens=None, workers=0, on='processes', threads=None, device=None,
    retry=False, json=False)
evaluate(*, agent=None, env=None, suite=None, scenario=None, axis=None, generations=None,
    opponent='random', games=None, samples=None, seed=0, greedy=False, temperature=None,
    max_new_tokens=None, env_option=(), out=None, device=None, json=False)
exploitability(*, agent, env, temperature=None, env_option=(), device=None, json=False)
tournament(*, agents=None, env=None, out=None, games=None, adaptive=False, exploiter=None,
    seed=None, env_option=(), device=None, json=False)
report(*, folder, out=None, episodes=400)
watch(*, folder, every=1.0, once=False)
serve(*, agent='seed', host='127.0.0.1', port=8000, device=None)
play(*, env, agent='seed', seat=0, seed=None, temperature=None, env_option=())
replay(*, file, episode=1)
seed-model build(*, out=None, minutes=None, turns=None)
seed-model check(*, model='seed', turns=500, games=400, json=False)
"""

ATTRIBUTES = {
    "coevo.envs.core.env:TextEnv.env_id": "",
    "coevo.envs.core.env:TextEnv.payoff_range": (-1.0, 1.0),
    "coevo.envs.core.env:TextEnv.zero_sum": False,
    "coevo.envs.rewards:RewardModule.name": "",
    "coevo.envs.rewards:RewardModule.range": (-1.0, 1.0),
    "coevo.envs.rewards:RewardModule.online": True,
    "coevo.envs.rewards:RewardModule.version": 0,
    "coevo.envs.rewards:RewardModule.wants": "",
    "coevo.agents:Agent.name": "agent",
    "coevo.agents:Agent.version": -1,
}

ENVIRONMENTS = {
    "coevo/connect_four-v0",
    "coevo/debate-v0",
    "coevo/goofspiel-v0",
    "coevo/iterated_game-v0",
    "coevo/kuhn_poker-v0",
    "coevo/leduc_poker-v0",
    "coevo/openspiel-v0",
    "coevo/peer_review-v0",
    "coevo/search_router-v0",
    "coevo/search_self_play-v0",
    "coevo/solver_verifier-v0",
    "coevo/tic_tac_toe-v0",
    "coevo/tiny_hanabi-v0",
    "coevo/trust_and_split-v0",
}
ALGORITHM_NAMES = {
    "advantage_alignment",
    "comas",
    "dr_mas",
    "grpo",
    "mars",
    "ppo",
    "reinforce",
    "rloo",
    "spiral",
    "ssp",
}


def entries(table):
    """Split a table into (name, arguments)."""
    lines = re.split(r"\n(?=\S)", table.strip())
    joined = [re.sub(r"\s+", " ", line) for line in lines]
    return [(line.partition("(")[0], "(" + line.partition("(")[2]) for line in joined]


def arguments(callable_):
    """Spell names, kinds and defaults; annotations are checked by the type checker."""
    signature = inspect.signature(callable_)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))


def look_up(name):
    module, _, inner = name.partition(":")
    found = importlib.import_module(module)
    for part in inner.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("module", EXPORTED)
def test_exported_names(module):
    names = importlib.import_module(module).__all__
    assert sorted(names) == sorted(EXPORTED[module].split())
    for name in names:
        look_up(f"{module}:{name}")


@pytest.mark.parametrize(("name", "expected"), entries(SIGNATURES), ids=lambda text: text[:60])
def test_signature(name, expected):
    assert arguments(look_up(name)) == expected


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attribute(name):
    assert look_up(name) == ATTRIBUTES[name]


def test_command_line():
    assert {name: arguments(kind) for name, kind in COMMANDS.items()} == dict(entries(COMMAND_LINE))


def test_registered_names_stay():
    assert {s.id for s in list_envs()} >= ENVIRONMENTS
    assert set(ALGORITHMS) >= ALGORITHM_NAMES


class Guess(TextEnv):
    """Say a letter: what a task outside this repository has to fill in, and nothing more."""

    def _seats(self):
        return ["guesser_0"]

    def _begin(self, options):
        self.secret, self.over = "ab"[int(self.np_random.integers(2))], False

    def _to_move(self):
        return [] if self.over else ["guesser_0"]

    def _legal(self, agent):
        return ["a", "b"]

    def _play(self, moves):
        self.over = True
        return {"guesser_0": 1.0 if moves["guesser_0"] == self.secret else -1.0}

    def _rules(self, agent):
        return "Guess the letter."

    def _situation(self, agent):
        return "[a] or [b]?"

    def _terse(self, agent):
        return "Guess: [a] or [b]?"

    def _draw(self):
        return "?"


class Bonus(RewardModule):
    """Half a point for a short reply."""

    name, range = "bonus", (0.0, 0.5)

    def score_turn(self, episode, turn):
        return {turn.agent: 0.5 * (len(turn.text) <= 3)}


class Certain(Agent):
    """Always takes the first move."""

    def act(self, requests):
        return [Reply(f"[{r.info['legal_actions'][0]}]") for r in requests]


@pytest.mark.parametrize("style", ["full", "terse"])
def test_a_task_a_reward_and_an_agent_from_outside_work_together(style):
    env = Guess(prompt_style=style, rewards=[Bonus()])
    returns = set()
    for seed in range(8):
        env.reset(seed=seed)
        (seat,) = env.awaiting
        request = Request(seat, env.chat(seat), env.infos[seat], env.np_random)
        env.step(Certain().act([request])[0].text)
        assert env.episode.stop is Stop.FINISHED
        assert env.episode.total(seat, "bonus") == 0.5
        returns.add(env.episode.total(seat))
    assert returns == {1.5, -0.5}
