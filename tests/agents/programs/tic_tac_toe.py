LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def policy(view):
    """Minimax, with the centre and a corner by heart: fewer than 700 boards are searched."""
    board = [0] * 9
    for number, cell in enumerate(view["history"]):
        board[cell] = 1 if number % 2 == 0 else -1
    empty = [cell for cell in range(9) if not board[cell]]
    if 4 in empty:
        return "5"
    if len(empty) == 8:
        return "1"
    own = 1 if view["player"] == 0 else -1
    return str(max(empty, key=lambda cell: value(played(board, cell, own), -own, -2, 2) * own) + 1)


def played(board, cell, mark):
    after = list(board)
    after[cell] = mark
    return after


def value(board, mark, low, high):
    """What X gets of the board under perfect play, `mark` to move."""
    for a, b, c in LINES:
        if board[a] and board[a] == board[b] == board[c]:
            return board[a]
    best, moved = -2 * mark, False
    for cell in range(9):
        if not board[cell]:
            moved = True
            found = value(played(board, cell, mark), -mark, low, high)
            if mark == 1:
                best = max(best, found)
                low = max(low, best)
            else:
                best = min(best, found)
                high = min(high, best)
            if low >= high:
                break
    return best if moved else 0
