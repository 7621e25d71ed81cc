"""Policies with weights: networks, adapters, folders of models, and what they rest on."""
