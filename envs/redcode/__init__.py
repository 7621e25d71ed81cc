"""Redcode and its machine, by the draft standard of 1994: language, assembler, battles, edits."""
