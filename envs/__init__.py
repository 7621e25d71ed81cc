"""Environments: importing this package registers all of them in PettingZoo and Gymnasium.

Every environment is one entry of the table below: its module, its kind, a line that says what is
played, the metric, the scores of random and of the best known play by it, and how they were found.
A module is imported when its environment is made.
"""

from typing import Any

import coevo.envs.rewards  # noqa: F401  # fills the table of reward modules
from coevo.envs.core.registry import list_envs, make, register, spec

__all__ = ["list_envs", "make", "register", "spec"]

SELF_PLAY, VS_RANDOM, VS_ORACLE = "return_self_play", "return_vs_random", "return_vs_oracle"
FLAGS = ("simultaneous", "starter_trained", "seats", "suites", "listed")


def _add(
    module: str,
    kind: str,
    summary: str,
    metric: str = "",
    name: str = "",
    source: str = "",
    **given: Any,
) -> None:
    """Register an environment; what is given beside the flags are its reference scores."""
    flags = {key: given.pop(key) for key in FLAGS if key in given}
    id = f"coevo/{name or module.rpartition('.')[2]}-v0"
    fields = {"kind": kind, "metric": metric, "refs": given, "refs_source": source, **flags}
    register(id, f"coevo.envs.{module}", summary, **fields)


def _expert(score: float, error: float, games: int = 400) -> dict[str, Any]:
    """Return the references of a contest whose best known player is its expert."""
    found = f"{score:.3f} with standard error {error:.3f} in {games} games"
    source = f"random: 0 by symmetry; oracle: the expert against random play, {found}"
    return {"metric": VS_RANDOM, "random": 0.0, "oracle": score, "source": source}


def _equilibrium(random: float) -> dict[str, Any]:
    """Return the references of a game whose exploitability is computed."""
    source = "random: NashConv / 2 of uniform play, exactly; oracle: 0 at equilibrium"
    return {"metric": "exploitability", "random": random, "oracle": 0.0, "source": source}


def _minimax(random: float) -> dict[str, Any]:
    """Return the references of a game that is solved."""
    source = "oracle: minimax, even between best moves; random: exact expectation over both seats; "
    source += "oracle against itself: 0 over both seats"
    return {"metric": VS_ORACLE, "random": random, "oracle": 0.0, "source": source}


# A table, which is read by rows.
# fmt: off
_add("games.backgammon", "competitive", "race fifteen checkers home with two dice",
     **_expert(0.99, 0.007))
_add("games.bargaining", "mixed",
     "split books, hats and balls that each values differently, in ten offers", SELF_PLAY,
     random=1.5588, oracle=7.561,
     source="random: mean of 400 games, 1.559 with standard error 0.120; oracle: the best split of "
     "each of the 1000 pools")
_add("games.battleship", "competitive", "place two ships in secret, then shoot in turn",
     **_expert(0.9375, 0.033))
_add("games.breakthrough", "competitive", "bring one piece to the far side of a board of six rows",
     **_expert(1.0, 0))
_add("games.chess", "competitive", "chess by the usual rules, moves in algebraic notation",
     **_expert(1.0, 0, 100))
_add("games.colonel_blotto", "competitive",
     "share ten troops among three battlefields, both at once", **_equilibrium(7 / 22),
     simultaneous=True)
_add("games.connect_four", "competitive", "drop discs into seven columns; four in a line win",
     VS_ORACLE, random=-1.0, oracle=0.0,
     source="oracle: 1000 simulations of tree search; random: lost 400 of 400 plays; oracle "
     "against itself: 0 by symmetry", starter_trained=True, suites=("games", "mars-heldout"))
_add("games.core_war", "competitive",
     "write a Redcode program that fights another one in the memory of a machine", VS_RANDOM,
     random=0.5, oracle=0.988,
     source="random: 1/2 by symmetry; oracle: the expert against random play, 0.988 with standard "
     "error 0.003 in 400 episodes", simultaneous=True)
