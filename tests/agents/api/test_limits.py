"""Limits: held before they are passed, counted at the server; the pace on a clock of its own."""

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.agents.agent import Reply
from coevo.agents.api.agent import shared_limits
from coevo.agents.api.limits import Amount, Budget, Limits, RateLimit, most_prompt_tokens
from coevo.agents.api.outcome import LimitReachedError
from coevo.agents.api.settings import ApiSettings
from coevo.envs.core.errors import ConfigError

# A chat "chat 0" is bounded by 6 bytes + 8 + 64 = 78 tokens, a reply by 16: 94 in all.
BOUND = 94


def metered(web, prompt=12, completion=8):
    """Serve replies that cost what they say, and count it."""
    spent = []

    def behave(number, body, handler):
        spent.append(prompt + completion)
        web.send(handler, data=web.said("x", prompt, completion))

    server = web.serve(behave)
    server.spent = spent
    return server


@pytest.mark.parametrize("concurrency", [1, 3, 8])
@pytest.mark.parametrize("limit", [0, BOUND - 1, BOUND, 150, 200, 333])
def test_the_token_limit_is_never_passed_and_used_as_far_as_it_goes(
    web, agent_of, limit, concurrency
):
    server = metered(web)
    agent = agent_of(server, token_limit=limit, concurrency=concurrency)
    with pytest.raises(LimitReachedError, match=rf"before token_limit={limit}: "):
        agent.act([web.request(f"chat {i % 10}", task=str(i)) for i in range(100)])
    # Every request costs 20 and is sent while 94 more fit.
    expected = max(0, (limit - BOUND) // 20 + 1)
    assert len(server.asked) == expected
    assert sum(server.spent) == agent.usage.prompt_tokens + agent.usage.completion_tokens <= limit


def test_the_cost_limit_is_never_passed(web, agent_of):
    server = metered(web)
    prices = {"price_in": 1000.0, "price_out": 2000.0}  # a reply costs 0.012 + 0.016
    agent = agent_of(server, cost_limit=0.5, **prices)
    with pytest.raises(LimitReachedError, match=r"before cost_limit=0\.5: 0"):
        agent.act([web.request(f"chat {i % 10}", task=str(i)) for i in range(100)])
    bound = 0.078 + 0.032
    expected = int((0.5 - bound) / 0.028) + 1
    assert len(server.asked) == expected
    assert agent.usage.cost == pytest.approx(0.028 * expected) and agent.usage.cost <= 0.5


def test_the_request_limit_counts_retries_too(web, agent_of):
    server = web.serve(lambda n, b, h: web.send(h, 500) if n == 1 else web.echo(n, b, h))
    agent = agent_of(server, request_limit=5, concurrency=2)
    with pytest.raises(LimitReachedError, match="before request_limit=5: 5 used"):
        agent.act([web.request(f"chat {i}") for i in range(9)])
    assert len(server.asked) == 5 and agent.usage.requests == 4


def test_what_was_answered_before_a_limit_is_kept(web, agent_of, tmp_path):
    server = metered(web)
    requests = [web.request(f"chat {i}") for i in range(10)]
    with pytest.raises(LimitReachedError, match="with a higher limit the same command continues"):
        agent_of(server, token_limit=200, cache=tmp_path).act(requests)
    done = len(server.asked)
    assert 0 < done < 10
    agent = agent_of(server, token_limit=2000, cache=tmp_path)
    assert agent.act(requests) == [Reply("x")] * 10
    assert len(server.asked) == 10 and agent.usage.hits == done


def test_a_server_that_counts_nothing_is_taken_at_the_upper_bound(web, agent_of):
    body = web.said("x")
    del body["usage"]
    server = web.serve(lambda n, b, h: web.send(h, data=body))
    agent = agent_of(server, token_limit=3 * BOUND)
    with pytest.raises(LimitReachedError):
        agent.act([web.request(f"chat {i}") for i in range(9)])
    assert len(server.asked) == 3


@pytest.mark.parametrize(("bad", "billed"), [("drop", True), ("500", False)])
def test_attempts_that_may_have_been_billed_count_in_full(web, agent_of, bad, billed):
    def behave(number, body, handler):
        web.drop(handler) if bad == "drop" else web.send(handler, 500)

    server = web.serve(behave)
    agent = agent_of(server, token_limit=3 * BOUND + 10, max_retries=9, concurrency=1)
    if billed:
        with pytest.raises(LimitReachedError):
            agent.act([web.request("chat 0")])
    else:
        agent.act([web.request("chat 0")])
    assert len(server.asked) == (3 if billed else 10)
    assert agent.usage.unsure_tokens == (3 * BOUND if billed else 0)


def test_a_template_that_adds_more_than_expected_is_learnt(web, agent_of):
    server = metered(web, prompt=500, completion=10)
    agent = agent_of(server, token_limit=1100, concurrency=1)
    with pytest.raises(LimitReachedError):
        agent.act([web.request(f"chat {i}") for i in range(9)])
    assert len(server.asked) == 2  # the third would end at 1530; the first estimate said 1114


def test_agents_of_one_account_share_its_limits(web, agent_of):
    server = metered(web)
    limits = Limits(ApiSettings(model="m", token_limit=200))
    first, second = (agent_of(server, limits=limits) for _ in range(2))
    first.act([web.request(f"chat {i}") for i in range(3)])
    second.act([web.request(f"chat {i}") for i in range(3)])
    with pytest.raises(LimitReachedError):
        first.act([web.request("chat 9")])
    assert len(server.asked) == 6
    settings = ApiSettings(model="a", base_url=server.url, token_limit=200)
    other = ApiSettings(model="b", base_url=server.url, token_limit=200)
    assert shared_limits(settings) is shared_limits(other)
    free = ApiSettings(model="a", base_url=server.url)
    assert shared_limits(free) is not shared_limits(settings)


def test_the_bound_of_a_prompt_holds_for_byte_tokenizers():
    chat = [{"role": "user", "content": "né\ud800" * 10}, {"role": "assistant", "content": ""}]
    assert most_prompt_tokens(chat) == 60 + 16 + 64


@given(
    st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), min_size=1, max_size=30),
    st.integers(0, 300),
)
def test_a_budget_is_never_passed_at_any_moment(requests, limit):
    """Whatever is reserved, and however much of it is used, in whatever order."""
    budget = Budget(Amount.limit(None, limit))
    rng = np.random.default_rng(0)

    async def one(most, share):
        try:
            await budget.reserve(Amount(tokens=most))
        except LimitReachedError:
            assert budget.used.tokens + most > limit
            return 0
        assert budget.used.tokens + sum(h.tokens for h in budget._held) <= limit
        for _ in range(int(rng.integers(3))):
            await asyncio.sleep(0)
        used = int(share * most)
        budget.settle(Amount(tokens=most), Amount(tokens=used))
        return used

    async def everybody():
        return await asyncio.gather(*(one(*r) for r in requests))

    assert sum(asyncio.run(everybody())) == budget.used.tokens <= limit


