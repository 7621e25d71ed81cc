"""The commands of the coevo command line, one module each."""