_add("games.corridors", "mixed", "design a level that some walkers pass and others do not (PAIRED)",
     SELF_PLAY, random=0.03636302054226151, oracle=0.8,
     source="exact: random, the mean of thirds to the power of doors over all levels; oracle, a "
     "corridor with an end and four who know all ways", seats=5)
_add("games.dark_hex", "competitive",
     "Hex on three by three cells without seeing the other's stones", **_expert(0.75, 0.032))
_add("games.dots_and_boxes", "competitive",
     "draw sides of boxes; who draws the last one owns the box", **_minimax(-0.8267639356528245))
_add("games.go", "competitive", "Go on five by five cells", **_expert(1.0, 0))
_add("games.goofspiel", "competitive",
     "bid cards for prizes, both at once; mixed strategies over five bids", VS_RANDOM, random=0.0,
     oracle=0.8295216049382717,
     source="random: 0 by symmetry; oracle: exact best response to random play", simultaneous=True,
     starter_trained=True)
_add("games.hanabi", "cooperative",
     "five colours and ranks; tell the partner what it holds, play in order", SELF_PLAY, random=0.0,
     oracle=25.0,
     source="random: mean of 400 games, 0.000 with standard error 0.000; oracle: a bound, what can "
     "be played")
_add("games.hex", "competitive", "join two sides of a board of four by four cells",
     **_expert(0.965, 0.013))
_add("games.kuhn_poker", "competitive",
     "three-card poker with one bet; bluffing in its smallest form", **_equilibrium(11 / 24),
     starter_trained=True, suites=("games", "mars-train"))
_add("games.leduc_poker", "competitive", "six-card poker with a board card and two betting rounds",
     **_equilibrium(2.3736111111111111), starter_trained=True, suites=("games", "mars-heldout"))
_add("games.lewis_signaling", "cooperative", "a sender finds a word for what only it sees",
     SELF_PLAY, random=1 / 3, oracle=1.0,
     source="random: exact expectation; oracle: every picture named")
_add("games.liars_dice", "competitive", "bid on two hidden dice, or doubt the bid", VS_RANDOM,
     random=0.0, oracle=0.7807443231922397,
     source="random: 0 by symmetry; oracle: exact best response to random play")
_add("games.liars_dice_rounds", "competitive",
     "liar's dice for many players; whoever is wrong loses a die",
     **_expert(0.9278606965174129, 0.015, 402), seats=3)
_add("games.mancala", "competitive", "sow seeds around the pits into the own store (Kalah)",
     **_expert(0.975, 0.011))
_add("games.mini_hanabi", "cooperative",
     "Hanabi with two colours and two ranks, at most 4 points (MARS)", SELF_PLAY, random=1.4775,
     oracle=4.0,
     source="random: mean of 400 games, 1.478 with standard error 0.039; oracle: a bound, what can "
     "be played", suites=("games", "mars-train"))
_add("games.negotiation", "competitive", "trade wood and gold; who gained more wins (SPIRAL)",
     **_expert(0.8375, 0.019))
_add("games.nim", "competitive", "take objects from three piles; the last one wins, or loses",
     **_minimax(-0.9932699514991181))
_add("games.openspiel", "mixed",
     "any sequential or simultaneous OpenSpiel game (game=...; Pig by default), generic text",
     starter_trained=True, suites=())
_add("games.othello", "competitive", "outflank discs on eight by eight cells to turn them over",
     **_expert(0.7025, 0.035))
_add("games.oware", "competitive", "sow seeds around the houses, capture twos and threes",
     **_expert(0.99, 0.007))
_add("games.phantom_tic_tac_toe", "competitive", "tic-tac-toe without seeing the other's marks",
     **_expert(0.7525, 0.029))
_add("games.pig", "competitive", "roll on or bank the turn's points; first to 20",
     **_expert(0.86, 0.027))
_add("games.sheriff", "mixed", "smuggle and bribe, pass or inspect", VS_RANDOM, random=0.375,
     oracle=1.96875,
     source="random: exact expectation over both seats; oracle: exact best response to random play")
