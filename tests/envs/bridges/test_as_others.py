"""Our environments in TRL's, TextArena's and verifiers' interfaces."""

import asyncio
import contextlib
import sys

import pytest

from coevo.envs import make
from coevo.envs.bridges.as_textarena import CoevoGame, register_games
from coevo.envs.bridges.as_trl import trl_environment
from coevo.envs.core.errors import INSTALL, ConfigError, MissingExtraError, UnknownNameError

KUHN = "coevo/kuhn_poker-v0"


def passes(env, seat, rng):
    legal = env.infos[seat]["legal_actions"]
    return f"[{legal[0]}]"


# ---- TRL ---------------------------------------------------------------------------------------


def test_trl_plays_by_calls_of_a_tool():
    world = trl_environment(KUHN, seat=0, opponents=passes)()
    first = world.reset(seed=3, prompt="ignored", other=1)
    assert "Kuhn" in first and "Legal moves: [check], [bet]" in first
    assert "over" in world.reply("I bet. [bet]")
    assert world.get_reward() == world._env.env.episode.total("player_0") == 1
    assert world.reply("[bet]") == "The game is over."
    assert world.reset(seed=3) == first


def test_a_rollout_that_stops_early_gives_up():
    world = trl_environment(KUHN, seat=0, opponents=passes)()
    world.reset(seed=3)
    assert world.get_reward() == -2 and world._env.env.episode.stop == "forfeit"


def test_only_the_tool_is_offered_to_the_model():
    utils = pytest.importorskip("transformers.utils", reason=INSTALL.format("train"))
    world = trl_environment(KUHN)()
    public = {name for name in dir(world) if not name.startswith("_")}
    assert public == {"reset", "reply", "get_reward"}
    schema = utils.get_json_schema(world.reply)["function"]
    assert list(schema["parameters"]["properties"]) == ["text"]
    with pytest.raises(UnknownNameError, match="did you mean"):
        trl_environment("coevo/kuhn-v0")


@pytest.mark.filterwarnings("default")  # theirs
def test_trl_trains_on_it(tmp_path, monkeypatch):
    trl = pytest.importorskip("trl", reason="pip install trl")
    datasets = pytest.importorskip("datasets", reason="pip install trl")
    from pathlib import Path

    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    bytes_ = Tokenizer(models.BPE())
    bytes_.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    bytes_.train_from_iterator(
        ["a"],
        trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytes_, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = template.read_text(encoding="utf-8")
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
        )
    )
    worlds = []
    factory = trl_environment(KUHN, seat=0)
    trainer = trl.GRPOTrainer(
        model=model,
        args=trl.GRPOConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=2,
            num_generations=2,
            max_completion_length=8,
            max_steps=1,
            report_to=[],
            use_cpu=True,
            bf16=False,
            save_strategy="no",
        ),
        processing_class=tokenizer,
        train_dataset=datasets.Dataset.from_list(
            [{"prompt": [{"role": "user", "content": "Play. "}], "seed": n} for n in range(4)]
        ),
        environment_factory=lambda: worlds.append(factory()) or worlds[-1],
    )
    trainer.train()
    logged = [h["reward"] for h in trainer.state.log_history if "reward" in h]
    assert len(worlds) == 2 and logged == [-2.0]  # who never calls the tool gives up


# ---- TextArena ---------------------------------------------------------------------------------


def test_textarena_is_asked_for_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "textarena", None)
    with pytest.raises(MissingExtraError, match=r"-e '\.\[bridges\]'"):
        CoevoGame(KUHN)


def test_textarena_makes_and_plays_our_games():
    textarena = pytest.importorskip("textarena", reason=INSTALL.format("bridges"))
    register_games()
    assert not register_games(), "a second call finds them all"
    game = textarena.make(KUHN)
    game.reset(num_players=2, seed=5)
    same = make(KUHN)
    same.reset(seed=5)
    done, said = False, ["[check]", "[bet]", "[call]"]
    while not done:
        player, text = game.get_observation()
        seat = same.agent_selection
        assert seat == f"player_{player}"
        assert all(m["content"] in text for m in same.chat(seat) if m["role"] != "assistant")
        done, _ = game.step(said[0])
        same.step(said.pop(0))
    rewards, info = game.close()
    assert rewards == {p: same.episode.total(a) for p, a in enumerate(same.possible_agents)}
    assert info[0]["turn_count"] == 2 and info[0]["reason"] == "finished"


