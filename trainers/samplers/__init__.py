"""What an update is given to learn from: how often a task is played, what is kept, what returns.

Read `tasks` (what is known about a task), `curriculum` and `evolve` (which tasks are proposed),
`allocate` (episodes per task), `selection` (which groups are learnt from), `replay` (episodes of
earlier updates) and `task_buffer` (what episodes leave for later ones).
"""
