"""Environment markers of a requirement, answered for the box and not for this machine."""

from __future__ import annotations

from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

from sparkproof.core.errors import UsageError
from sparkproof.core.refs import redact_url, requirement_marker
from sparkproof.core.target import Target


def check_marker(requirement: str, target: Target) -> None:
    """Whether a requirement's marker lets it be installed on the box.

    Raises:
        UsageError: it can't be read, or does not.
    """
    text = requirement_marker(requirement)
    if not text:
        return
    box = {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": target.platform,
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{target.python}.0",
        "python_version": target.python,
        "sys_platform": "linux",
        "extra": "",
    }
    try:
        meant = Marker(text).evaluate(box)
    except (InvalidMarker, UndefinedEnvironmentName) as error:
        raise UsageError(
            f"`{text}` is no environment marker", hint="e.g. vllm==0.33.0, without it"
        ) from error
    if not meant:
        raise UsageError(
            f"`{redact_url(requirement)}` is not for this box: {target}",
            hint="leave out what stands behind `;`, or name another box where --platform is taken",
        )
