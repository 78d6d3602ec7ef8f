"""ping, hello, status, config, shutdown."""

from __future__ import annotations

from reflexion_client.wire import PROTOCOL_VERSION
from reflexiond.clock import SECOND_NS
from reflexiond.rpc.params import Params
from reflexiond.rpc.services import Json, Services

CAPABILITIES = ("enqueue", "recall", "reflect", "remember", "jobs", "lessons")


async def ping(services: Services, params: Params) -> Json:  # noqa: ARG001 - one signature for all
    """Say who is alive here."""
    identity = services.identity
    return {
        "version": identity.version,
        "protocol": PROTOCOL_VERSION,
        "boot_id": identity.boot_id,
        "pid": identity.pid,
        "capabilities": list(CAPABILITIES),
    }


async def hello(services: Services, params: Params) -> Json:
    """Greet a client that introduces itself; it learns what `ping` tells."""
    params.text("client", "")
    params.text("version", "")
    return await ping(services, params)


async def status(services: Services, params: Params) -> Json:
    """Say how the daemon is."""
    identity = services.identity
    counts = await services.store.counts()
    running = len(services.workers.running)
    store = services.store_facts()
    problem = store.pop("problem")
    state = "draining" if services.draining() else "degraded" if problem else "running"
    return {
        **await ping(services, params),
        "started_at_ns": identity.started_at_ns,
        "uptime_s": round((services.clock.now_ns() - identity.started_at_ns) / SECOND_NS, 3),
        "state": state,
        "problem": problem,
        "paused": "",
        "socket": identity.socket,
        "state_dir": identity.state_dir,
        "queue": {
            "pending": counts.pending - running,
            "parked": counts.parked,
            "running": running,
            "dead": counts.dead,
            "capacity": services.admissions.capacity,
            "workers": services.workers.count,
            "policy": "drop_oldest" if services.admissions.drop_oldest else "block",
            "next_due_at_ns": await services.store.next_due_ns(),
            "persistent": services.queue_persistent,
        },
        "lessons": await services.store.count_lessons(),
        "embedder": services.keys.describe(),
        "counters": services.counters(),
        "connections": services.connections(),
        "store": store,
    }


async def config(services: Services, params: Params) -> Json:  # noqa: ARG001
    """List every setting with its value and where it came from."""
    return services.settings()


async def shutdown(services: Services, params: Params) -> Json:  # noqa: ARG001
    """Drain and stop."""
    services.shutdown()
    return {"stopping": True}
