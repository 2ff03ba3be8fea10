"""The objects and the JSON Schema of everything published, from the dataclasses that hold it.

A field's name and type are its key and its schema. What they do not say, a `Says` beside the type does:

    at_ms: int                                                      "at_ms": 5   {"type": "integer"}
    size_bytes: Annotated[int, Says("Of a value.", name="bytes")]   "bytes": 5   … "description": "Of a value."
    sample: Annotated[str, HIDDEN] = ""                             no key
    sampled: Annotated[bool, Says(optional=True)] = False           no key, or true

A property whose type has a `Says` is a key too. A class with a `KIND` begins with it, and its schema has that name; a
class with a method `published` is shown as what that gives, and read by `of_published`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from .codec import AS_IT_IS, Form, Plan, Slot, compiled, plan_of

T = TypeVar("T")
Object = dict[str, Any]
DEFS = "#/$defs/"
_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


@dataclass(frozen=True, slots=True)
class Says:
    """What the name and the type of a published field do not say. `says`: its meaning, for people.

    `name`: of the key, where it is not the field's; `before`: the key that follows, of a property. `words`: the only
    values (of a mapping: the only keys); `pattern`, `least`: bounds. `optional`: the key is left out where the value is
    its default, None of a property. `spread`: the keys of the value stand in this object. `hidden`: not published; read
    where somebody gives it.
    """

    says: str = ""
    name: str = ""
    before: str = ""
    words: tuple[str, ...] = ()
    pattern: str = ""
    least: int | None = None
    optional: bool = False
    spread: bool = False
    hidden: bool = False


HIDDEN = Says(hidden=True)
OPTIONAL = Says(optional=True)
_PLAIN = Says()


class Entry(NamedTuple):
    """One key of the object of a class. `field` is None for a property, `holder` names the attribute that is spread;
    `hint` is the type with its annotations, `plain` without."""

    key: str
    attribute: str
    hint: Any
    plain: Any
    says: Says
    field: Any = None
    holder: str = ""


@cache
def entries(kind: Any) -> tuple[Entry, ...]:
    """The keys of the object of a dataclass in their order, with its hidden fields."""
    hints, plain = get_type_hints(kind, include_extras=True), get_type_hints(kind)
    found = [_entry(one.name, hints[one.name], plain[one.name], one) for one in fields(kind)]
    for name, member in vars(kind).items():
        if isinstance(member, property):
            hint = get_type_hints(member.fget, include_extras=True)["return"]
            if get_origin(hint) is Annotated:
                own = _entry(name, hint, get_type_hints(member.fget)["return"])
                place = [one.key for one in found].index(own.says.before)
                found[place:place] = _spread(own) if own.says.spread else [own]
    return tuple(found)


def _entry(attribute: str, hint: Any, plain: Any, field: Any = None) -> Entry:
    says = _meaning_of(hint)
    return Entry(says.name or attribute, attribute, hint, plain, says, field)


def _meaning_of(hint: Any) -> Says:
    return next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Says)), _PLAIN)


def _spread(holder: Entry) -> list[Entry]:
    return [one._replace(field=None, holder=holder.attribute) for one in entries(holder.plain)]


def as_object(value: object) -> Object:
    """A published value as the object that the command line prints, the database stores and the API answers."""
    return cast(Object, plan_of(cast(Any, type(value)), PUBLISHED).encode(value))


def from_object(kind: type[T], stored: Mapping[str, Any]) -> T:
    """The value that `as_object` made this object from; hidden fields as the object has them, or at their default."""
    return cast(T, plan_of(cast(Any, kind), PUBLISHED).decode(stored))


def _dataclass_plan(kind: Any) -> Plan:
    if hasattr(kind, "published"):
        write, read = plan_of(get_type_hints(kind.published)["return"], PUBLISHED)
        return Plan(lambda value: write(value.published()), lambda raw: kind.of_published(read(raw)))
    parts = [
        Slot(
            one.field,
            f"{one.holder or 'value'}.{one.attribute}",
            one.key,
            AS_IT_IS if one.says.hidden else plan_of(one.plain, PUBLISHED),
            written=not one.says.hidden,
            always=not one.says.optional,
        )
        for one in entries(kind)
    ]
    own = {part.declared.name: part for part in parts if part.declared is not None}
    assert [*own] == [one.name for one in fields(kind)], kind
    head = {"kind": kind.KIND} if hasattr(kind, "KIND") else None
    return compiled(kind, parts, head, sorted({one.holder for one in entries(kind) if one.holder}))


def _union_plan(args: tuple[Any, ...]) -> Plan:
    """A value that may be None, or of one of several classes, which their keys tell apart."""
    plans = {one: plan_of(one, PUBLISHED) for one in args}
    if all(plan == AS_IT_IS for plan in plans.values()):
        return AS_IT_IS
    plans.pop(NoneType, None)
    if len(plans) == 1:
        [(write, read)] = plans.values()
        return Plan(
            lambda value: None if value is None else write(value), lambda raw: None if raw is None else read(raw)
        )
    writers = {kind: plan.encode for kind, plan in plans.items()}
    readers = [({one.key for one in entries(kind)}, plan.decode) for kind, plan in plans.items()]
    return Plan(
        lambda value: None if value is None else writers[type(value)](value),
        lambda raw: None if raw is None else next(read for keys, read in readers if raw.keys() <= keys)(raw),
    )


PUBLISHED = Form(_dataclass_plan, _union_plan)


def schemas(kinds: Iterable[type[Any]]) -> dict[str, Object]:
    """The JSON Schema of these classes and of all that they hold, by its name."""
    found: dict[str, Object] = {}
    for kind in kinds:
        _schema(kind, found)
    return dict(sorted(found.items()))


def schema_name(kind: type[Any]) -> str:
    """How the schema of a class is named."""
    return str(getattr(kind, "KIND", kind.__name__))


def _schema(hint: Any, found: dict[str, Object]) -> Object:
    """The schema of a type; dataclasses in it are put among those found."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _refined(_schema(args[0], found), _meaning_of(hint))
    if origin in (Union, UnionType):
        return _union_schema([_schema(one, found) for one in args])
    if origin is tuple and args[-1] is Ellipsis:
        return {"type": "array", "items": _schema(args[0], found)}
    if origin is tuple:
        parts = [_schema(one, found) for one in args]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(args[1], found)}
    if is_dataclass(hint):
        return _dataclass_schema(hint, found)
    if issubclass(hint, Enum):
        return {"enum": [one.value for one in hint]}
    return {"type": _SIMPLE[hint]}