_add("games.simple_hanabi", "cooperative",
     "Hanabi with three colours and two ranks, at most 4 points (MARS)", SELF_PLAY, random=1.665,
     oracle=4.0,
     source="random: mean of 400 games, 1.665 with standard error 0.045; oracle: a bound, what can "
     "be played", suites=("games", "mars-heldout"))
_add("games.tic_tac_toe", "competitive",
     "three in a line on nine numbered cells; perfect play draws", VS_ORACLE,
     random=-0.8726475235155788, oracle=0.0,
     source="oracle: minimax, even between best moves; random: exact expectation over both seats; "
     "oracle against itself: a draw", starter_trained=True, suites=("games", "mars-train"))
_add("games.tiny_hanabi", "cooperative",
     "two partners with private cards; one move must tell the card and earn as well", SELF_PLAY,
     random=3.7222222222222223, oracle=10.0,
     source="random: exact expectation; oracle: optimum over all pairs of policies",
     starter_trained=True)
_add("games.trade_comm", "cooperative", "say a word each, then swap what only each one sees",
     SELF_PLAY, random=1 / 81, oracle=1.0,
     source="random: exact expectation; oracle: every swap agreed")

_add("games.make24", "cooperative", "join four numbers in three steps to get 24", SELF_PLAY,
     random=0.008847622082271207, oracle=1.0,
     source="exact: random, even steps over all deals; oracle, every deal can be solved", seats=1)
_add("words.bulls_and_cows", "competitive",
     "hide a code of three different letters; find it by few guesses", VS_RANDOM, random=0.0,
     oracle=0.5305490803380617,
     source="exact: random, 0 by symmetry; oracle, an optimal decision tree (72 guesses for 24 "
     "codes) against an even setter, and any setter against even guesses")
_add("questions.improve_program", "cooperative",
     "write a better program than the one that is shown; its result is verified exactly",
     SELF_PLAY, random=11 / 15, oracle=1.0,
     source="exact: random, the program that is shown; oracle, the shortest ruler of five marks",
     seats=1)
_add("discussion.reward_formula", "cooperative",
     "write the formula that an agent is rewarded by; it will do what the formula likes best",
     SELF_PLAY, random=37 / 96, oracle=1.0,
     source="exact: the mean over eight formulas, one of which cannot be read; oracle, the best",
     seats=1)
_add("words.codenames", "cooperative", "give a clue for three words of a board, find them by it",
     SELF_PLAY, random=-0.1, oracle=1.4352822871572872, bound=3.0,
     source="exact, over all boards: random, even moves; oracle, the best clue for a partner who "
     "takes it literally; bound, all words, by a code agreed on before")
_add("words.password_game", "cooperative",
     "tell a partner a number past a supervisor that stops what it spots", SELF_PLAY,
     random=0.4074730494483514, oracle=1.0,
     source="exact: random, uniform guesses after small talk; oracle, a code of ten words")
_add("words.taboo", "cooperative",
     "describe a word without its forbidden words, name it by that", SELF_PLAY, random=0.25,
     oracle=1.0,
     source="exact: random, even guesses, 1/6 for the first and 1/2 of 1/6 for the second; oracle, "
     "the hints of the cards, of which no two are alike")
_add("words.twenty_questions", "cooperative",
     "ask yes or no about one of twelve things, then name it", SELF_PLAY,
     random=0.07820605435156518, oracle=19 / 30,
     source="exact: random, even moves; oracle, the best decision tree, 44 questions for 12 things")

_add("dilemmas.iterated_game", "mixed",
     "any matrix game in rounds (game=... or payoffs=...); repeated prisoner's dilemma by default",
     SELF_PLAY, random=22.5, oracle=30.0,
     source="random: ten times the mean of 3, 0, 5 and 1, exactly; oracle: mutual cooperation, the "
     "highest sum of payoffs", simultaneous=True, starter_trained=True)
_add("dilemmas.lattice_dilemma", "mixed",
     "play the prisoner's dilemma with four neighbours on a torus, with one move for all",
     SELF_PLAY, random=5.0, oracle=10.0,
     source="exact: random, half of what is earned where all cooperate; oracle, all cooperate",
     simultaneous=True, seats=9)
