"""Other people's worlds as tasks of ours, and our environments in other people's interfaces."""
