# Native callers only.
