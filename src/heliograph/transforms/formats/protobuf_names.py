"""The words with which Confluent's ProtobufData carries Kafka Connect's schemas through Protobuf and back."""

from __future__ import annotations

from typing import Final

from heliograph.transforms.schema import Type

NAMESPACE: Final = "io.confluent.connect.protobuf"
ENUM: Final = f"{NAMESPACE}.Enum"
UNION: Final = f"{NAMESPACE}.Union."
TAG: Final = f"{NAMESPACE}.Tag"
TYPE: Final = f"{NAMESPACE}.Type"
WRAPPER: Final = f"{NAMESPACE}.Wrapper"
PRECISION: Final = "connect.decimal.precision"
CONNECT_TYPE: Final = "connect.type"
DEFAULT_NAME: Final = "ConnectDefault"

DECIMAL: Final = "confluent.type.Decimal"
DATE: Final = "google.type.Date"
TIME: Final = "google.type.TimeOfDay"
TIMESTAMP: Final = "google.protobuf.Timestamp"

SCALARS: Final = {  # what each type of Protobuf is for Kafka Connect
    "double": Type.FLOAT64,
    "float": Type.FLOAT32,
    "int64": Type.INT64,
    "uint64": Type.INT64,
    "int32": Type.INT32,
    "fixed64": Type.INT64,
    "fixed32": Type.INT64,
    "bool": Type.BOOLEAN,
    "string": Type.STRING,
    "bytes": Type.BYTES,
    "uint32": Type.INT64,
    "sfixed32": Type.INT32,
    "sfixed64": Type.INT64,
    "sint32": Type.INT32,
    "sint64": Type.INT64,
}
USUAL: Final = {  # and the other way round, where nothing else is said
    Type.INT8: "int32",
    Type.INT16: "int32",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "bool",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
WRAPPERS: Final = {  # in the order of Google's file, which message indexes count by
    "google.protobuf.DoubleValue": "double",
    "google.protobuf.FloatValue": "float",
    "google.protobuf.Int64Value": "int64",
    "google.protobuf.UInt64Value": "uint64",
    "google.protobuf.Int32Value": "int32",
    "google.protobuf.UInt32Value": "uint32",
    "google.protobuf.BoolValue": "bool",
    "google.protobuf.StringValue": "string",
    "google.protobuf.BytesValue": "bytes",
}
