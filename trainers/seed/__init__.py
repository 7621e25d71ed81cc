"""The shipped seed model: its transcripts, its tokenizer, its training and its check."""
