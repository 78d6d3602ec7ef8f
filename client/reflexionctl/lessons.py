"""Commands about lessons."""

from typing import Annotated, Any

import typer

from . import completion
from .context import After, AsJson, Limit, Words, Yes, confirm, options, text_of
from .output import (
    Column,
    complain,
    print_block,
    print_facts,
    print_json,
    print_table,
    say,
    stamp,
    when,
)
from .paging import pages

LessonId = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A lesson, by id or unique prefix.",
        autocompletion=completion.lessons,
    ),
]


def lessons(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List, show and delete lessons; without a verb, list them."""
    if ctx.invoked_subcommand is None:
        list_lessons(ctx, as_json=as_json)
    elif as_json:
        ctx.find_root().obj = options(ctx, as_json=True)


def list_lessons(
    ctx: typer.Context, limit: Limit = 50, after: After = None, as_json: AsJson = False
) -> None:
    """List the lessons, newest first."""
    given = options(ctx, as_json=as_json)
    with given.client() as client:
        page = pages(client.lessons, "lessons", limit, after)
    if given.as_json:
        print_json(page)
        return
    if not page["lessons"]:
        complain("nothing has been learned yet")
        return
    columns = [
        Column("ID"),
        Column("LAST SEEN"),
        Column("SEEN"),
        Column("TRIGGER", extra=True),
        Column("SITUATION", flexible=True),
        Column("CORRECTION", flexible=True),
    ]
    rows = [
        (
            str(lesson["id"]),
            when(lesson["last_seen_at_ns"]),
            str(lesson["seen"]),
            lesson["trigger"],
            lesson["situation"],
            lesson["correction"],
        )
        for lesson in page["lessons"]
    ]
    print_table(columns, rows)
    if page["next"] is not None and len(rows) < page["total"]:
        complain(f"{len(rows)} of {page['total']} shown; go on with --after {page['next']}")


def show_lesson(ctx: typer.Context, identifier: LessonId, as_json: AsJson = False) -> None:
    """Show one lesson in full, with where it came from."""
    given = options(ctx, as_json=as_json)
    with given.client() as client:
        answer = client.lesson(identifier)
    if given.as_json:
        print_json(answer)
    else:
        print_lesson(answer["lesson"])


def delete_lesson(
    ctx: typer.Context, identifier: LessonId, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Delete one lesson for good; asks first."""
    given = options(ctx, as_json=as_json)
    confirm(f"Delete lesson {identifier} for good?", yes=yes)
    with given.client() as client:
        answer = client.delete_lesson(identifier)
    if given.as_json:
        print_json(answer)
    else:
        say(f"lesson {answer['deleted']} deleted")


def reflect(ctx: typer.Context, text: Words, as_json: AsJson = False) -> None:
    """Store a lesson of your own, at once and as written."""
    given = options(ctx, as_json=as_json)
    with given.client() as client:
        lesson = client.remember(text_of(text))
    if given.as_json:
        print_json({"id": lesson.id, "fact": lesson.fact, "new": lesson.new})
    else:
        say(f"lesson {lesson.id} {'stored' if lesson.new else 'was known already'}")


def print_lesson(lesson: dict[str, Any]) -> None:
    """Print one lesson in full."""
    times = "once" if lesson["seen"] == 1 else f"{lesson['seen']} times"
    seen = f"{times}, last {stamp(lesson['last_seen_at_ns'])}"
    print_facts(
        [
            ("lesson", str(lesson["id"])),
            ("situation", lesson["situation"]),
            ("mistake", lesson["mistake"]),
            ("correction", lesson["correction"]),
            ("trigger", lesson["trigger"]),
            ("tags", ", ".join(lesson["tags"])),
            ("seen", seen),
            ("learned", stamp(lesson["created_at_ns"])),
            ("distiller", lesson["distiller"]),
            ("job", lesson["job_id"] or ""),
            ("workspace", lesson["workspace"]),
            ("source", lesson["source"]),
        ]
    )
    print_block("fact", lesson["fact"])
