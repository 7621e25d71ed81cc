"""The cases of `trl_crosscheck`: settings of TRL beside records of ours, with reasons."""

from trl_batch import Case

from coevo.trainers.losses import Dpo, Ipo, Rpo, Sft, Simpo, Sppo

EPS = {"advantage.eps": 1e-4}
EPS_WHY = "TRL adds 1e-4 to the deviation, the record 1e-6"
ROWS = {"importance_sampling_level": "sequence"}
VLLM = {"use_vllm": True, "loss_type": "dapo", "epsilon_high": 0.28, "delta": 10.0}
K3 = {"beta": 0.04, "use_bias_correction_kl": False}
CLIP = {"name": "ppo_clip", "eps_lo": 0.2, "eps_hi": 0.2}

LOSSES = (
    Case(name="grpo", record="grpo", trl={"loss_type": "grpo"}, same=EPS, why=EPS_WHY),
    Case(
        name="grpo, std of the batch",
        record="grpo",
        trl={"loss_type": "grpo", "scale_rewards": "batch"},
        asked={"advantage.normalise": {"name": "batch_std"}},
        same=EPS,
        why=EPS_WHY,
    ),
    Case(
        name="grpo, two rewards",
        record="grpo",
        trl={"loss_type": "grpo"},
        rewards=("outcome", "style"),
        same=EPS,
        why=EPS_WHY,
    ),
    Case(name="dr_grpo", record="dr_grpo", trl={"loss_type": "dr_grpo", "scale_rewards": "none"}),
    Case(
        name="dapo",
        record="dapo",
        trl={"loss_type": "dapo", "epsilon_high": 0.28, "delta": 10.0},
        same=EPS,
        why=EPS_WHY,
    ),
    Case(
        name="two-sided clip, delta 1.5",
        record="dr_grpo",
        trl={"loss_type": "dr_grpo", "scale_rewards": "none", "delta": 1.5},
        asked={"loss.surrogate": {"name": "dual_clip", "eps_lo": 0.2, "eps_hi": 0.2, "c": 1.5}},
    ),
    Case(
        name="gspo",
        record="gspo",
        trl={**ROWS, "loss_type": "grpo", "epsilon": 3e-4, "epsilon_high": 4e-4},
        same=EPS,
        why=EPS_WHY,
    ),
    Case(
        name="gspo, clip 0.2",
        record="gspo",
        trl={**ROWS, "loss_type": "grpo", "scale_rewards": "none"},
        asked={"advantage.normalise": {"name": "no_normalisation"}, "loss.surrogate": CLIP},
    ),
    Case(
        name="luspo",
        record="gspo",
        trl={**ROWS, "loss_type": "luspo", "scale_rewards": "none"},
        asked={
            "advantage.normalise": {"name": "no_normalisation"},
            "loss.surrogate": CLIP,
            "loss.aggregate": {"name": "seq_mean_token_sum"},
        },
    ),
    Case(
        name="bnpo: token mean of each micro-batch, one of them",
        record="dr_grpo",
        trl={"loss_type": "bnpo", "scale_rewards": "none"},
        asked={"loss.aggregate": {"name": "token_mean"}},
    ),
    Case(
        name="cispo",
        record="cispo",
        trl={"loss_type": "cispo", "epsilon_high": 1.5, "scale_rewards": "none"},
        asked={
            "advantage.normalise": {"name": "no_normalisation"},
            "loss.surrogate": {"name": "cispo", "form": "cap", "cap": 1.5},
        },
    ),
    Case(name="sapo", record="sapo", trl={"loss_type": "sapo"}, same=EPS, why=EPS_WHY),
    Case(
        name="gdpo",
        record="gdpo",
        trl={"loss_type": "dapo", "multi_objective_aggregation": "normalize_then_sum"},
        rewards=("outcome", "style"),
    ),
)

