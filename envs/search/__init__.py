"""Search tasks: worlds of documents and questions, retrieval, proposer and solver."""
