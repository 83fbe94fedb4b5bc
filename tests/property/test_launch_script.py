"""Whatever a script holds, it ends in a deployment or in one error."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from sparkproof.core.errors import FormatError
from sparkproof.recipe.launch_script import parse_launch_script

_MARKS = ["\n", "&& ", "|| ", "; ", "<<E\n", "E\n", "A=(", "$(", ")", "`", "'", '"', "\\", "# "]
_WORDS = ["vllm serve m/m ", "docker run ", "-e A=1 ", "$X", "${X:-y}", "${A[@]} ", "--a ", "\x00"]
_PIECES = st.sampled_from([*_MARKS, *_WORDS, "bash -c "])
_PLAIN = st.text(alphabet="abcdefgh0123456789-_./", min_size=1, max_size=12)


@given(st.lists(_PIECES, max_size=30))
def test_any_text_is_an_answer_or_one_error(pieces: list[str]) -> None:
    try:
        deployment = parse_launch_script("".join(pieces).encode(), "run.sh")
    except FormatError:
        return
    assert deployment.checkpoint


@given(st.lists(st.tuples(_PLAIN, st.text(min_size=1, max_size=20)), max_size=6))
def test_quoted_words_come_through_as_they_are(pairs: list[tuple[str, str]]) -> None:
    kept = [(f"--{flag}", value.replace("'", "").replace("\x00", "")) for flag, value in pairs]
    kept = [(f, v.replace("\r\n", "\n")) for f, v in kept if f != "--config" and f != "--model"]
    assume(not any(value.startswith(("--config", "--model")) for _, value in kept))
    words = "".join(f" {flag} '{value}'" for flag, value in kept)
    deployment = parse_launch_script(f"vllm serve m/m{words}\n".encode(), "run.sh")
    assert deployment.args == tuple(word for pair in kept for word in pair)
