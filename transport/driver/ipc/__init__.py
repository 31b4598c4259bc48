"""IPC publications and subscriptions."""
