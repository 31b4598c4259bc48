"""The commands that run on and on: driver, archive, consensus module, service container."""