TERMS = (
    Case(
        name="dapo, KL 0.04 (k3)",
        record="dr_grpo",
        trl={"loss_type": "dapo", "scale_rewards": "none", **K3},
        asked={
            "loss.aggregate": {"name": "token_mean"},
            "loss.regularise": [{"name": "kl", "kind": "k3", "coef": 0.04}],
        },
    ),
    Case(
        name="dapo, KL 0.04 as TRL has it by default",
        record="dr_grpo",
        trl={"loss_type": "dapo", "scale_rewards": "none", "beta": 0.04},
        asked={
            "loss.aggregate": {"name": "token_mean"},
            "loss.regularise": [
                {"name": "kl", "kind": "k2grad_k3value", "coef": 0.04, "importance": True}
            ],
        },
    ),
    Case(
        name="grpo, KL 0.04 (k3)",
        record="grpo",
        trl={"loss_type": "grpo", **K3},
        asked={"loss.regularise": [{"name": "kl", "kind": "k3", "coef": 0.04}], **EPS},
    ),
    Case(
        name="dr_grpo, KL 0.04 (k3)",
        record="dr_grpo",
        trl={"loss_type": "dr_grpo", "scale_rewards": "none", **K3},
        asked={"loss.regularise": [{"name": "kl", "kind": "k3", "coef": 0.04}]},
    ),
    Case(
        name="dr_grpo, entropy bonus 0.01",
        record="dr_grpo",
        trl={"loss_type": "dr_grpo", "scale_rewards": "none", "entropy_coef": 0.01},
        asked={"loss.regularise": [{"name": "entropy", "coef": 0.01}]},
    ),
    Case(
        name="dapo, token TIS 1.2",
        record="dapo",
        trl={
            **VLLM,
            "vllm_importance_sampling_mode": "token_truncate",
            "vllm_importance_sampling_clip_max": 1.2,
        },
        asked={"loss.is_correction": {"name": "token_tis", "cap": 1.2}, **EPS},
    ),
    Case(
        name="dapo, token mask 0.8 to 1.2",
        record="dapo",
        trl={
            **VLLM,
            "vllm_importance_sampling_mode": "token_mask",
            "vllm_importance_sampling_clip_min": 0.8,
            "vllm_importance_sampling_clip_max": 1.2,
        },
        asked={"loss.is_correction": {"name": "token_mis", "lo": 0.8, "hi": 1.2}, **EPS},
        counts="raw",
        why="rejected tokens stay in TRL's denominator and leave ours",
    ),
)

CUTS = (
    Case(
        name="grpo, tokens of others inside",
        record="grpo",
        trl={"loss_type": "grpo"},
        asked=EPS,
        holes=True,
    ),
    Case(
        name="gspo, tokens of others inside",
        record="gspo",
        trl={**ROWS, "loss_type": "grpo", "epsilon": 3e-4, "epsilon_high": 4e-4},
        asked=EPS,
        holes=True,
    ),
    Case(
        name="grpo, 3 micro-batches",
        record="grpo",
        trl={"loss_type": "grpo"},
        asked=EPS,
        micro_batches=3,
    ),
    Case(
        name="dr_grpo, 3 micro-batches",
        record="dr_grpo",
        trl={"loss_type": "dr_grpo", "scale_rewards": "none"},
        micro_batches=3,
    ),
    Case(
        name="dapo, 3 micro-batches",
        record="dapo",
        trl={"loss_type": "dapo", "epsilon_high": 0.28, "delta": 10.0},
        asked=EPS,
        micro_batches=3,
    ),
    Case(
        name="dapo, first of 3 steps on one generation",
        record="dapo",
        trl={"loss_type": "dapo", "epsilon_high": 0.28, "delta": 10.0},
        asked=EPS,
        micro_batches=3,
        windows=3,
    ),
    Case(
        name="bnpo, 3 micro-batches",
        record="dr_grpo",
        trl={"loss_type": "bnpo", "scale_rewards": "none"},
        asked={"loss.aggregate": {"name": "token_mean"}},
        micro_batches=3,
        counts="each",
        why="TRL averages the token means of the micro-batches: the loss depends on the cut",
    ),
    Case(
        name="grpo, cut-off replies masked",
        record="grpo",
        trl={"loss_type": "grpo", "mask_truncated_completions": True},
        asked=EPS,
        silent_cut=True,
        counts="rows",
        why="a row without tokens counts in TRL's mean over rows and not in ours",
    ),
    Case(
        name="grpo, a group of equal rewards 0.9",
        record="grpo",
        trl={"loss_type": "grpo"},
        asked=EPS,
        rewards=("flat",),
        open=True,
        why="in float32 the mean of six 0.9 is not 0.9, and TRL divides the residue by 1e-4; ours "
        "gives such a group exactly 0",
    ),
)

