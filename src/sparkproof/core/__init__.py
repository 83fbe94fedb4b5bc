"""The words everyone uses: typed values with no I/O and no opinion about where they came from."""
