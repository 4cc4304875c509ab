"""What the contract says of a service."""

from __future__ import annotations

import importlib
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor

from stud_topology.services import Service


def contract_of(service: Service) -> ServiceDescriptor:
    """Return its calls, as they were generated."""
    module: Any = importlib.import_module(f"stud.{service.name}.v1.{service.name}_service_pb2")
    found: ServiceDescriptor = module.DESCRIPTOR.services_by_name[service.grpc_name.rpartition(".")[2]]
    return found
