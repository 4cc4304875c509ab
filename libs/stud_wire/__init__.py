"""Translation between core values and protobuf messages."""
