"""The commands that run on and on: driver, archive and consensus module, alone or together."""
