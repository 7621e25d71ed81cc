import re


def policy(view):
    """Leave piles without a binary sum; where that is impossible take the first object."""
    piles = {}
    for name, size in re.findall("([A-Z]) has ([0-9]+)", view["chat"][-1]["content"]):
        piles[name] = int(size)
    total = 0
    for size in piles.values():
        total ^= size
    for move in view["legal_actions"]:
        if total ^ piles[move[0]] ^ (piles[move[0]] - int(move[1:])) == 0:
            return move
    return 0
