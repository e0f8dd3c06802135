"""The Go types of built-in kinds: decoding, encoding, scalars and protobuf."""
