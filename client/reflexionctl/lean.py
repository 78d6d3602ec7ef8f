"""Sparing plain text the machinery that typer has for checking values.

typer checks every option and argument with a validator of pydantic, whose import takes
as long as all the rest of a `status`. Words need no checking. This reaches into
typer's insides, so it does nothing at all where they look different.
"""

from __future__ import annotations

from typing import Any

_PLAIN = (str, list[str], bool)
"""What arrives in its final form: words, and flags that were given or not."""


def spare_plain_text(command: Any) -> None:
    """Let the words and flags of a command, and of all below it, through as they are.

    Args:
        command: what `typer.main.get_command` returned.
    """
    try:
        from typer._coercion import RuntimeParam
    except ImportError:
        return

    class AsItIs(RuntimeParam):
        def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ARG002
            return list(value) if isinstance(value, tuple) else value

    for each in _all(command):
        # With a context the list has `--help` in it.
        context = each.context_class(each, **each.context_settings)
        for parameter in each.get_params(context):
            kind: Any = getattr(parameter, "type_descriptor", None)
            if getattr(kind, "annotation", None) in _PLAIN and hasattr(parameter, "_runtime_param"):
                parameter._runtime_param = AsItIs(kind.parameter_info, kind.annotation)  # noqa: SLF001 - see above


def _all(command: Any) -> list[Any]:
    below = getattr(command, "commands", {}).values()
    return [command, *(each for child in below for each in _all(child))]
