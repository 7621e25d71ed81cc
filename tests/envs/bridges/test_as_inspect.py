"""Our environments as tasks of inspect_ai: the same episodes, payoffs and prompts as our own."""

import sys

import pytest

from coevo.envs.bridges.as_inspect import inspect_task
from coevo.envs.core.errors import ConfigError, MissingExtraError
from coevo.envs.core.single_agent import SingleAgentEnv

KUHN = "coevo/kuhn_poker-v0"
pytestmark = [  # inspect_ai 0.3.285: a parameter that its library renamed, streams left open
    pytest.mark.filterwarnings("ignore:The .initial. parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Unclosed:ResourceWarning"),
]


@pytest.fixture
def evaluated(tmp_path, monkeypatch):
    """Evaluate a model that always says the same; return the log."""
    package = pytest.importorskip("inspect_ai", reason="pip install inspect_ai")
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.model._providers.mockllm import MockLLM

    async def words(self, text):
        return len(text.split())

    monkeypatch.setattr(MockLLM, "count_text_tokens", words)  # its own is downloaded

    def run(env, reply, limit=None, **options):
        said = (ModelOutput.from_content("mockllm/model", reply) for _ in range(10**4))
        model = get_model("mockllm/model", custom_outputs=said, memoize=False)
        task = inspect_task(env, **options)
        where = {"log_dir": str(tmp_path), "display": "none", "message_limit": limit}
        (log,) = package.eval(task, model=model, **where)
        assert log.status == "success", log.error
        return log

    return run


def own(env, reply, seed, **options):
    """Return payoff and chat of an episode that our view of one seat plays."""
    world, total, over = SingleAgentEnv(env_id=env, **options), 0.0, False
    world.reset(seed=seed)
    while not over:
        seen, reward, ended, cut, _ = world.step(reply)
        total, over = total + reward, ended or cut
    return total, seen["messages"]


@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize("env", [KUHN, "coevo/password_game-v0"])
def test_inspect_plays_our_episodes_and_scores_their_payoff(evaluated, env, style):
    reply = "Let me see. [bet]"
    log = evaluated(env, reply, episodes=4, prompt_style=style, opponents="expert:1")
    paid = []
    for sample in log.samples:
        given = sample.metadata["arguments"] | {"env": env}
        assert given["seat"] == sample.metadata["seed"] % 2
        options = {"seat": given["seat"], "prompt_style": style, "opponents": "expert:1"}
        payoff, chat = own(env, reply, sample.metadata["seed"], **options)
        assert sample.scores["coevo_payoff"].value == pytest.approx(payoff)
        if style == "full":
            sent = [(m.role, m.text) for m in sample.messages]
            assert sent == [(m["role"], m["content"]) for m in chat][: len(sent)]
        paid.append(payoff)
    (score,) = log.results.scores
    assert score.metrics["mean"].value == pytest.approx(sum(paid) / 4)


def test_an_episode_that_a_limit_ends_has_no_score(evaluated):
    log = evaluated("coevo/password_game-v0", "[say: weather]", limit=4, episodes=2)
    assert all(not sample.scores for sample in log.samples)


def test_what_cannot_be_is_refused_in_one_line(monkeypatch):
    with pytest.raises(ConfigError, match="episodes=0 must be at least 1"):
        inspect_task(KUHN, episodes=0)
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(MissingExtraError, match="inspect_ai is missing: pip install"):
        inspect_task(KUHN)
