"""The conductor: it handles clients' commands, and what publications of all media share."""