# ---- Per minute ----------------------------------------------------------------------------------


def paced(clock, requests, tokens, sizes):
    """Send as fast as allowed; return the times."""
    rate = RateLimit(Amount.limit(requests, tokens), clock)

    async def everybody():
        return [(await rate.acquire(size)).at for size in sizes]

    return np.array(asyncio.run(everybody()))


@pytest.mark.parametrize("most", [1, 3, 7])
def test_no_minute_has_more_requests_than_allowed(clock, most):
    times = paced(clock, most, None, [1] * 25)
    assert (times[most:] - times[:-most] >= 60).all()
    assert times[-1] - times[0] == pytest.approx(60 * (24 // most))


@given(st.lists(st.integers(1, 100), min_size=1, max_size=40))
def test_no_minute_has_more_tokens_than_allowed(sizes):
    from types import SimpleNamespace

    async def sleep(seconds):
        clock.time += seconds

    clock = SimpleNamespace(time=0.0, now=lambda: clock.time, sleep=sleep)
    times = paced(clock, None, 100, sizes)
    for start in times:
        inside = (times >= start) & (times < start + 60)
        assert np.sum(np.array(sizes)[inside]) <= 100
    if sum(sizes) <= 100:
        assert times[-1] == 0


def test_a_request_larger_than_a_minute_is_a_wrong_setting(clock):
    with pytest.raises(ConfigError, match="tokens_per_minute=50 is less than the 60 tokens"):
        paced(clock, None, 50, [60])


def test_tokens_that_were_not_used_are_free_again(clock):
    rate = RateLimit(Amount.limit(None, 100), clock)

    async def two():
        first = await rate.acquire(90)
        first.tokens = 10
        return (await rate.acquire(90)).at - first.at

    assert asyncio.run(two()) == 0


def test_nothing_is_sent_while_a_server_is_left_alone(clock):
    rate = RateLimit(Amount.limit(), clock)

    async def three():
        first = await rate.acquire(1)
        rate.pause(30)
        rate.pause(5)  # the longest counts
        return [(await rate.acquire(1)).at - first.at for _ in range(2)]

    assert asyncio.run(three()) == [30, 30]


def test_the_agent_keeps_the_pace(web, agent_of, clock):
    sent = []

    def behave(number, body, handler):
        sent.append(clock.time)
        web.send(handler, 500) if number == 1 else web.echo(number, body, handler)

    server = web.serve(behave)
    # One at a time: this clock jumps ahead, also of requests that are under way.
    agent = agent_of(server, requests_per_minute=2, concurrency=1)
    agent.act([web.request(f"c{i}") for i in range(6)])
    times = np.sort(sent)
    assert len(times) == 7 and (times[2:] - times[:-2] >= 60).all()


def test_the_agent_keeps_the_tokens_per_minute(web, agent_of, clock):
    server = metered(web, prompt=40, completion=10)
    agent_of(server, tokens_per_minute=100, concurrency=1).act(
        [web.request(f"chat {i}") for i in range(4)]
    )
    # Sent while at most 6 tokens of the last minute are used: one a minute.
    assert clock.time - 1000 == pytest.approx(180)
