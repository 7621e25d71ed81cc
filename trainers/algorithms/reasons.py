"""Why our defaults differ from published values, where many records have the same reason."""

SMALL = "a one-million-parameter model is trained from a weak start, not a large one fine-tuned"
CHEAP = "plays are short and cheap here, and small games have few starts"
RANGE = "covers Kuhn poker; give the range of the task's own payoff"