_add("dilemmas.narrated_dilemma", "mixed",
     "a dilemma, a stag hunt, chicken or a meeting told as a story; moves are its words", SELF_PLAY,
     random=10.694444444444445, oracle=15.555555555555555,
     source="exact, means over the nine stories: random, the mean of all payoffs; oracle, the "
     "highest sum of payoffs in every round", simultaneous=True)
_add("dilemmas.trust_and_split", "mixed",
     "talk about hidden hands, then claim coins that one of the two values more", SELF_PLAY,
     random=225.0, oracle=500.0,
     source="random: exact expectation over uniform claims; oracle: all coins to the upper hand",
     starter_trained=True)

_add("deduction.chameleon", "mixed",
     "one player does not know the word that the clues of all are about, and must not be found",
     SELF_PLAY, random=53 / 162, expert=0.2775, oracle=0.75,
     source="random: exactly; oracle: a bound, the chameleon found and its guess wrong; expert: "
     "400 games, 0.278 with standard error 0.006, as an expert chameleon gains most",
     seats=4)
_add("deduction.hidden_profile", "cooperative",
     "choose a candidate together, where each member holds another part of the facts", SELF_PLAY,
     random=7 / 27, silent=0.0, oracle=1.0,
     source="exact: random, even votes; silent, experts who keep their facts choose the rival; "
     "oracle, experts who say them", seats=3)
_add("deduction.resistance", "mixed",
     "propose, vote on and carry out missions among hidden spies; Avalon's roles by option",
     SELF_PLAY, random=37691 / 81920, expert=0.4907, oracle=0.6,
     source="random: exactly; oracle: a bound, the Resistance wins; expert: 300 games, of which it "
     "wins 0.453, 0.491 with standard error 0.006", seats=5)
_add("deduction.undercover", "mixed",
     "one player has another word than the rest, and no player knows which; clues and a vote",
     SELF_PLAY, random=37 / 108, oracle=0.559,
     source="random: exactly; oracle: 400 games of experts, 0.559 with standard error 0.012, the "
     "best play known", seats=4)
_add("deduction.werewolf", "mixed",
     "a wolf kills by night, a seer looks for it, all talk and vote by day", SELF_PLAY,
     random=0.35, oracle=0.71,
     source="random: exactly, the village wins one game of four; oracle: 200 games of experts, of "
     "which the village wins 0.85, 0.710 with standard error 0.015", seats=5)

_add("societies.auction", "mixed",
     "bid for a good whose worth to the others is hidden, after a word to all", SELF_PLAY,
     random=1 / 6, equilibrium=0.825, oracle=2.658333333333333,
     source="exact, over all values: random, even bids; equilibrium, true bids, at the second "
     "price the best whatever others do; oracle, the highest value wins and pays nothing, the "
     "highest sum, which takes an agreement", seats=3)
_add("societies.causal_game", "mixed",
     "a leader commits to follow, set or see its inclination, which a hidden cause gives; a reply",
     SELF_PLAY, random=27 / 28, oracle=2.0,
     source="exact: random, even moves; oracle, backward induction, the highest sum of payoffs")
_add("societies.commons_norms", "mixed",
     "fish without points, learn norms from who has more in store, punish (no explicit reward)",
     SELF_PLAY, random=0.739, oracle=1.0,
     source="random: mean of 2000 games, 0.739 with standard error 0.002; oracle: all fish one day "
     "and always have enough, exactly",
     seats=4)
_add("societies.crossing", "mixed",
     "choose among three ways over a river, each slower the more take it (a congestion game)",
     SELF_PLAY, random=-38 / 9, equilibrium=-4.0, oracle=-3.625,
     source="exact, for six: random, even ways; equilibrium, all draw by one mixed strategy; "
     "oracle, two on the bridge, three on the ferry, one in the tunnel", simultaneous=True,
     seats=6)
_add("societies.donor_game", "mixed",
     "give to strangers by their reputation; strategies are inherited over generations", SELF_PLAY,
     random=32.5, oracle=120.0,
     source="exact: resources are linear in what is given; random gives half on average, the "
     "oracle everything", seats=4)
