"""KL-Cov: tokens that would cost most entropy are held near where they were (arXiv 2505.22617).

Means and the share are over the tokens of a mini-batch. |.| has no gradient where nothing has
moved, so the term acts from the second mini-batch on. The scripts divide `k_percent` by 100: 0.2
for the 7B model is the share 2e-3 here.
"""

from coevo.trainers import parts as p

CODE = "released scripts"

ALGORITHM = p.Algorithm(
    name="kl_cov",
    summary="GRPO without a clip, with a penalty on the few tokens of highest covariance",
    paper="Cui et al. 2025, The Entropy Mechanism, arXiv 2505.22617",
    formula=r"L_t = -s_t A_t + \beta |\log \pi_t - \log \pi_{\old,t}| \, 1[t \in \text{top share "
    r"by } \cov_t] \\ \cov_t = (A_t - \mean A) (\log \pi_t - \mean \log \pi)",
    status="toy",
    shows="more entropy at almost the same success; no gain in accuracy",
    reproductions=("cov_entropy",),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    loss=p.LossConfig(
        surrogate=p.Unclipped(), regularise=(p.KlCov(coef=1.0, frac=2e-3),), aggregate=p.TokenMean()
    ),
    optim=p.OptimConfig(lr=1e-3, minibatches=2),
    published={
        "loss.regularise.kl_cov.coef": p.Published(1.0, CODE),
        "loss.regularise.kl_cov.frac": p.Published("2e-3 (7B), 2e-4 (32B, verl)", CODE),
        "optim.lr": p.Published("5e-7 (7B), 1e-6 (32B)", CODE, p.SMALL),
    },
)