RLOO = (
    Case(
        name="rloo, on policy",
        record="rloo",
        trainer="RLOOTrainer",
        trl={"beta": 0.0},
        value={
            "loss.ratio_level": {"name": "seq_prod_ratio"},
            "loss.surrogate": CLIP,
            "loss.aggregate": {"name": "seq_mean_token_mean"},
        },
        fresh=True,
        why="gradient equal; TRL's value is the mean of -A, ours the sum of -A logp",
    ),
    Case(
        name="rloo, ratio of the row clipped",
        record="rloo",
        trainer="RLOOTrainer",
        trl={"beta": 0.0},
        asked={"loss.ratio_level": {"name": "seq_prod_ratio"}, "loss.surrogate": CLIP},
        value={"loss.aggregate": {"name": "seq_mean_token_mean"}},
        why="gradient equal; ours counts the value of a row once per token",
    ),
    Case(
        name="rloo, KL 0.05 in the reward",
        record="rloo",
        trainer="RLOOTrainer",
        trl={"beta": 0.05},
        asked={
            "advantage.kl_in_reward": 0.05,
            "loss.ratio_level": {"name": "seq_prod_ratio"},
            "loss.surrogate": CLIP,
        },
        value={"loss.aggregate": {"name": "seq_mean_token_mean"}},
        why="gradient equal; ours counts the value of a row once per token",
    ),
)

PAIRS = (
    Case(
        name="dpo",
        record="dpo",
        trainer="DPOTrainer",
        trl={"loss_type": ["sigmoid"], "beta": 0.3},
        pairs=(Dpo(beta=0.3),),
    ),
    Case(
        name="ipo",
        record="ipo",
        trainer="DPOTrainer",
        trl={"loss_type": ["ipo"], "beta": 0.3},
        pairs=(Ipo(beta=0.3),),
        pairs_same=(Ipo(beta=0.3, per="token"),),
        why="TRL divides the log-ratio of a reply by its tokens, ours is the paper's sum",
    ),
    Case(
        name="simpo",
        record="simpo",
        trainer="CPOTrainer",
        trl={"loss_type": "simpo", "beta": 2.0, "simpo_gamma": 1.4, "cpo_alpha": 0.0},
        pairs=(Simpo(beta=2.0, margin=1.4),),
    ),
    Case(
        name="rpo",
        record="rpo",
        trainer="DPOTrainer",
        trl={"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, 0.7], "beta": 0.3},
        pairs=(Rpo(beta=0.3, eta=0.7, per="token"),),
        pairs_same=(Dpo(beta=0.3), Sft(weight=0.7)),
        why="TRL's likelihood is a mean over the preferred tokens of the batch, ours over replies "
        "of the means of their tokens; the losses dpo and sft in one update are TRL's",
    ),
    Case(
        name="sppo, hard",
        record="sppo",
        trainer="DPOTrainer",
        trl={"loss_type": ["sppo_hard"], "beta": 0.3},
        pairs=(Sppo(beta=0.3, hard=True),),
        pairs_same=(Sppo(beta=0.3, hard=True, weight=2.0),),
        why="TRL leaves out the factor 1/2 of the paper",
    ),
)

CASES = (*LOSSES, *RLOO, *TERMS, *CUTS, *PAIRS)