_add("societies.fishery", "mixed",
     "catch from a common stock that regrows; monitoring, a norm and fines (GovSim)", SELF_PLAY,
     random=20.028037616641715, oracle=130.0,
     source="random: exact expectation over all wishes; oracle: the largest yield by dynamic "
     "programming, what lasts until the last month and then all", simultaneous=True, seats=5)
_add("societies.scored_reports", "mixed",
     "workers report how good they are, are paid by a scoring rule, and one is hired", SELF_PLAY,
     random=28 / 45, oracle=0.7604938271604939,
     source="exact: random, the mean over reports and skills; oracle, true reports, which the rule "
     "pays best, and the best worker hired", seats=3)
_add("societies.service_desk", "cooperative",
     "refunds by a written policy, beside a memory of what satisfied customers", SELF_PLAY,
     random=2.0, oracle=4.0, source="exact: one of two moves is right in each of four cases",
     seats=1)
_add("societies.information_acquisition", "mixed",
     "hire analysts in secret, pay for their reports, decide by them", SELF_PLAY, random=12.0,
     oracle=18.833333333333332,
     source="exact: random, a coin and half of the efforts; oracle, the best offer of the menu for "
     "a principal who knows the analysts, who reply best to it", seats=3)
_add("societies.multi_issue_negotiation", "mixed",
     "a deal on several issues, whose weights each side alone knows; messages and offers",
     SELF_PLAY, random=0.26753826530612246, nash=0.6979166666666666, oracle=0.7,
     source="exact, over all weights: random, even moves; nash, the deals with the best product of "
     "payoffs; oracle, the highest sum")
_add("societies.sanctioned_dilemma", "mixed",
     "a dilemma among strangers, with partner choice, reputation and punishment as mechanisms",
     SELF_PLAY, random=0.0, oracle=15.0,
     source="random: exactly, 2 a round from the game and -2 from random punishment; oracle: "
     "mutual cooperation and no punishment, the highest sum", seats=4)
_add("societies.sequential_public_goods", "mixed",
     "give in turn to a common pot, with a bonus for building on what is there (MAC-SPGG)",
     SELF_PLAY, random=0.5981209150326798, equilibrium=1.699, oracle=2.564705882352941,
     source="exact, over all contributions: random, their mean; equilibrium, backward induction; "
     "oracle, the highest sum, where all give 1", seats=3)
_add("societies.stackelberg", "mixed",
     "a leader commits to a mixed strategy, a follower replies; values by linear programmes",
     SELF_PLAY, random=1.5, oracle=2.0,
     source="random: the mean of all payoffs, exactly; oracle: the strong Stackelberg equilibrium, "
     "3.5 for the leader and 0.5 for the follower")
_add("societies.steering", "mixed",
     "a planner sets the precision of signals in sequential social learning (Steering the Herd)",
     SELF_PLAY, random=-13.2 / 7, oracle=-0.48742857142857143,
     source="exact: random, the mean cost of a precision and an error in every second action; "
     "oracle, the best altruistic planner by recursion over beliefs, with Bayesian citizens",
     seats=7)
_add("societies.swarm", "mixed",
     "many alike move on a ring, to spread out, to gather or to a beach that is not crowded",
     SELF_PLAY, random=-65 / 48, oracle=-5 / 6,
     source="exact: random, even sites for six; oracle, a bound, all alone at their sites in every "
     "round", simultaneous=True, seats=6)
_add("societies.tax_economy", "mixed",
     "a planner sets taxes, workers choose their hours (the AI Economist's one-step economy)",
     SELF_PLAY, random=46.34845049130763, oracle=65.3375,
     source="random: exact expectation over rates and hours; oracle: the best flat tax and workers "
     "who reply best to it, an equilibrium that the sum of all payoffs may exceed", seats=5)

_add("discussion.clarify", "cooperative",
     "answer a question that may be vague, or ask the user first what is meant", SELF_PLAY,
     random=31 / 60, oracle=0.95,
     source="random: exact expectation over uniform moves; oracle: half of the questions are "
     "vague, and asking costs 0.1", seats=1)
