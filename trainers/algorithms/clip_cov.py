"""Clip-Cov: some tokens that would cost most entropy do not teach (arXiv 2505.22617).

Means are over the tokens of a mini-batch; the share is one of all tokens, at least one of them. The
clip of the loss itself is opened to 1/1. The bounds suppose advantages of unit variance, as GRPO's.
"""

from coevo.trainers import parts as p

CODE = "released scripts"

ALGORITHM = p.Algorithm(
    name="clip_cov",
    summary="GRPO without the gradient of a few tokens of high covariance",
    paper="Cui et al. 2025, The Entropy Mechanism, arXiv 2505.22617",
    formula=r"L_t = 0 \text{ for a random share of the tokens with } 1 < \cov_t < 5 \\ "
    r"\cov_t = (A_t - \mean A) (\log \pi_t - \mean \log \pi)",
    status="toy",
    shows="more entropy at almost the same success; no gain in accuracy",
    reproductions=("cov_entropy",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    loss=p.LossConfig(
        surrogate=p.PpoClip(eps_lo=1.0, eps_hi=1.0),
        token_masks=(p.ClipCov(ratio=2e-4, lb=1.0, ub=5.0),),
        aggregate=p.TokenMean(),
    ),
    optim=p.OptimConfig(lr=1e-3, minibatches=2),
    published={
        "loss.token_masks.clip_cov.ratio": p.Published(2e-4, CODE),
        "loss.surrogate.eps_lo": p.Published(1.0, CODE),
        "optim.lr": p.Published("5e-7 (7B), 1e-6 (32B)", CODE, p.SMALL),
    },
)
