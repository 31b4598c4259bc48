"""What the operator's tools see: views of a driver's and an archive's files, mapped read-only."""