_add("discussion.debate", "cooperative",
     "answer at once, see the others' answers, answer again; a vote decides", SELF_PLAY, random=0.1,
     oracle=1.0, source="random: one digit in ten, exactly; oracle: every answer right",
     simultaneous=True, starter_trained=True, seats=3)
_add("discussion.assured_answers", "cooperative",
     "a right answer, a wrong one, and a wrong one in an expert's voice", SELF_PLAY,
     random=0.8 / 3, oracle=0.8, seats=1,
     source="exact: one answer in three is right, and the verifier knows four in five")
_add("discussion.digit_message", "cooperative",
     "one tells its digit in a message of its own, another adds its own digit to it", SELF_PLAY,
     random=0.2, oracle=1.0, source="random: one number in five, exactly; oracle: the sum is right")
_add("discussion.graph_builder", "cooperative",
     "build a team of scripted agents that answers a question", SELF_PLAY,
     random=0.0205, oracle=0.8,
     source="random: 3000 plays of uniform moves, 0.021 with standard error 0.009; oracle: one "
     "agent of the right role, exactly", seats=1)
_add("discussion.memory_pipeline", "cooperative",
     "pick what a user said, write a profile of it, answer a question from both", SELF_PLAY,
     random=0.25, oracle=1.0,
     source="random: one of four values, exactly; oracle: the expert keeps and tells what is true",
     seats=3)
_add("discussion.moderated_debate", "cooperative",
     "one argues for its answer, one against it, a judge decides or goes on", SELF_PLAY,
     random=0.1, oracle=1.0, source="random: one digit in ten, exactly; oracle: the judge is right",
     seats=3)
_add("discussion.peer_review", "cooperative",
     "agents solve, review and score each other's solutions; no payoff by rules",
     "accuracy_self_play", random=0.1, oracle=1.0,
     source="random: a guess among ten digits; oracle: every solution right", simultaneous=True,
     starter_trained=True)
_add("discussion.pioneer_observer", "cooperative",
     "answer a question, then answer it again with the first answer at hand", SELF_PLAY, random=0.2,
     oracle=2.0, source="random: one digit in ten, twice, exactly; oracle: both answers right")
_add("discussion.sequential_team", "cooperative",
     "helpers reason in order, an actor answers, up to three times", SELF_PLAY, random=0.271,
     oracle=1.0, source="random: 1 - 0.9^3, exactly; oracle: the first answer right")
_add("discussion.solver_verifier", "cooperative",
     "one solves, one approves or rejects; a second try after a rejection", SELF_PLAY, random=0.1,
     oracle=1.0, source="random: one digit in ten, exactly; oracle: the first answer right",
     starter_trained=True)
_add("discussion.split_context_qa", "cooperative",
     "two readers with half of the facts each talk until they agree on an answer", SELF_PLAY,
     random=211 / 729, oracle=1.0,
     source="random: any of three animals at every message, exactly; oracle: the expert tells the "
     "town, finds its animal and agrees")

_add("search.reader", "cooperative",
     "a searcher writes a query, an answerer reads the passages found and answers", SELF_PLAY,
     random=0.16, oracle=1.0,
     source="random: 4000 episodes of the expert of skill 0, 0.156 with standard error 0.006; "
     "oracle: the plan's queries find every fact, and the last one is the answer",
     name="search_reader")
_add("search.router", "cooperative",
     "a router decides to search on or to answer; a searcher asks, an answerer answers", SELF_PLAY,
     random=0.24, oracle=1.0,
     source="random: 5230 episodes of the expert of skill 0, 0.240 with standard error 0.006; "
     "oracle: the plan's queries find every fact, and the last one is the answer",
     starter_trained=True, seats=3, name="search_router")
_add("search.self_play", "mixed",
     "one invents a question for a known answer, a group searches for it (Search Self-play)",
     SELF_PLAY, starter_trained=True, seats=6, suites=(), name="search_self_play")
