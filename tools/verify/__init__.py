"""``aerolog verify``: whether recordings are sound, and their repair."""
