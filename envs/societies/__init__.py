"""Societies and economies: shared stocks, reputations, leaders, taxes and public beliefs."""
