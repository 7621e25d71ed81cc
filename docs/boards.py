"""Boards, cards and dice as SVG, drawn from the text of a state (`env.state()`).

Every drawing is a width, a height and its shapes, in units of which a cell has 20. Colours are
classes of `_static/site.css`: `a` is the first player's, `b` the second's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from math import cos, pi, sin

CELL = 20
Drawing = tuple[float, float, Iterable[str]]
PLAYER = {"X": "a", "O": "b", "x": "a", "o": "b"}
PIECES = dict(zip("kqrbnp", "♚♛♜♝♞♟", strict=True))
"""Chess pieces: both colours have the filled form."""
PIPS = {1: "4", 2: "08", 3: "048", 4: "0268", 5: "02468", 6: "023568"}
"""Places of a die's pips, counted row by row in a square of three."""


def draw(name: str, state: str) -> str:
    """Return a state as SVG.

    >>> draw("nim", "A oo")[:32]
    '<svg class="board" viewBox="-3 -'
    """
    width, height, shapes = DRAWINGS[name](state)
    box = f"-3 -3 {width + 6:g} {height + 6:g}"
    return f'<svg class="board" viewBox="{box}" role="img">{"".join(shapes)}</svg>'


# ---- Shapes ------------------------------------------------------------------------------------


def rect(x: float, y: float, kind: str, w: float = CELL, h: float = CELL, r: float = 0) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{r:g}" class="{kind}"/>'


def disc(x: float, y: float, kind: str, r: float = 8) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" class="{kind}"/>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "line") -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}"/>'


def polygon(points: Iterable[tuple[float, float]], kind: str) -> str:
    return f'<polygon points="{" ".join(f"{x:g},{y:g}" for x, y in points)}" class="{kind}"/>'


def text(x: float, y: float, said: str, kind: str = "text", size: float = 11) -> str:
    place = f'x="{x:g}" y="{y:g}" font-size="{size:g}"'
    return f'<text {place} class="{kind}">{escape(said)}</text>'


def cross(x: float, y: float, kind: str = "a") -> str:
    return line(x - 5, y - 5, x + 5, y + 5, f"mark {kind}") + line(
        x - 5, y + 5, x + 5, y - 5, f"mark {kind}"
    )


# ---- Boards ------------------------------------------------------------------------------------


def rows_of(state: str) -> list[list[str]]:
    r"""Return the symbols of a board under a line of column letters, without row numbers.

    >>> rows_of("  a b\n2 X .\n 1 . O")
    [['X', '.'], ['.', 'O']]
    """
    return [row.split()[1:] for row in state.split("\n")[1:]]


def board(
    rows: Sequence[Sequence[str]], put: Callable[[float, float, str], str], tile: str
) -> Drawing:
    """Return squares with what `put(x, y, symbol)` draws at their middles; dots are empty."""
    shapes = []
    for i, row in enumerate(rows):
        for j, symbol in enumerate(row):
            shade = "dark" if tile == "square" and (i + j) % 2 else ""
            shapes.append(rect(j * CELL, i * CELL, f"{tile} {shade}"))
            if symbol not in "._":
                shapes.append(put((j + 0.5) * CELL, (i + 0.5) * CELL, symbol))
    return len(rows[0]) * CELL, len(rows) * CELL, shapes


def stone(x: float, y: float, symbol: str) -> str:
    return disc(x, y, f"stone {PLAYER[symbol]}")


def mark(x: float, y: float, symbol: str) -> str:
    return {"X": cross(x, y), "O": disc(x, y, "mark b", 5.5)}.get(
        symbol, text(x, y, symbol, "faint", 9)
    )


def piece(x: float, y: float, symbol: str) -> str:
    kind = "piece white" if symbol.isupper() else "piece black"
    return text(x, y, PIECES[symbol.lower()] + "\ufe0e", kind, 17)


def ship(x: float, y: float, symbol: str) -> str:
    if symbol == "*":
        return disc(x, y, "faint", 2.5)
    hull = rect(x - 8, y - 8, "ship", 16, 16, 4)
    return hull + (cross(x, y, "hit") if symbol.isupper() else "")


