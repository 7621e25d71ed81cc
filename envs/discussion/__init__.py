"""Tasks in which agents solve, judge and correct: peer review, debate, solver and verifier."""
