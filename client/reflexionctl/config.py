"""The command that shows the daemon's settings."""

from typing import Annotated, Any

import typer

from .context import AsJson, Misused, options
from .output import Column, print_facts, print_json, print_table


def config(
    ctx: typer.Context,
    key: Annotated[
        str | None,
        typer.Argument(metavar="[KEY]", help="One setting, in full.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show every setting with its value and where that came from, or one in full."""
    given = options(ctx, as_json=as_json)
    with given.client() as client:
        answer = client.config()
    settings = answer["settings"] if key is None else [_pick(answer["settings"], key)]
    if given.as_json:
        print_json({**answer, "settings": settings})
    elif key is None:
        print_table(
            [Column("KEY"), Column("VALUE", flexible=True), Column("ORIGIN")],
            [(setting["key"], shown(setting["value"]), setting["origin"]) for setting in settings],
        )
    else:
        (setting,) = settings
        print_facts(
            [
                ("key", setting["key"]),
                ("value", shown(setting["value"])),
                ("origin", setting["origin"]),
                ("meaning", setting["help"]),
                ("names", ", ".join(setting["names"])),
                ("file", str(answer["file"] or "")),
            ]
        )


def shown(value: object) -> str:
    """Return a setting's value as it is written in the configuration file."""
    match value:
        case bool():
            return "true" if value else "false"
        case None | "":
            return "-"
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _pick(settings: list[dict[str, Any]], key: str) -> dict[str, Any]:
    """Return the setting of that key, or of one of its environment names."""
    from difflib import get_close_matches

    for setting in settings:
        if key == setting["key"] or key in setting["names"]:
            return setting
    near = get_close_matches(key, [setting["key"] for setting in settings], 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise Misused(f"no setting is called {key}{hint}")
