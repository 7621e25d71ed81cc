from dataclasses import dataclass, field

from coevo.agents import RandomAgent
from coevo.agents.agent import Agent, Reply
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.usage import Usage, account_of

KUHN = "coevo/kuhn_poker-v0"


@dataclass
class Bill:
    requests: int = 7
    hits: int = 1
    prompt_tokens: int = 100
    completion_tokens: int = 50
    cached_tokens: int = 30
    cost: float = 0.5
    failures: dict = field(default_factory=lambda: {"server": 1})


class Bought(Agent):
    """Takes the first move and keeps an account, as an agent behind a server does."""

    name = "bought"

    def __init__(self):
        self.bill = Bill()

    @property
    def usage(self):
        return self.bill

    def act(self, requests):
        self.bill.requests += len(requests)
        self.bill.prompt_tokens += 10 * len(requests)
        self.bill.completion_tokens += 2 * len(requests)
        self.bill.cost += 0.25 * len(requests)
        return [Reply(f"[{r.info['legal_actions'][0]}]") for r in requests]


class Policy(Agent):
    """Takes the first move and says which tokens that was."""

    def act(self, requests):
        return [
            Reply(f"[{r.info['legal_actions'][0]}]", prompt_ids=[1, 2, 3], token_ids=[4, 5])
            for r in requests
        ]


def test_only_what_these_plays_used_is_counted():
    agent = Bought()
    found = evaluate(agent, KUHN, games=10).usage
    assert found.replies > 0
    assert found.requests == found.replies
    assert (found.prompt_tokens, found.sampled_tokens) == (10 * found.replies, 2 * found.replies)
    assert found.cost == 0.25 * found.replies
    assert found.hits == 0 and found.failures == {} and found.cached_tokens == 0


def test_policies_are_counted_by_their_token_ids():
    found = evaluate(Policy(), KUHN, "random", games=10).usage
    assert found.prompt_tokens == 3 * found.replies
    assert found.sampled_tokens == 2 * found.replies
    both = evaluate(Policy(), KUHN, Policy(), games=10).usage
    assert both.replies < evaluate(Policy(), KUHN, None, games=10).usage.replies
    assert both.sampled_tokens == 2 * both.replies


def test_scripts_cost_nothing():
    assert account_of(RandomAgent()) == Usage()
    found = evaluate(RandomAgent(), KUHN, games=4).usage
    assert (found.sampled_tokens, found.cost) == (0, 0)
    assert found.replies > 0


def test_usage_adds_up():
    one = Usage(replies=1, prompt_tokens=2, sampled_tokens=3, requests=4, hits=5, cost=0.5)
    assert one + one == Usage(
        replies=2, prompt_tokens=4, sampled_tokens=6, requests=8, hits=10, cost=1.0
    )
    failed = Usage(failures={"server": 1})
    assert (failed + failed + Usage(failures={"request": 1})).failures == {
        "server": 2,
        "request": 1,
    }
    assert (failed - failed).failures == {}
