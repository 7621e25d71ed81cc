"""Environments: importing this package registers all of them in PettingZoo and Gymnasium."""

import coevo.envs.rewards  # noqa: F401  # fills the table of reward modules
from coevo.envs.core.registry import list_envs, make, register, spec

__all__ = ["list_envs", "make", "register", "spec"]

register(
    "coevo/connect_four-v0",
    "coevo.envs.games.connect_four",
    "drop discs into seven columns; four in a line win",
    suites=("games", "mars-heldout"),
    kind="competitive",
    starter_trained=True,
    metric="return_vs_oracle",
    refs={"random": -1.0, "oracle": 0.0},
    refs_source="oracle: 1000 simulations of tree search; random: lost 400 of 400 plays; "
    "oracle against itself: 0 by symmetry",
)
register(
    "coevo/debate-v0",
    "coevo.envs.discussion.debate",
    "answer at once, see the others' answers, answer again; a vote decides",
    kind="cooperative",
    starter_trained=True,
    simultaneous=True,
    seats=3,
    metric="return_self_play",
    refs={"random": 0.1, "oracle": 1.0},
    refs_source="random: one digit in ten, exactly; oracle: every answer right",
)
register(
    "coevo/goofspiel-v0",
    "coevo.envs.games.goofspiel",
    "bid cards for prizes, both at once; mixed strategies over five bids",
    kind="competitive",
    starter_trained=True,
    simultaneous=True,
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.8295216049382717},
    refs_source="random: 0 by symmetry; oracle: exact best response to random play",
)
register(
    "coevo/iterated_game-v0",
    "coevo.envs.dilemmas.iterated_game",
    "any matrix game in rounds (game=... or payoffs=...); repeated prisoner's dilemma by default",
    kind="mixed",
    starter_trained=True,
    simultaneous=True,
    metric="return_self_play",
    refs={"random": 22.5, "oracle": 30.0},
    refs_source="random: ten times the mean of 3, 0, 5 and 1, exactly; oracle: mutual cooperation, "
    "the highest sum of payoffs",
)
register(
    "coevo/kuhn_poker-v0",
    "coevo.envs.games.kuhn_poker",
    "three-card poker with one bet; bluffing in its smallest form",
    suites=("games", "mars-train"),
    kind="competitive",
    starter_trained=True,
    metric="exploitability",
    refs={"random": 11 / 24, "oracle": 0.0},
    refs_source="random: NashConv / 2 of uniform play, exactly; oracle: 0 at equilibrium",
)
register(
    "coevo/leduc_poker-v0",
    "coevo.envs.games.leduc_poker",
    "six-card poker with a board card and two betting rounds",
    suites=("games", "mars-heldout"),
    kind="competitive",
    starter_trained=True,
    metric="exploitability",
    refs={"random": 2.3736111111111111, "oracle": 0.0},
    refs_source="random: NashConv / 2 of uniform play, exactly; oracle: 0 at equilibrium",
)
register(
    "coevo/openspiel-v0",
    "coevo.envs.games.openspiel",
    "any sequential or simultaneous OpenSpiel game (game=...; Pig by default), generic text",
    kind="mixed",
    parallel=True,
    starter_trained=True,
    suites=(),
)
register(
    "coevo/peer_review-v0",
    "coevo.envs.discussion.peer_review",
    "agents solve, review and score each other's solutions; no payoff by rules",
    kind="cooperative",
    starter_trained=True,
    simultaneous=True,
    metric="accuracy_self_play",
    refs={"random": 0.1, "oracle": 1.0},
    refs_source="random: a guess among ten digits; oracle: every solution right",
)
register(
    "coevo/search_router-v0",
    "coevo.envs.search.router",
    "a router decides to search on or to answer; a searcher asks, an answerer answers",
    kind="cooperative",
    starter_trained=True,
    seats=3,
    metric="return_self_play",
    refs={"random": 0.24, "oracle": 1.0},
    refs_source="random: 5230 episodes of the expert of skill 0, 0.240 with standard error 0.006; "
    "oracle: the plan's queries find every fact, and the last one is the answer",
)
register(
    "coevo/solver_verifier-v0",
    "coevo.envs.discussion.solver_verifier",
    "one solves, one approves or rejects; a second try after a rejection",
    kind="cooperative",
    starter_trained=True,
    metric="return_self_play",
    refs={"random": 0.1, "oracle": 1.0},
    refs_source="random: one digit in ten, exactly; oracle: the first answer right",
)
register(
    "coevo/tic_tac_toe-v0",
    "coevo.envs.games.tic_tac_toe",
    "three in a line on nine numbered cells; perfect play draws",
    suites=("games", "mars-train"),
    kind="competitive",
    starter_trained=True,
    metric="return_vs_oracle",
    refs={"random": -0.8726475235155788, "oracle": 0.0},
    refs_source="oracle: minimax, even between best moves; random: exact expectation over both "
    "seats; oracle against itself: a draw",
)
register(
    "coevo/tiny_hanabi-v0",
    "coevo.envs.games.tiny_hanabi",
    "two partners with private cards; one move must tell the card and earn as well",
    kind="cooperative",
    starter_trained=True,
    metric="return_self_play",
    refs={"random": 3.7222222222222223, "oracle": 10.0},
    refs_source="random: exact expectation; oracle: optimum over all pairs of policies",
)
register(
    "coevo/search_self_play-v0",
    "coevo.envs.search.self_play",
    "one invents a question for a known answer, a group searches for it (Search Self-play)",
    kind="mixed",
    starter_trained=True,
    seats=6,
    metric="return_self_play",
    suites=(),  # what proposers earn, solvers lose: self-play has no score to normalise
)
register(
    "coevo/trust_and_split-v0",
    "coevo.envs.dilemmas.trust_and_split",
    "talk about hidden hands, then claim coins that one of the two values more",
    kind="mixed",
    parallel=True,
    starter_trained=True,
    metric="return_self_play",
    refs={"random": 225.0, "oracle": 500.0},
    refs_source="random: exact expectation over uniform claims; oracle: all coins to the upper "
    "hand",
)
register(
    "coevo/backgammon-v0",
    "coevo.envs.games.backgammon",
    "race fifteen checkers home with two dice",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.99},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 0.990 with "
    "standard error 0.007 in 400 games",
)
register(
    "coevo/bargaining-v0",
    "coevo.envs.games.bargaining",
    "split books, hats and balls that each values differently, in ten offers",
    kind="mixed",
    metric="return_self_play",
    refs={"random": 1.5588, "oracle": 7.561},
    refs_source="random: mean of 400 games, 1.559 with standard error 0.120; oracle: the best "
    "split of each of the 1000 pools",
)
register(
    "coevo/battleship-v0",
    "coevo.envs.games.battleship",
    "place two ships in secret, then shoot in turn",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.9375},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 0.938 with "
    "standard error 0.033 in 400 games",
)
register(
    "coevo/breakthrough-v0",
    "coevo.envs.games.breakthrough",
    "bring one piece to the far side of a board of six rows",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 1.0},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 1.000 with "
    "standard error 0.000 in 400 games",
)
register(
    "coevo/chess-v0",
    "coevo.envs.games.chess",
    "chess by the usual rules, moves in algebraic notation",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 1.0},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 1.000 with "
    "standard error 0.000 in 100 games",
)
register(
    "coevo/colonel_blotto-v0",
    "coevo.envs.games.colonel_blotto",
    "share ten troops among three battlefields, both at once",
    kind="competitive",
    simultaneous=True,
    metric="exploitability",
    refs={"random": 7 / 22, "oracle": 0.0},
    refs_source="random: NashConv / 2 of uniform play, exactly; oracle: 0 at equilibrium",
)
register(
    "coevo/dark_hex-v0",
    "coevo.envs.games.dark_hex",
    "Hex on three by three cells without seeing the other's stones",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.75},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 0.750 with "
    "standard error 0.032 in 400 games",
)
register(
    "coevo/dots_and_boxes-v0",
    "coevo.envs.games.dots_and_boxes",
    "draw sides of boxes; who draws the last one owns the box",
    kind="competitive",
    metric="return_vs_oracle",
    refs={"random": -0.8267639356528245, "oracle": 0.0},
    refs_source="oracle: minimax, even between best moves; random: exact expectation over both "
    "seats; oracle against itself: 0 over both seats",
)
register(
    "coevo/go-v0",
    "coevo.envs.games.go",
    "Go on five by five cells",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 1.0},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 1.000 with "
    "standard error 0.000 in 400 games",
)
register(
    "coevo/hanabi-v0",
    "coevo.envs.games.hanabi",
    "five colours and ranks; tell the partner what it holds, play in order",
    kind="cooperative",
    metric="return_self_play",
    refs={"random": 0.0, "oracle": 25.0},
    refs_source="random: mean of 400 games, 0.000 with standard error 0.000; oracle: a bound, what "
    "can be played",
)
register(
    "coevo/hex-v0",
    "coevo.envs.games.hex",
    "join two sides of a board of four by four cells",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.965},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 0.965 with "
    "standard error 0.013 in 400 games",
)
register(
    "coevo/lewis_signaling-v0",
    "coevo.envs.games.lewis_signaling",
    "a sender finds a word for what only it sees",
    kind="cooperative",
    metric="return_self_play",
    refs={"random": 1 / 3, "oracle": 1.0},
    refs_source="random: exact expectation; oracle: every picture named",
)
register(
    "coevo/liars_dice-v0",
    "coevo.envs.games.liars_dice",
    "bid on two hidden dice, or doubt the bid",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.7807443231922397},
    refs_source="random: 0 by symmetry; oracle: exact best response to random play",
)
register(
    "coevo/liars_dice_rounds-v0",
    "coevo.envs.games.liars_dice_rounds",
    "liar's dice for many players; whoever is wrong loses a die",
    kind="competitive",
    seats=3,
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.9278606965174129},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 0.928 with "
    "standard error 0.015 in 402 games",
)
register(
    "coevo/mancala-v0",
    "coevo.envs.games.mancala",
    "sow seeds around the pits into the own store (Kalah)",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.975},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 0.975 with "
    "standard error 0.011 in 400 games",
)
register(
    "coevo/mini_hanabi-v0",
    "coevo.envs.games.mini_hanabi",
    "Hanabi with two colours and two ranks, at most 4 points (MARS)",
    suites=("games", "mars-train"),
    kind="cooperative",
    metric="return_self_play",
    refs={"random": 1.4775, "oracle": 4.0},
    refs_source="random: mean of 400 games, 1.478 with standard error 0.039; oracle: a bound, what "
    "can be played",
)
register(
    "coevo/negotiation-v0",
    "coevo.envs.games.negotiation",
    "trade wood and gold; who gained more wins (SPIRAL)",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.8375},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 0.838 with "
    "standard error 0.019 in 400 games",
)
register(
    "coevo/nim-v0",
    "coevo.envs.games.nim",
    "take objects from three piles; the last one wins, or loses",
    kind="competitive",
    metric="return_vs_oracle",
    refs={"random": -0.9932699514991181, "oracle": 0.0},
    refs_source="oracle: minimax, even between best moves; random: exact expectation over both "
    "seats; oracle against itself: 0 over both seats",
)
register(
    "coevo/othello-v0",
    "coevo.envs.games.othello",
    "outflank discs on eight by eight cells to turn them over",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.7025},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 0.703 with "
    "standard error 0.035 in 400 games",
)
register(
    "coevo/phantom_tic_tac_toe-v0",
    "coevo.envs.games.phantom_tic_tac_toe",
    "tic-tac-toe without seeing the other's marks",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.7525},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 0.752 with "
    "standard error 0.029 in 400 games",
)
register(
    "coevo/pig-v0",
    "coevo.envs.games.pig",
    "roll on or bank the turn's points; first to 20",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.86},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 0.860 with "
    "standard error 0.027 in 400 games",
)
register(
    "coevo/sheriff-v0",
    "coevo.envs.games.sheriff",
    "smuggle and bribe, pass or inspect",
    kind="mixed",
    metric="return_vs_random",
    refs={"random": 0.375, "oracle": 1.96875},
    refs_source="random: exact expectation over both seats; oracle: exact best response to random "
    "play",
)
register(
    "coevo/simple_hanabi-v0",
    "coevo.envs.games.simple_hanabi",
    "Hanabi with three colours and two ranks, at most 4 points (MARS)",
    suites=("games", "mars-heldout"),
    kind="cooperative",
    metric="return_self_play",
    refs={"random": 1.665, "oracle": 4.0},
    refs_source="random: mean of 400 games, 1.665 with standard error 0.045; oracle: a bound, what "
    "can be played",
)
register(
    "coevo/trade_comm-v0",
    "coevo.envs.games.trade_comm",
    "say a word each, then swap what only each one sees",
    kind="cooperative",
    metric="return_self_play",
    refs={"random": 1 / 81, "oracle": 1.0},
    refs_source="random: exact expectation; oracle: every swap agreed",
)
register(
    "coevo/oware-v0",
    "coevo.envs.games.oware",
    "sow seeds around the houses, capture twos and threes",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.99},
    refs_source="random: 0 by symmetry; oracle: the expert against random play, 0.990 with "
    "standard error 0.007 in 400 games",
)
register(
    "coevo/sequential_public_goods-v0",
    "coevo.envs.societies.sequential_public_goods",
    "give in turn to a common pot, with a bonus for building on what is there (MAC-SPGG)",
    kind="mixed",
    seats=3,
    metric="return_self_play",
    refs={"random": 0.5981209150326798, "equilibrium": 1.699, "oracle": 2.564705882352941},
    refs_source="exact, over all contributions: random, their mean; equilibrium, backward "
    "induction; oracle, the highest sum, where all give 1",
)
register(
    "coevo/donor_game-v0",
    "coevo.envs.societies.donor_game",
    "give to strangers by their reputation; strategies are inherited over generations",
    kind="mixed",
    seats=4,
    metric="return_self_play",
    refs={"random": 32.5, "oracle": 120.0},
    refs_source="exact: resources are linear in what is given; random gives half on average, the "
    "oracle everything",
)
register(
    "coevo/fishery-v0",
    "coevo.envs.societies.fishery",
    "catch from a common stock that regrows; monitoring, a norm and fines (GovSim)",
    kind="mixed",
    simultaneous=True,
    seats=5,
    metric="return_self_play",
    refs={"random": 20.028037616641715, "oracle": 130.0},
    refs_source="random: exact expectation over all wishes; oracle: the largest yield by dynamic "
    "programming, what lasts until the last month and then all",
)
register(
    "coevo/sanctioned_dilemma-v0",
    "coevo.envs.societies.sanctioned_dilemma",
    "a dilemma among strangers, with partner choice, reputation and punishment as mechanisms",
    kind="mixed",
    seats=4,
    metric="return_self_play",
    refs={"random": 0.0, "oracle": 15.0},
    refs_source="random: exactly, 2 a round from the game and -2 from random punishment; oracle: "
    "mutual cooperation and no punishment, the highest sum",
)
register(
    "coevo/stackelberg-v0",
    "coevo.envs.societies.stackelberg",
    "a leader commits to a mixed strategy, a follower replies; values by linear programmes",
    kind="mixed",
    metric="return_self_play",
    refs={"random": 1.5, "oracle": 2.0},
    refs_source="random: the mean of all payoffs, exactly; oracle: the strong Stackelberg "
    "equilibrium, 3.5 for the leader and 0.5 for the follower",
)
register(
    "coevo/causal_game-v0",
    "coevo.envs.societies.causal_game",
    "a leader commits to follow, set or see its inclination, which a hidden cause gives; a reply",
    kind="mixed",
    metric="return_self_play",
    refs={"random": 27 / 28, "oracle": 2.0},
    refs_source="exact: random, even moves; oracle, backward induction, the highest sum of payoffs",
)
register(
    "coevo/tax_economy-v0",
    "coevo.envs.societies.tax_economy",
    "a planner sets taxes, workers choose their hours (the AI Economist's one-step economy)",
    kind="mixed",
    seats=5,
    metric="return_self_play",
    refs={"random": 46.34845049130763, "oracle": 65.3375},
    refs_source="random: exact expectation over rates and hours; oracle: the best flat tax and "
    "workers who reply best to it, an equilibrium that the sum of all payoffs may exceed",
)
register(
    "coevo/steering-v0",
    "coevo.envs.societies.steering",
    "a planner sets the precision of signals in sequential social learning (Steering the Herd)",
    kind="mixed",
    seats=7,
    metric="return_self_play",
    refs={"random": -13.2 / 7, "oracle": -0.48742857142857143},
    refs_source="exact: random, the mean cost of a precision and an error in every second action; "
    "oracle, the best altruistic planner by recursion over beliefs, with Bayesian citizens",
)
register(
    "coevo/bulls_and_cows-v0",
    "coevo.envs.words.bulls_and_cows",
    "hide a code of three different letters; find it by few guesses",
    kind="competitive",
    metric="return_vs_random",
    refs={"random": 0.0, "oracle": 0.5305490803380617},
    refs_source="exact: random, 0 by symmetry; oracle, an optimal decision tree (72 guesses for 24 "
    "codes) against an even setter, and any setter against even guesses",
)
register(
    "coevo/twenty_questions-v0",
    "coevo.envs.words.twenty_questions",
    "ask yes or no about one of twelve things, then name it",
    kind="cooperative",
    metric="return_self_play",
    refs={"random": 0.07820605435156518, "oracle": 19 / 30},
    refs_source="exact: random, even moves; oracle, the best decision tree, 44 questions for 12 "
    "things",
)
register(
    "coevo/codenames-v0",
    "coevo.envs.words.codenames",
    "give a clue for three words of a board, find them by it",
    kind="cooperative",
    metric="return_self_play",
    refs={"random": -0.1, "oracle": 1.4352822871572872, "bound": 3.0},
    refs_source="exact, over all boards: random, even moves; oracle, the best clue for a partner "
    "who takes it literally; bound, all words, by a code agreed on before",
)
register(
    "coevo/hiring-v0",
    "coevo.envs.societies.hiring",
    "workers report how good they are, are paid by a scoring rule, and one is hired",
    kind="mixed",
    seats=3,
    metric="return_self_play",
    refs={"random": 28 / 45, "oracle": 0.7604938271604939},
    refs_source="exact: random, the mean over reports and skills; oracle, true reports, which the "
    "rule pays best, and the best worker hired",
)
for _id, _module, _of in (
    ("coevo/pettingzoo-v0", "from_pettingzoo", "PettingZoo environment with numbered actions"),
    ("coevo/gymnasium-v0", "from_gymnasium", "Gymnasium environment with numbered or text actions"),
    ("coevo/textarena-v0", "from_textarena", "TextArena game"),
):
    register(
        _id,
        f"coevo.envs.bridges.{_module}",
        f"any {_of} (name=...), generic text",
        kind="mixed",
        seats=1 if _of.startswith("Gym") else 2,
        suites=(),
        listed=False,  # what can be made depends on packages that are not ours
    )
