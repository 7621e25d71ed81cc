"""Who acts: scripted players, language models, engines, populations."""
