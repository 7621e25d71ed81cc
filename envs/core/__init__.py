"""The environment class, chat and text spaces, parsing, the episode record, the registry."""
