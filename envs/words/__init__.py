"""Word games over finite tables: deduction and clues, with exact references."""
