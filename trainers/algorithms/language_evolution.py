"""Language evolution: ways of saying are selected by what gets past a supervisor (2502.19193).

Partners who are watched are told how to say things by a text, which both have. A text's weight is
what its talks earned; the better half survive, and newcomers are shown two of them (parents, for
crossover and mutation) and write one of their own. Partners keep their weights. The supervisor is a
seat that learns from the same talks by policy gradients, so that wordings which are used much are
found out.

Play it on `coevo/password_game-v0` with `supervisor=seat`. Newcomers are asked of the supervisor's
model unless `cycle.evolve_texts.by.agent` names another. The source's supervisor is a language
model whose weights stay; its partners split a text into what to avoid and how to say it. Sizes are
ours.

Variants: `fixed`, whose texts are those of `cycle.inject_text.first` for good; `still`, against a
supervisor that keeps its weights.
"""

from dataclasses import replace

from coevo.trainers import parts as p

EVOLVE = p.EvolveTexts(size=16, shown=2)
INJECT = p.InjectText(by=p.Softmax(tau=100.0), seats=("agent_*",))
USUAL = replace(INJECT, first=("Hide each digit in a word that starts with the same letter.",))
PLAYED = (p.Collect(), p.WeighArtifacts(rate=1.0))
LEARNT = (p.BuildBatch(), p.ComputeAdvantages(), p.Update(), p.FitRewards())

ALGORITHM = p.Algorithm(
    name="language_evolution",
    summary="wordings are selected and recombined by what gets past a supervisor that learns",
    paper="Cai et al. 2025, Language evolution under regulated social media, arXiv 2502.19193",
    formula=r"w_j = \mean \text{ payoff of talks in wording } j \\ "
    r"j' \sim \LM(j_1, j_2), \quad j_1, j_2 \text{ from the better half}",
    status="table",
    shows="codes of listed words, carried out by a program; fresh ones do as well as selected ones",
    reproductions=("language_evolution",),
    usage="--env coevo/password_game-v0 --env-option supervisor=seat",
    cycle=(EVOLVE, INJECT, *PLAYED, *LEARNT),
    collect=p.CollectConfig(episodes=128),
    population=p.ByRole(frozen=("agent",)),
    advantage=p.AdvantageConfig(baseline=p.BatchMean(), normalise=p.NoNormalisation()),
    variants={
        "fixed": {"cycle": (USUAL, *PLAYED, *LEARNT)},
        "still": {"cycle": (EVOLVE, INJECT, *PLAYED)},
    },
)