def _union_schema(parts: list[Object]) -> Object:
    """Simple types together, an enumeration with null; else one of the parts."""
    null = {"type": "null"}
    if all([*one] == ["type"] for one in parts):
        return {"type": [one["type"] for one in parts]}
    if len(parts) == 2 and parts[1] == null and "enum" in parts[0]:
        return {"enum": [*parts[0]["enum"], None]}
    return {"oneOf": parts}


def _dataclass_schema(kind: Any, found: dict[str, Object]) -> Object:
    if hasattr(kind, "published"):
        return _schema(get_type_hints(kind.published)["return"], found)
    name = schema_name(kind)
    if name not in found:
        found[name] = {}
        shown = [one for one in entries(kind) if not one.says.hidden]
        properties = {"kind": {"const": kind.KIND}} if hasattr(kind, "KIND") else {}
        found[name] = {
            "type": "object",
            "required": [*properties, *(one.key for one in shown if not one.says.optional)],
            "properties": properties | {one.key: _key_schema(one, found) for one in shown},
            "additionalProperties": False,
        }
    return {"$ref": f"{DEFS}{name}"}


def _key_schema(entry: Entry, found: dict[str, Object]) -> Object:
    """What is left out at its default is never null, and a boolean always true."""
    if not entry.says.optional:
        return _schema(entry.hint, found)
    given = _without_none(entry.plain)
    return _refined({"const": True} if given is bool else _schema(given, found), entry.says)


def _without_none(hint: Any) -> Any:
    """The type of an optional value where there is one."""
    given = [one for one in get_args(hint) if one is not NoneType] if get_origin(hint) in (Union, UnionType) else ()
    return given[0] if len(given) == 1 else hint


def _refined(schema: Object, says: Says) -> Object:
    """The schema with what a key says of it."""
    refined = dict(schema)
    if says.words and schema.get("type") == "object":
        refined["propertyNames"] = {"enum": [*says.words]}
    elif says.words:
        refined = {"enum": [*says.words, *([None] if "null" in schema["type"] else [])]}
    refined |= {"pattern": says.pattern} if says.pattern else {}
    refined |= {} if says.least is None else {"minimum": says.least}
    return refined | ({"description": says.says} if says.says else {})


def meaning(kind: Any, path: str) -> str:
    """What the key at this path (`verdict.grade`) says of itself; empty where nothing."""
    name, _, rest = path.partition(".")
    entry = next(one for one in entries(kind) if one.key == name and not one.says.hidden)
    if not rest:
        return entry.says.says
    return meaning(_without_none(entry.plain), rest)
