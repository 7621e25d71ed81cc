"""Agents behind an OpenAI-compatible chat API, with retries, limits and a cache.

`openai:MODEL` names one wherever an agent is named. `settings.py` lists what can be set, and how;
`agent.py` is where to begin to read.
"""
