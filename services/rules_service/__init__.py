"""The rules service: the referee that certifies finished hands."""
