"""A deployment that is written is the one that is read."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from sparkproof.core.deployment import Box, Deployment
from sparkproof.core.units import MIN_BOX_GIB
from sparkproof.recipe.deployment_toml import parse_deployment
from sparkproof.recipe.deployment_write import write_deployment

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
PLAIN = st.text("abc/:.-0", min_size=1, max_size=8)
BOXES = st.builds(
    Box,
    nvcc=st.sampled_from((None, True, False)),
    packages=st.dictionaries(TEXT, TEXT, max_size=2),
    total_memory_gib=st.none() | st.floats(MIN_BOX_GIB, 1e6),
    co_tenants=st.dictionaries(TEXT, st.floats(0, 1e3), max_size=2),
)
DEPLOYMENTS = st.builds(
    Deployment,
    checkpoint=PLAIN,
    artifact=PLAIN,
    args=st.lists(TEXT, max_size=5).map(tuple),
    env=st.dictionaries(TEXT, TEXT, max_size=3),
    served_names=st.lists(TEXT, max_size=2).map(tuple),
    box=BOXES,
    weights_gib=st.none() | st.floats(0, 1e3),
)


@given(DEPLOYMENTS)
def test_what_is_written_is_read_back(deployment: Deployment) -> None:
    text = write_deployment(deployment, {"--x": "why\nindeed", "checkpoint": "because"})
    assert parse_deployment(text.encode(), "it") == deployment


def test_flags_stand_in_a_line_with_their_values_and_reasons() -> None:
    deployment = Deployment(checkpoint="m", args=("--a", "1", "-2", "--b", '{"c": 1}'))
    text = write_deployment(deployment, {"--b": "since it is so"})
    assert '  "--a", "1", "-2",\n  # since it is so\n  "--b", \'{"c": 1}\',\n' in text
    assert tomllib.loads(text)["args"] == list(deployment.args)
