"""``python -m sparkproof``."""

from sparkproof.cli.main import main

main()
