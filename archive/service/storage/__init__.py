"""Requests that change stored segments by migration, truncation and deletion."""