_add("search.tagged_single", "cooperative",
     "one policy plays a whole team in tagged segments, and searches before it answers", SELF_PLAY,
     random=0.242, oracle=1.0,
     source="random: 2000 episodes of the expert of skill 0, 0.242 with standard error 0.010; "
     "oracle: the plan's queries find every fact, and the last one is the answer", seats=1)

_add("redteam.redteam", "mixed",
     "an attacker rewords requests, a guard tells what is public and keeps a secret (Self-RedTeam)",
     VS_ORACLE, random=5 / 56, oracle=0.6625,
     source="exact, over requests, forms and cues, mean of both seats: random play and the expert "
     "against the expert")

_add("grids.cleanup", "mixed",
     "apples grow only while the river is clean, and cleaning it is not paid", SELF_PLAY,
     random=0.0117, oracle=7.58, simultaneous=True, seats=3,
     source="400 games: random 0.012 with standard error 0.003; oracle: the best play known, "
     "experts of whom two clean, 7.580 with standard error 0.068")
_add("grids.harvest", "mixed", "apples grow only beside apples; a patch picked bare stays bare",
     SELF_PLAY, random=2.2825, greedy=6.723, oracle=7.385, simultaneous=True, seats=3,
     source="400 games: random 2.283 with standard error 0.047; oracle: the best play known, "
     "experts who leave an apple with fewer than three beside it, 7.385 with standard error 0.048; "
     "greedy: experts with spare=0, 100 games")
_add("grids.ocean", "mixed", "vessels collect drifting plastic, and may signal to each other",
     SELF_PLAY, random=2.049, oracle=9.775, simultaneous=True, seats=4,
     source="400 games: random 2.049 with standard error 0.052; oracle: the best play known, "
     "experts who see all plastic, 9.775 with standard error 0.049")
_add("grids.maze_paired", "mixed",
     "a designer builds a maze, and two walkers look for the way through it (PAIRED)", SELF_PLAY,
     random=0.0861, oracle=0.4666, seats=3,
     source="400 games: random 0.086 with standard error 0.007; oracle: experts, 0.4666 with "
     "standard error 0.0007; the designer is paid nothing")
_add("grids.quest", "cooperative", "find objects in a house and bring each where it belongs",
     SELF_PLAY, random=0.02, oracle=1.0, seats=1,
     source="random: 400 games, 0.020 with standard error 0.007; oracle: a shortest way, exactly")
_add("grids.rule_world", "cooperative",
     "generated worlds of things with rules, each with its exact maximum", SELF_PLAY, random=1.0925,
     oracle=6.972222222222222, simultaneous=True, seats=1,
     source="random: 400 games, 1.093 with standard error 0.097; oracle: the mean over the 36 "
     "worlds of what a search over all states finds, exactly")
_add("grids.trash_keys", "cooperative",
     "fetch a key, open a door, bring trash to a bin", SELF_PLAY,
     random=0.0025, oracle=1.0, simultaneous=True, seats=2,
     source="random: 400 games, 0.003 with standard error 0.003; oracle: the trash in the bin, "
     "which experts do in all of 200 games")
_add("grids.gathering", "mixed",
     "apples that grow back, and a beam that sends a rival away", SELF_PLAY, random=0.623,
     oracle=4.0, simultaneous=True, seats=3,
     source="random: 400 games, 0.623 with standard error 0.028; oracle: all twelve apples that "
     "grow in an episode, which experts take")

for _module, _name, _of in (
    ("from_pettingzoo", "pettingzoo", "PettingZoo environment with numbered actions (name"),
    ("from_gymnasium", "gymnasium", "Gymnasium environment with numbered or text actions (name"),
    ("from_textarena", "textarena", "TextArena game (name"),
    ("from_openenv", "openenv", "OpenEnv server (url"),
):  # not listed: what can be made depends on packages that are not ours
    _add(f"bridges.{_module}", "mixed", f"any {_of}=...), generic text", name=_name,
         seats=1 if _name in ("gymnasium", "openenv") else 2, suites=(), listed=False)
_add("bridges.dreamed", "cooperative", "what random play of another environment (of=...) has shown",
     suites=(), seats=1, listed=False)
# fmt: on
