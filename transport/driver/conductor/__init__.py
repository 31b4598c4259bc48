"""The conductor: commands of clients in, answers out, and what publications of all media share."""
