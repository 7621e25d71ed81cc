"""Self-play games."""