def tic_tac_toe(state: str) -> Drawing:
    rows = state.replace(" ", "").split("\n")[::2]
    return board([row.split("|") for row in rows], mark, "plain")


def connect_four(state: str) -> Drawing:
    rows = [row.split() for row in state.split("\n")[1:]]
    return board([[s.replace(".", "-") for s in row] for row in rows], hole, "frame")


def hole(x: float, y: float, symbol: str) -> str:
    return disc(x, y, f"stone {PLAYER.get(symbol, 'hole')}")


def battleship(state: str) -> Drawing:
    shapes, width = [], 0.0
    for fleet in re.split(r"player_\d:\n", state)[1:]:
        w, height, drawn = board(rows_of(fleet.strip("\n")), ship, "sea")
        shapes += [f'<g transform="translate({width:g})">', *drawn, "</g>"]
        width += w + CELL
    return width - CELL, height, shapes


def go(state: str) -> Drawing:
    rows = rows_of(state)
    n, half = len(rows), CELL / 2
    shapes = [rect(0, 0, "wood", n * CELL, n * CELL, 2)]
    for k in range(n):
        at = half + k * CELL
        shapes += [line(half, at, n * CELL - half, at), line(at, half, at, n * CELL - half)]
    for i, row in enumerate(rows):
        for j, s in enumerate(row):
            if s != ".":
                shapes.append(disc(half + j * CELL, half + i * CELL, f"stone go-{PLAYER[s]}"))
    return n * CELL, n * CELL, shapes


def hexagons(state: str) -> Drawing:
    rows, side = rows_of(state), CELL / 2
    wide, shapes = side * 3**0.5, []
    for i, row in enumerate(rows):
        for j, s in enumerate(row):
            x, y = wide * (j + 0.5 + i / 2), side * (1 + 1.5 * i)
            corners = [(pi / 3 * (k + 0.5), side) for k in range(6)]
            shapes.append(polygon([(x + r * cos(t), y + r * sin(t)) for t, r in corners], "hex"))
            if s in PLAYER:
                shapes.append(disc(x, y, f"stone {PLAYER[s]}", 6.5))
    n = len(rows)
    return wide * (n + (n - 1) / 2), side * (1.5 * n + 0.5), shapes


