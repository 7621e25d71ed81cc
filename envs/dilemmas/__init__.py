"""Matrix games, repeated games, splits: tasks in which self-interest and the common good part."""
