"""What a Protobuf message means in Kafka Connect's terms, as Confluent's ProtobufData sees it.

As if that had `enhanced.protobuf.schema.support`, `optional.for.nullables` and `wrapper.for.nullables` on: names are
full, a field is optional if it can be absent, and Google's wrappers are the values inside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pb2, message_factory  # type: ignore[import-untyped]
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]

from heliograph.errors import DataError
from heliograph.transforms.formats import logical
from heliograph.transforms.formats import protobuf_names as words
from heliograph.transforms.formats import protobuf_values as values
from heliograph.transforms.formats.codec import RecursiveSchema
from heliograph.transforms.formats.protobuf_values import Fill, Read
from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.struct import Struct

_TYPE_NAMES: Final = {getattr(FieldDescriptor, f"TYPE_{name.upper()}"): name for name in words.SCALARS}
_SMALL_INTEGERS: Final = {"int8": Type.INT8, "int16": Type.INT16}
_MOMENTS: Final[dict[str, tuple[Schema, Read, Fill]]] = {
    words.TIMESTAMP: (logical.TIMESTAMP_SCHEMA, values.read_timestamp, values.fill_timestamp),
    words.DATE: (logical.DATE_SCHEMA, values.read_date, values.fill_date),
    words.TIME: (logical.TIME_SCHEMA, values.read_time, values.fill_time),
}


class Element(NamedTuple):
    """One type: its schema, how it is read, and how it is written: a value, or into a message."""

    schema: Schema
    read: Read | None = None
    write: Read | None = None
    fill: Fill | None = None


class Member(NamedTuple):
    """One field of a struct: read from a message, put into one."""

    name: str
    schema: Schema
    get: Read
    put: Fill


def message_element(descriptor: Any) -> Element:
    """The meaning of a message; DataError if it has none."""
    return _Walk(descriptor.file.pool).message(descriptor)


class _Walk:
    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._open: set[str] = set()
        self._done: dict[str, Element] = {}

    def message(self, descriptor: Any) -> Element:
        name = descriptor.full_name
        if name in words.WRAPPERS:
            return self._wrapper(descriptor)
        if name in self._open:
            raise RecursiveSchema(f"the Protobuf message {name} contains itself")
        if name not in self._done:
            self._open.add(name)
            self._done[name] = _struct(name, [*self._oneofs(descriptor), *self._members(descriptor)])
            self._open.discard(name)
        return self._done[name]

    def _oneofs(self, descriptor: Any) -> list[Member]:
        made_up = _made_up(descriptor)
        return [self._oneof(oneof) for oneof in descriptor.oneofs if oneof.name not in made_up]

    def _members(self, descriptor: Any) -> list[Member]:
        made_up = _made_up(descriptor)
        return [
            self._member(field)
            for field in descriptor.fields
            if field.containing_oneof is None or field.containing_oneof.name in made_up
        ]

    def _oneof(self, oneof: Any) -> Member:
        members = {field.name: self._member(field) for field in oneof.fields}
        fields = tuple(Field(member.name, logical.optional(member.schema)) for member in members.values())
        schema = Schema(Type.STRUCT, is_optional=True, name=words.UNION + oneof.full_name, fields=fields)
        name = oneof.name

        def get(message: Any) -> Struct | None:
            chosen = message.WhichOneof(name)
            return None if chosen is None else Struct(schema, {chosen: members[chosen].get(message)})

        def put(value: Any, message: Any) -> None:
            for chosen, given in _fields(value).items():
                if given is not None:
                    members[chosen].put(given, message)
                    return

        return Member(f"{name}_{oneof.index}", schema, get, put)

    def _member(self, field: Any) -> Member:
        if field.is_repeated:
            is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
            member = self._map(field) if is_map else self._array(field)
        else:
            member = self._single(field)
        schema = member.schema
        tagged = replace(schema, parameters={**schema.parameters, words.TAG: str(field.number)})
        return member._replace(schema=tagged)

    def _single(self, field: Any) -> Member:
        element, name = self._element(field), field.name
        schema = logical.optional(element.schema) if field.has_presence and not field.is_required else element.schema
        return Member(name, schema, _getter(name, element.read, field.has_presence), _putter(name, element))

    def _array(self, field: Any) -> Member:
        element, name = self._element(field), field.name
        schema = Schema(Type.ARRAY, is_optional=True, value_schema=logical.optional(element.schema))
        read = element.read

        def get(message: Any) -> list[Any]:
            items = getattr(message, name)
            return list(items) if read is None else [read(item) for item in items]

        return Member(name, schema, get, _array_putter(name, element))

    def _map(self, field: Any) -> Member:
        key = self._element(field.message_type.fields_by_name["key"])
        element, name = self._element(field.message_type.fields_by_name["value"]), field.name
        item = logical.optional(element.schema)
        schema = Schema(Type.MAP, is_optional=True, name=name, key_schema=key.schema, value_schema=item)
        read = element.read

        def get(message: Any) -> dict[Any, Any]:
            items = getattr(message, name)
            return dict(items) if read is None else {key: read(item) for key, item in items.items()}

        return Member(name, schema, get, _map_putter(name, element))

    def _element(self, field: Any) -> Element:
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            return self._message_field(field)
        if field.type == FieldDescriptor.TYPE_ENUM:
            return _enum(field.enum_type)
        if field.type not in _TYPE_NAMES:
            raise DataError(f"the Protobuf field {field.full_name} is a group, which is not supported")
        element = _scalar(_TYPE_NAMES[field.type])
        small = _SMALL_INTEGERS.get(self._meta(field).get(words.CONNECT_TYPE, ""))
        return element._replace(schema=replace(element.schema, type=small)) if small else element

    def _message_field(self, field: Any) -> Element:
        name = field.message_type.full_name
        if name in _MOMENTS:
            schema, read, fill = _MOMENTS[name]
            return Element(schema, read, fill=fill)
        if name == words.DECIMAL:
            told = self._meta(field)
            precision = {words.PRECISION: told["precision"]} if "precision" in told else None
            schema = logical.decimal_schema(int(told.get("scale", 0)), precision)
            fill = values.decimal_filler(int(told.get("precision", 0)))
            return Element(schema, values.read_decimal, fill=fill)
        return self.message(field.message_type)

    def _wrapper(self, descriptor: Any) -> Element:
        inner = _scalar(words.WRAPPERS[descriptor.full_name])
        read, write = inner.read, inner.write

        def get(message: Any) -> Any:
            return message.value if read is None else read(message.value)

        def fill(value: Any, message: Any) -> None:
            message.value = value if write is None else write(value)

        schema = replace(inner.schema, parameters={**inner.schema.parameters, words.WRAPPER: "true"})
        return Element(schema, get, fill=fill)

    def _meta(self, field: Any) -> dict[str, str]:
        """What Confluent's annotation of a field says."""
        if not field.has_options:
            return {}
        try:
            extension = self._pool.FindExtensionByName("confluent.field_meta")
            options = self._pool.FindMessageTypeByName("google.protobuf.FieldOptions")
        except KeyError:
            return {}
        told = message_factory.GetMessageClass(options).FromString(field.GetOptions().SerializeToString())
        return dict(told.Extensions[extension].params)


