def policy(view):
    """Cooperate first, then do as the other did in the last round."""
    history, me = view["history"], view["player"]
    return history[-1][1 - me] if history else 0
