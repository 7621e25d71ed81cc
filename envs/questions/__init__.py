"""Where questions come from, and who knows the answers."""
