"""vLLM logs: lines, headers, values and boots; bytes in, `LogReading` out."""
