"""The shipped starter model: its transcripts, its tokenizer, its training and its check."""
