"""Parts of a run in other processes, on this machine or on others, through Ray."""