def _made_up(descriptor: Any) -> set[str]:
    """The oneofs that protoc made of the word `optional`."""
    told = descriptor_pb2.DescriptorProto()
    descriptor.CopyToProto(told)
    return {told.oneof_decl[field.oneof_index].name for field in told.field if field.proto3_optional}


def _scalar(kind: str) -> Element:
    type_ = words.SCALARS[kind]
    parameters = {} if words.USUAL[type_] == kind else {words.TYPE: kind}
    is_unsigned = kind in ("uint64", "fixed64")
    schema = Schema(type_, parameters=parameters)
    return Element(schema, values.signed, values.unsigned) if is_unsigned else Element(schema)


def _enum(descriptor: Any) -> Element:
    names = {item.number: item.name for item in reversed(descriptor.values)}
    numbers = {item.name: item.number for item in descriptor.values}
    parameters = {words.ENUM: descriptor.name}
    parameters |= {f"{words.ENUM}.{name}": str(number) for name, number in numbers.items()}
    schema = Schema(Type.STRING, name=descriptor.full_name, parameters=parameters)
    return Element(schema, values.symbol_reader(names), values.symbol_writer(numbers))


def _struct(name: str, members: Sequence[Member]) -> Element:
    schema = Schema(Type.STRUCT, name=name, fields=tuple(Field(item.name, item.schema) for item in members))
    readers = [(item.name, item.get) for item in members]
    writers = {item.name: item.put for item in members}

    def read(message: Any) -> Struct:
        return Struct(schema, {name: get(message) for name, get in readers})

    def fill(value: Any, message: Any) -> None:
        name = ""
        try:
            for name, given in _fields(value).items():
                if given is not None:
                    writers[name](given, message)
        except DataError as error:
            raise DataError(f"field {name}: {error}") from None
        except KeyError:
            raise DataError(f"the schema has no field {name}") from None
        except (TypeError, ValueError, AttributeError):
            raise DataError(f"field {name}: the value does not fit, found {type(given).__name__}") from None

    return Element(schema, read, fill=fill)


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, Struct):
        return value.values
    if not isinstance(value, dict):
        raise values.wrong(value, "a struct")
    return value


def _getter(name: str, read: Read | None, has_presence: bool) -> Read:
    convert: Callable[[Any], Any] = read or (lambda value: value)
    if has_presence:
        return lambda message: convert(getattr(message, name)) if message.HasField(name) else None
    return (lambda message: getattr(message, name)) if read is None else lambda message: convert(getattr(message, name))


def _putter(name: str, element: Element) -> Fill:
    fill, write = element.fill, element.write
    if fill is not None:

        def put_message(value: Any, message: Any) -> None:
            inner = getattr(message, name)
            inner.SetInParent()
            fill(value, inner)

        return put_message
    if write is not None:
        return lambda value, message: setattr(message, name, write(value))
    return lambda value, message: setattr(message, name, value)


def _array_putter(name: str, element: Element) -> Fill:
    fill, write = element.fill, element.write

    def put(value: Any, message: Any) -> None:
        if not isinstance(value, list):
            raise values.wrong(value, "an array")
        items = getattr(message, name)
        if fill is None:
            items.extend(value if write is None else map(write, value))
            return
        for item in value:
            fill(item, items.add())

    return put


def _map_putter(name: str, element: Element) -> Fill:
    fill, write = element.fill, element.write

    def put(value: Any, message: Any) -> None:
        if not isinstance(value, dict):
            raise values.wrong(value, "a map")
        items = getattr(message, name)
        for key, item in value.items():
            if fill is None:
                items[key] = item if write is None else write(item)
            else:
                fill(item, items[key])  # which comes into being by being asked for

    return put
