"""Societies and economies: stocks that are shared, reputations, leaders, taxes and public beliefs."""
