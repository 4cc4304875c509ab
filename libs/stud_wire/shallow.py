"""The messages of a log with parts of them left as bytes: what recurs is not unfolded into messages again and again.

On the wire a nested message and a field of bytes are the same. So the contract is loaded a second time, in a pool of
its own, with the type of these fields changed; both read the same bytes.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from stud.events.v1 import commit_pb2

LEFT_AS_BYTES: Final = {("TurnStarted", "options")}
"""Message and field: what may be done on a turn is one of few combinations, which are known by their bytes."""


def _pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    seen: set[str] = set()

    def add(file: Any) -> None:
        if file.name in seen:
            return
        seen.add(file.name)
        for needed in file.dependencies:
            add(needed)
        described = descriptor_pb2.FileDescriptorProto()
        file.CopyToProto(described)
        for message in described.message_type:
            for field in message.field:
                if (message.name, field.name) in LEFT_AS_BYTES:
                    field.type = FieldDescriptorProto.TYPE_BYTES
                    field.ClearField("type_name")
        pool.Add(described)

    add(commit_pb2.DESCRIPTOR)
    return pool


_POOL: Final = _pool()


def message_class(name: str) -> Any:
    """Return the class of a message by its full name."""
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(name))
