"""enqueue and failures.reflect: a failure comes in."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from reflexion_client.model import LessonRequest, Trigger
from reflexion_client.reflection import (
    Failure,
    HeuristicReflector,
    format_system_note,
    is_failure_output,
)
from reflexiond.rpc.params import Params
from reflexiond.rpc.services import Json, Services

LONGEST_WAIT_S = 600.0
_REFLECT_INLINE_CHARS = 4_096


async def enqueue(services: Services, params: Params) -> Json:
    """Make a report durable."""
    request = LessonRequest(
        task=params.text("task"),
        attempt=params.text("attempt", ""),
        outcome=params.text("outcome", ""),
        trigger=params.text("trigger", Trigger.ERROR),
    )
    job = await services.admissions.enqueue(
        request,
        params.text("workspace", ""),
        params.text("source", ""),
        params.number("wait_s", low=0, high=LONGEST_WAIT_S),
    )
    return {"id": job.id, "outcome": str(job.outcome), "state": str(job.state)}


async def reflect(services: Services, params: Params) -> Json:
    """Judge a failure at once, and record it as a report when it is one."""
    failure = Failure(
        tool_name=params.text("tool_name"),
        input=params.text("input", ""),
        output=params.text("output", ""),
        error=params.text("error", ""),
    )
    record = params.flag("record", default=True)
    task = params.text("task", "") or failure.input or failure.tool_name
    failed = bool(failure.error) or is_failure_output(failure.tool_name, failure.output)
    if len(failure.output) > _REFLECT_INLINE_CHARS:
        reflection = await asyncio.to_thread(HeuristicReflector().reflect, failure)
    else:
        reflection = HeuristicReflector().reflect(failure)
    job = None
    if failed and record:
        request = LessonRequest(
            task=task,
            attempt=failure.output,
            outcome=f"ERROR: {failure.error or reflection.root_cause}",
            trigger=Trigger.ERROR,
        )
        # Parked is as durable as accepted, and the caller waits for a judgement, not a slot.
        job = await services.admissions.enqueue(
            request, params.text("workspace", ""), params.text("source", ""), wait_s=0.0
        )
    return {
        "failure": failed,
        "mode": reflection.mode.value,
        "root_cause": reflection.root_cause,
        "hypothesis": reflection.hypothesis,
        "confidence": reflection.confidence,
        "note": format_system_note(failure.tool_name, reflection),
        "job": asdict(job) if job else None,
    }
