"""An archive's folder as the reference's tool reads, checks and changes it."""