def test_textarenas_raw_messages_hide_what_the_other_seat_knows():
    textarena = pytest.importorskip("textarena", reason=INSTALL.format("bridges"))
    register_games()
    game = textarena.make(f"{KUHN}-raw")
    game.reset(num_players=2, seed=5)
    _, first = game.get_observation()
    assert [kind.name for *_, kind in first] == ["PROMPT", "GAME_MESSAGE"]
    game.step("[check]")
    player, second = game.get_observation()
    own = {m[1] for m in first}
    assert player == 1 and not own & {m[1] for m in second}


# ---- verifiers ---------------------------------------------------------------------------------


class Scripted:
    """An agent whose replies are known; what it is shown is kept."""

    def __init__(self, replies):
        self.replies, self.shown, self.rewards = list(replies), [], {}
        self.player, self.trace, self.info = self, self, {}
        self.terminated = False

    @contextlib.asynccontextmanager
    async def interaction(self, task):
        self.shown.append(task.data.prompt)
        yield self

    async def turn(self, message=None):
        if message is not None:
            self.shown.append(message)
        self.terminated = not self.replies
        self.last_reply = self.replies.pop(0) if self.replies else ""
        return self

    def record_reward(self, name, value, weight=1.0):
        self.rewards[name] = value * weight

    record_metric = record_reward


def test_verifiers_plays_our_environments(tmp_path, monkeypatch):
    pytest.importorskip("verifiers.v1", reason="pip install verifiers")
    from coevo.envs.bridges import as_verifiers as plugin

    line = "from coevo.envs.bridges.as_verifiers import *  # noqa\n"
    names = f"__all__ = {plugin.__all__}\n"
    (tmp_path / "coevo_plugin.py").write_text(line + names, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    taskset = {"id": "coevo_plugin", "env": KUHN, "seat": 0, "opponents": "expert:0"}
    env = plugin.CoevoEnv(plugin.CoevoEnvConfig(taskset=taskset))
    payoffs = set()
    for task in env.taskset.take(12):
        agent = Scripted(["[check]", "[call]"])
        with contextlib.suppress(IndexError):
            asyncio.run(env.run(task, agent))
        assert "Legal moves: [check], [bet]" in agent.shown[0]
        assert task.data.system_prompt.startswith("Kuhn")
        payoffs.add(agent.rewards["payoff"])
        assert len(agent.shown) == 1 + ("fold" in "".join(agent.shown[1:]))
    assert payoffs <= {-2.0, -1.0, 1.0, 2.0} and len(payoffs) > 1


class Seats:
    """Agents of verifiers, one per seat, whose replies are known."""

    def __init__(self, *replies):
        self.__dict__ |= {f"seat_{i}": Scripted(said) for i, said in enumerate(replies)}


@pytest.mark.parametrize("style", ["full", "terse"])
def test_verifiers_plays_every_seat_by_an_agent_with_a_trace(tmp_path, monkeypatch, style):
    pytest.importorskip("verifiers.v1", reason="pip install verifiers")
    from coevo.envs.bridges import as_verifiers_seats as plugin

    line = "from coevo.envs.bridges.as_verifiers_seats import *  # noqa\n"
    names = f"__all__ = {plugin.__all__}\n"
    (tmp_path / "coevo_seats.py").write_text(line + names, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    taskset = {"id": "coevo_seats", "env": KUHN, "options": {"prompt_style": style}}
    env = plugin.CoevoSeatsEnv(plugin.CoevoSeatsEnvConfig(taskset=taskset, frozen=[1]))
    cards = ("jack", "queen", "king")
    for task in env.taskset.take(6):
        agents = Seats(["[check]", "[fold]"], ["[bet]"])
        one, two = agents.seat_0, agents.seat_1
        asyncio.run(env.setup(agents))
        assert (hasattr(one, "trainable"), two.trainable) == (False, False)
        asyncio.run(env.run(task, agents))
        own = make(KUHN, prompt_style=style)
        own.reset(seed=task.data.info["seed"])
        for seen, reply in ((one.shown[1], "[check]"), (two.shown[1], "[bet]")):
            last = own.chat(own.agent_selection)[-1]["content"]
            assert last in seen and sum(card in last.lower() for card in cards) >= 1
            own.step(reply)
        assert own.chat("player_0")[-1]["content"] == one.shown[2]
        assert one.shown[0] is None and two.shown[0] is None and len(two.shown) == 2
        assert one.rewards == {"payoff": -1.0} and two.rewards == {"payoff": 1.0}
        assert one.info["seat"] == "player_0" and two.info["seat"] == "player_1"
    agents = Seats(["[check]"], [])
    asyncio.run(env.run(task, agents))
    assert agents.seat_0.rewards == {"unfinished": 1.0}, (
        "an episode that a limit ends has no payoff"
    )
    env.config.frozen = [6]
    with pytest.raises(ConfigError, match=r"frozen=\[6\]: seats are 0 to 5"):
        asyncio.run(env.setup(agents))
