"""What a shell gets from the command line: completion and manual pages."""
