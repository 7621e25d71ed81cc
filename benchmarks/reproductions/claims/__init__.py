"""One claim a file, under its name."""
