"""Agents against each other: who beats whom, ratings with their doubts, what a best response gains.

    plan, schedule        what is played, fixed before the first episode
    runner, episode_log   playing it block by block, and the file that continues after a kill
    adaptive              which pair plays next where episodes are dear
    pairings, results     tasks, intervals and tests of every pair
    ratings, cycles       Bradley-Terry, Plackett-Luce, alpha-Rank, Nash averaging; intransitivity
    exploitability        exact values, and `exploiter`, trained where there is none
    summary               all of it as `tournament.json`, with `tables` and `sentences`

A folder holds `manifest.json` (the plan, weights, commit, hardware, packages), `records.jsonl` (one
line per episode, see `episode_log.EpisodeRecord`), `exploiters/` (their runs) and
`tournament.json`:

    kind, env, env_options, seed
    contest        whether episodes are won and lost; without it `points` and most ratings are None
    only_points    whether a score says nothing beyond won, drawn, lost
    agents         by mean score, the best first; those left out of ratings at the end
    left_out       {agent: reason}
    headline       [sentence]
    results        [{a, b, better (agent or None), separated, tasks, episodes, points, margin, p,
                   p_adjusted, text}]; margin is half the difference of mean scores, a above b
    table          {agent: {episodes, errors, mean_return, points, won, drawn, lost, forfeit_rate,
                   illegal_rate, unread_rate, near_miss_rate, truncated_rate}}; means over
                   opponents that weigh the same, and shares of episodes and replies
    matrix         {agents, points, won, drawn, lost, mean_return, tasks, played, failed}: lists of
                   rows, row against column; self-play on the diagonal where there is no contest
    seats          {mean_return: {seat: x}, first_seat_points}
    ratings        bradley_terry   {smoothing, residual, apart, agents: {a: {rating, interval,
                                   games}}}
                   plackett_luce   {agents: {a: {mu, sigma, ordinal, interval, games}}}
                   alpha_rank      {roles, settled, sweep: [{alpha, shares: {a: x}}],
                                   last: {alpha, shares}, limit: {a: {share, interval}}}
                   nash_averaging  {log_odds | margin: {a: {weight, skill, interval}}}
    adaptive       None, or {episodes, uniform, questions, resolved, open, delta}
    exploitability None, or {agents: {a: {exact, why, exploiter}}, calibration, sentences}
    episodes       {played, counted, errors, forfeits, possible}

Where not said otherwise an estimate is [low, estimate, high] with 95 % bounds, an `interval` is
[low, high], a share is between 0 and 1, and None is what cannot be known from these episodes.
"""
