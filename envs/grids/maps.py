"""Maps of grid worlds as text, and how a map is read.

`#` wall, `.` floor, `P` a place where a seat starts, `A` a place where apples grow, `R` river.
"""

from __future__ import annotations

from collections.abc import Mapping

from coevo.envs.core.errors import ConfigError, unknown

GATHERING = {
    "small": """
########
#P....P#
#......#
#..AA..#
#..AA..#
#......#
#P....P#
########""",
    "large": """
##################
#P......PP......P#
#................#
#......AAAA......#
#.....AAAAAA.....#
#.....AAAAAA.....#
#......AAAA......#
#................#
#P......PP......P#
##################""",
}
"""The published map of 18 by 10 cells is not in its paper; `large` has its size."""

CLEANUP = {
    "small": """
############
#RRR....AAA#
#RRR.P..AAA#
#RRR....AAA#
#RRR.P.PAAA#
#RRR....AAA#
#RRR.P..AAA#
#RRR....AAA#
############""",
    "large": """
##################
#RRRRRR.....AAAAA#
#RRRRRR......AAAA#
#RRRRRR.....AAAAA#
#RRRRR..P....AAAA#
#RRRRR....P.AAAAA#
#RRRRR.......AAAA#
#RRRRR......AAAAA#
#RRRRRR......AAAA#
#RRRRRR......AAAA#
#RRRRR...P.P.AAAA#
#RRRRR...P..AAAAA#
#RRRRRR....P.AAAA#
#RRRRRR.P...AAAAA#
#RRRRR.......AAAA#
#RRRR....P..AAAAA#
#RRRRR.......AAAA#
#RRRRR..P.P.AAAAA#
#RRRRR.......AAAA#
#RRRR.......AAAAA#
#RRRRR.......AAAA#
#RRRRR......AAAAA#
#RRRRR.......AAAA#
#RRRR.......AAAAA#
##################""",
}
"""`large` has the size of the published map, 18 by 25 cells, and its river and orchard."""

HARVEST = {
    "small": """
############
#P..A.....P#
#..AAA..A..#
#...A..AAA.#
#P......A..#
#..A.......#
#.AAA..A..P#
#P.A..AAA..#
############""",
    "large": """
#########################
#P...A....P...A....P...P#
#...AAA......AAA........#
#..AAAAA....AAAAA...A...#
#...AAA..A...AAA...AAA..#
#....A..AAA...A...AAAAA.#
#P.....AAAAA.......AAA..#
#.......AAA....A....A...#
#..A.....A....AAA.......#
#.AAA........AAAAA....P.#
#AAAAA...A....AAA...A...#
#.AAA...AAA....A...AAA..#
#..A...AAAAA......AAAAA.#
#.......AAA...A....AAA..#
#P...A...A...AAA....A...#
#...AAA.......A.........#
#P...A....P........P...P#
#########################""",
}


MAZES = {
    "empty": """
#######
#P....#
#.....#
#.....#
#.....#
#....G#
#######""",
    "rooms": """
#########
#P..#...#
#.......#
#...#...#
##.###.##
#...#...#
#.......#
#...#..G#
#########""",
    "zigzag": """
#######
#P....#
#####.#
#.....#
#.#####
#....G#
#######""",
    "labyrinth": """
#########
#P#.....#
#.#.###.#
#.#.#...#
#.#.#.###
#...#.#G#
#.###.#.#
#.......#
#########""",
}


def rows_of(given: str, known: Mapping[str, str], letters: str = "#.PAR") -> list[str]:
    r"""Return the rows of a map that is given by name or row by row.

    Args:
        given: a name or rows.
        known: maps by name.
        letters: those that a map may have.

    Raises:
        ConfigError: neither a known name nor rows of equal length within walls.

    >>> rows_of("####\n#PA#\n####", {})
    ['####', '#PA#', '####']
    """
    if "\n" not in given and given not in known:
        raise unknown("map", given, known)
    rows = known.get(given, given).strip("\n").split("\n")
    if len({len(row) for row in rows}) > 1:
        raise ConfigError(f"map: rows have {sorted({len(row) for row in rows})} cells, not equal")
    edge = {*rows[0], *rows[-1], *(row[0] for row in rows), *(row[-1] for row in rows)}
    if edge != {"#"}:
        raise ConfigError("map: its edge must be walls, #")
    strange = sorted(set("".join(rows)) - set(letters))
    if strange:
        raise ConfigError(f"map: {strange[0]!r} must be one of {' '.join(letters)}")
    return rows
