"""Games of hidden roles, words and evidence, played by talk and votes."""
