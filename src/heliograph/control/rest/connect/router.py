"""All routes of Kafka Connect's REST; those of connectors also below `/{source}/{target}`, for one flow each."""

from __future__ import annotations

from fastapi import APIRouter

from heliograph.control.rest.connect import configs, connectors, loggers, offsets, plugins, root, tasks, topics

_OF_CONNECTORS = (connectors, tasks, configs, offsets, topics)

router = APIRouter(tags=["connect"])
for noun in (root, plugins, loggers):
    router.include_router(noun.router)
for prefix in ("/connectors", "/{source}/{target}/connectors"):
    for noun in _OF_CONNECTORS:
        router.include_router(noun.router, prefix=prefix)
