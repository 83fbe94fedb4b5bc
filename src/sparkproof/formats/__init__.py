"""Pure parsers: bytes or lines in, a struct or one error type with its place out."""
