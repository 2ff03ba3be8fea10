"""The OpenAPI document, made from the declared routes and from the schema of everything published."""

import json
from functools import cache
from typing import Any

from rebalance_monitor.streaming.core.model.printed import PRINTED
from rebalance_monitor.streaming.core.model.published import DEFS, schemas
from .advice_schemas import ADVICE
from .answer_schemas import COMPONENTS, OWN, array_of, object_of, ref
from .contract import ROUTES, Parameter, Route, Schema


@cache
def document(version: str = "") -> dict[str, Any]:
    """The whole description (OpenAPI 3.1, whose schemas are JSON Schema 2020-12)."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rebalance-monitor",
            "version": version or "0",
            "description": "Every rebalance with its verdict, read-only. Times are milliseconds since 1970, UTC.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {route.path: {"get": _operation(route)} for route in ROUTES},
        "components": {
            "schemas": {**_published(), **OWN, **ADVICE},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"bearer": []}],
    }


def answer_schema(route: Route) -> Schema:
    if not route.paged:
        return ref(route.answer)
    listed = object_of(
        {
            "items": array_of(ref(route.answer)),
            "next": {"type": ["string", "null"], "description": "`cursor` of the next page; null on the last."},
        }
    )
    if route.ends:
        listed["properties"]["cut_before_ms"] = {
            "type": "integer",
            "description": "Of what was before this moment only summaries are left, but for the last generation of a"
            " group. Not there while nothing was cut.",
        }
    return listed


def _operation(route: Route) -> dict[str, Any]:
    problem = {"application/json": {"schema": ref("problem")}}
    answers: dict[str, Any] = {
        "200": {"description": route.summary, "content": {route.media: {"schema": answer_schema(route)}}},
        "401": {"description": "A token is needed.", "content": problem},
        "503": {"description": "Not now.", "content": problem},
    }
    if route.parameters:
        answers["400"] = {"description": "A parameter is wrong.", "content": problem}
    if route.missing:
        answers["404"] = {"description": route.missing.capitalize() + ".", "content": problem}
    return {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": [_parameter(one) for one in route.parameters],
        "responses": answers,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "required": parameter.required,
        "schema": parameter.schema,
    }


def _published() -> dict[str, Schema]:
    """The objects that the database stores as documents, under their own names."""
    found: dict[str, Schema] = json.loads(json.dumps(schemas(PRINTED)).replace(DEFS, COMPONENTS))
    return found
