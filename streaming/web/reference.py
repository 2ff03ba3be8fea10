"""docs/api.md, made from the declared routes. `python -m rebalance_monitor.streaming.web.reference` prints it.

A test compares. Pure.
"""

from .contract import PREFIX, ROUTES, Parameter, Route
from .openapi import document

HEAD = f"""# The JSON API

Read-only, beside the page (`http://127.0.0.1:9471` unless configured otherwise). The whole description, with the shape
of every answer, is OpenAPI 3.1 at `{PREFIX}/openapi.json`; this list is made from the same declaration. Times are
milliseconds since 1970, UTC. Objects: [objects.schema.json](objects.schema.json).

* A list answers `{{"items": [...], "next": ...}}`; ask again with `cursor` set to `next`, until that is null.
* Where `page.tokens` lists tokens, send one as `Authorization: Bearer …` (or as the password of HTTP's basic scheme, as
  a browser does). Without one the answer is 401. What its scope does not show is answered like what does not exist.
* A refusal is `{{"error": "one sentence"}}`.
* `/healthz` says that the process lives. `/readyz` is 200 once the job has caught up and the database answers, else
  503; it needs no token and tells details only to one that sees everything. `/metrics` passes on what the job exports.
* `{PREFIX}/events` is a stream: an event `changed` names the groups of which something new is known. It is found out
  by asking the database once a second while somebody listens, so it comes up to a second late. An event `health`
  (`{{"ready": …}}`) says that the database or the job itself is gone or back, or waits for something else than before.
  An event `beat` (`{{"ready": …}}`) comes about every five seconds; without one for longer the connection is dead.
"""


def text() -> str:
    return HEAD + "".join(f"\n{_route(route)}" for route in ROUTES) + f"\n{_groups()}"


def _route(route: Route) -> str:
    answer = f"`{route.answer}`"
    lines = [f"## GET {route.path}", "", f"{route.summary} Answer: {_article(route, answer)}.", ""]
    if route.parameters:
        lines += ["| parameter | |", "|---|---|"]
        lines += [f"| `{one.name}` | {_described(one)} |" for one in route.parameters]
        lines.append("")
    return "\n".join(lines)


def _article(route: Route, answer: str) -> str:
    if route.media != "application/json":
        return f"{answer} in each event"
    return f"a list of `{route.answer}`" if route.paged else answer


def _described(parameter: Parameter) -> str:
    schema, parts = parameter.schema, [parameter.description.rstrip(".")]
    if parameter.required:
        parts.append("required")
    if "enum" in schema:
        parts.append(", ".join(schema["enum"]))
    if "maximum" in schema and schema["maximum"] < 2**31 - 1:
        parts.append(f"{schema['minimum']} to {schema['maximum']}")
    if schema.get("default") not in (None, ""):
        parts.append(f"default {schema['default']}")
    return "; ".join(parts)


def _groups() -> str:
    """The words for how a group stands."""
    schemas = document()["components"]["schemas"]
    state = schemas["group"]["properties"]["state"]
    attention = schemas["incident"]["properties"]["attention"]
    return (
        "## Words\n\n"
        f"A group's `state` is {', '.join(f'`{one}`' for one in state['enum'])}. {state['description']}\n\n"
        f"An incident's `attention`: {attention['description']}\n"
    )


if __name__ == "__main__":
    print(text(), end="")
