"""Ten warriors written by hand, one for each of the well-known plans of Core War."""

CLASSICS: dict[str, str] = {
    # Copies itself one address ahead.
    "imp": "MOV 0, 1",
    # Throws a bomb at every fourth address.
    "dwarf": """
loop    ADD   #4, bomb
        MOV   bomb, @bomb
        JMP   loop
bomb    DAT   #0, #0
""",
    # Waits, and breaks imps that run over an address before it.
    "gate": "wait JMP wait, <wait-5",
    # Looks for two addresses that differ, and bombs both.
    "scanner": """
scan    ADD   gap, look
look    SEQ   25, 28
        JMP   hit
        JMP   scan
hit     MOV   bomb, *look
        MOV   bomb, @look
        JMP   scan
gap     DAT   #16, #16
bomb    DAT   #0, #0
""",
    # Overwrites the whole core, address by address.
    "clear": """
next    MOV   bomb, >bomb
        JMP   next
bomb    DAT   #0, #3
""",
    # Overwrites the core backwards, with more and more tasks.
    "splitter": """
more    SPL   more
        MOV   bomb, <aim
aim     JMP   more, -2
bomb    DAT   #0, #0
""",
    # Throws jumps that lead tasks of others into a pit, where they split without end.
    "vampire": """
throw   MOV   fang, @fang
        ADD   turn, fang
        JMP   throw
fang    JMP   pit-30, 30
turn    DAT   #-7, #7
pit     SPL   pit
        JMP   pit
""",
    # Copies itself to a new place, splits there, and goes on.
    "paper": """
size    EQU   10
again   MOV   #size, count
        MOV   #1, from
copy    MOV   <from, <to
        DJN   copy, count
        SPL   @to
        ADD   #61+size, to
        JMP   again
to      DAT   #0, #90
count   DAT   #0, #0
from    DAT   #0, #0
""",
    # Three imps a third of the core apart, each of which writes the next one's instruction. Three
    # must not divide the core.
    "ring": """
third   EQU   (CORESIZE*(3-CORESIZE%3)+1)/3
        SPL   last
        SPL   second
        JMP   one
second  JMP   one+third
last    NOP   0
        JMP   one+2*third
one     MOV.I #0, third
""",
    # Throws bombs from a place that it splits to keep.
    "stone": """
hold    SPL   #0, <-9
throw   MOV   bomb, @aim
        SUB   #8, aim
        JMP   throw
aim     DAT   #0, #-14
bomb    DAT   <3, #0
""",
}
"""Name -> program."""