def dots_and_boxes(state: str) -> Drawing:
    lines, shapes, dots = state.split("\n"), [], []
    across = len(lines[0].strip()) // 4
    for i, row in enumerate(lines):
        y, flat = i / 2 * CELL * 1.5, i % 2 == 0
        row = row.ljust(4 * across + 1)
        for j in range(across + 1):
            x = j * CELL * 1.5
            if flat:
                dots.append(disc(x, y, "ink", 2.5))
                drawn = row[4 * j + 1 : 4 * j + 4] == "---"
                shapes += [line(x, y, x + 30, y, "edge" if drawn else "line")] * (j < across)
            else:
                drawn = row[4 * j] == "|"
                shapes.append(line(x, y - 15, x, y + 15, "edge" if drawn else "line"))
                if owner := PLAYER.get(row[4 * j + 2 : 4 * j + 3]):
                    shapes.append(rect(x + 4, y - 11, f"owned {owner}", 22, 22))
    return across * CELL * 1.5, (len(lines) // 2) * CELL * 1.5, shapes + dots


def mancala(state: str) -> Drawing:
    rows = [row.split() for row in state.split("\n")]
    top, stores, bottom = rows
    return pits(top, bottom, stores)


def oware(state: str) -> Drawing:
    rows = [re.findall(r"\d+", row) for row in state.split("\n")]
    return pits(rows[0][:-1], rows[1][:-1], [rows[0][-1], rows[1][-1]])


def pits(top: Sequence[str], bottom: Sequence[str], stores: Sequence[str]) -> Drawing:
    """Return two rows of pits between two stores, with the number of seeds in each."""
    n = len(top)
    shapes = [rect(0, 0, "wood", (n + 2) * 24, 52, 10)]
    for i, row in enumerate((top, bottom)):
        for j, seeds in enumerate(row):
            x, y = 36 + 24 * j, 15 + 22 * i
            shapes += [disc(x, y, "pit", 9.5), text(x, y, seeds)]
    for x, seeds in ((3, stores[0]), ((n + 1) * 24 + 2, stores[1])):
        shapes += [rect(x, 7, "pit", 19, 38, 9), text(x + 9.5, 26, seeds)]
    return (n + 2) * 24, 52, shapes


def nim(state: str) -> Drawing:
    shapes, piles = [], [row.split() for row in state.split("\n")]
    for i, (name, *objects) in enumerate(piles):
        shapes.append(text(8, 12 + i * 24, name, "faint"))
        for j in range(len("".join(objects))):
            shapes.append(rect(26 + j * 14, 3 + i * 24, "stone b", 6, 18, 3))
    return 96, 24 * len(piles), shapes


def backgammon(state: str) -> Drawing:
    shapes = [rect(0, 0, "wood", 12 * CELL, 150)]
    for point in range(1, 25):
        x, y, way = point_at(point)
        tip = [(x - 9, y), (x + 9, y), (x, y + way * 58)]
        shapes.append(polygon(tip, "point dark" if point % 2 else "point"))
    for player, said in re.findall(r"player_(\d): (.*)", state):
        for count, point in re.findall(r"(\d+) on (\d+)", said):
            x, y, way = point_at(int(point))
            for k in range(min(int(count), 5)):
                shapes.append(disc(x, y + way * (7 + 12 * k), f"stone {'ab'[int(player)]}", 6))
    return 12 * CELL, 150, shapes


def point_at(point: int) -> tuple[float, float, int]:
    """Return where the base of a backgammon point is, and whether it points down or up."""
    column = 12 - point if point <= 12 else point - 13
    return (column + 0.5) * CELL, 150 if point <= 12 else 0, -1 if point <= 12 else 1


# ---- Cards and dice ----------------------------------------------------------------------------


def card(x: float, y: float, face: str, kind: str = "") -> str:
    return rect(x, y, f"card {kind}", 26, 36, 4) + text(x + 13, y + 18, face, f"face {kind}", 15)


def poker(state: str) -> Drawing:
    """Return the cards of the seats and of the board, and the betting in the last round."""
    shapes = []
    held = re.findall(r"(player_\d|Board card): (jack|queen|king)", state)
    for k, (who, name) in enumerate(held):
        label = who.replace("player_", "player ").replace("Board card", "board")
        shapes += [card(14 + 54 * k, 0, name[0].upper()), text(27 + 54 * k, 44, label, "faint", 8)]
    bets = re.findall(r"(?:betting: |round \d: )(.*)", state)
    said = re.sub(r"\d\. player_\d ", "", bets[-1]).replace(";", ",").rstrip(".") if bets else ""
    return 54 * len(held), 62, [*shapes, text(27 * len(held), 57, said, "text", 9)]


def hanabi(state: str) -> Drawing:
    """Return the fireworks as a row of cards over the two hands."""
    works, hands = state.partition("Fireworks: ")[2].split("\n", 1)
    rows = [works.split(), *(re.findall(r"^(\w\d) \|\|", h, re.M) for h in hands.split("-----"))]
    shapes = []
    for i, row in enumerate(rows):
        shapes += [
            card(30 * j, 44 * i, c[1], f"{c[0]}{' none' if c[1] == '0' else ''}")
            for j, c in enumerate(row)
        ]
    return 30 * max(map(len, rows)) - 4, 124, shapes


def dice(state: str) -> Drawing:
    """Return the dice of each player, a row each, over the last bid."""
    shapes, y = [], 0.0
    for who, held in re.findall(r"(player_\d): ([\d ]*\d|out)", state):
        shapes.append(text(20, y + 11, who.replace("_", " "), "faint", 8))
        for j, eyes in enumerate(re.findall(r"\d", held)):
            x = 44 + 26 * j
            shapes.append(rect(x, y, "card", 22, 22, 4))
            for p in map(int, PIPS[int(eyes)]):
                shapes.append(disc(x + 5 + 6 * (p % 3), y + 5 + 6 * (p // 3), "ink", 2))
        y += 28
    bids = state.rpartition("bids: ")[2].split(", ")
    return 96, y + 10, [*shapes, text(48, y + 4, f"last bid: {bids[-1]}", "text", 9)]


# ---- Worlds on a grid --------------------------------------------------------------------------

GROUND = {"#": "rock", "~": "sea", "w": "sea"}
"""Letter of a kind of ground -> what its cell is drawn as; others are floor."""
THINGS = {"a": "apple", "w": "waste", "p": "waste", "G": "goal", "*": "key"}
KINDS = "cgtbdkhfmsx"
"""Letters of things that are shown as letters."""
"""Letter -> the disc upon a cell."""
QUARTERS = {"north": 0, "east": 90, "south": 180, "west": 270}


def grid(state: str) -> Drawing:
    """Return a map with its seats, each in a colour of its own, facing where it faces."""
    rows = [row.split() for row in state.split("\n") if re.fullmatch(r"(\S )*\S", row)]
    shapes, floor = [], "floor" if "#" in rows[0] else "sea"
    for i, row in enumerate(rows):
        for j, letter in enumerate(row):
            x, y = j * CELL, i * CELL
            shapes.append(rect(x, y, GROUND.get(letter, floor)))
            if letter in THINGS:
                shapes.append(disc(x + CELL / 2, y + CELL / 2, THINGS[letter], 5.5))
            elif letter in KINDS:
                shapes.append(text(x + CELL / 2, y + CELL / 2, letter))
    place = re.compile(r"(?:row (\d+), column (\d+)(?:, faces (\w+))?)?")
    for number, said in enumerate(re.findall(r"^\S+_\d+: (.*)", state, re.M)):
        y, x, faces = place.match(said).groups()
        if y is not None:
            shapes.append(seat(int(x), int(y), number, faces))
    return len(rows[0]) * CELL, len(rows) * CELL, shapes


def seat(x: int, y: int, number: int, faces: str | None) -> str:
    """Return an arrowhead, or a square where seats face nowhere."""
    middle, kind = (x * CELL + CELL / 2, y * CELL + CELL / 2), f"seat s{number % 5}"
    if not faces:
        return rect(middle[0] - 6, middle[1] - 6, kind, 12, 12, 3)
    turn = f"translate({middle[0]:g} {middle[1]:g}) rotate({QUARTERS[faces]})"
    return f'<g transform="{turn}">{polygon([(0, -8), (6, 7), (0, 3.5), (-6, 7)], kind)}</g>'


DRAWINGS: dict[str, Callable[[str], Drawing]] = {
    "backgammon": backgammon,
    "battleship": battleship,
    "breakthrough": lambda s: board(rows_of(s), stone, "square"),
    "chess": lambda s: board(rows_of(s), piece, "square"),
    "connect_four": connect_four,
    "dark_hex": hexagons,
    "dots_and_boxes": dots_and_boxes,
    "cleanup": grid,
    "gathering": grid,
    "harvest": grid,
    "maze_paired": grid,
    "ocean": grid,
    "quest": grid,
    "rule_world": grid,
    "go": go,
    "hanabi": hanabi,
    "hex": hexagons,
    "kuhn_poker": poker,
    "leduc_poker": poker,
    "liars_dice": dice,
    "liars_dice_rounds": dice,
    "mancala": mancala,
    "mini_hanabi": hanabi,
    "nim": nim,
    "othello": lambda s: board(rows_of(s), stone, "felt"),
    "oware": oware,
    "phantom_tic_tac_toe": tic_tac_toe,
    "simple_hanabi": hanabi,
    "tic_tac_toe": tic_tac_toe,
}
