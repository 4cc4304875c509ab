"""Writes into Envoy's configuration which calls go where, from what the edge offers: `--check` only compares."""

from __future__ import annotations

import re
import sys

from edge_service.methods import offered
from stud_topology.services import BY_PORT, Service
from tools.pages import ROOT, write_or_check

TARGET = ROOT / "deploy/envoy/envoy.yaml"
ROUTE = "- {{ match: {{ path: {path} }}, route: {{ cluster: {name}, timeout: 0s }} }}\n"
CLUSTER = """\
- name: {name}
  type: STRICT_DNS
  per_connection_buffer_limit_bytes: 65536
  typed_extension_protocol_options:
    envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
      "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
      explicit_http_config: {{ http2_protocol_options: {{ initial_stream_window_size: 65536 }} }}
  load_assignment:
    cluster_name: {name}
    endpoints:
      - lb_endpoints:
          - endpoint: {{ address: {{ socket_address: {{ address: {name}, port_value: {port} }} }} }}
"""


def cluster(service: Service) -> str:
    """Return where a service is."""
    return CLUSTER.format(name=service.name, port=service.port)


def between(text: str, mark: str, lines: str) -> str:
    """Replace what stands between `# mark` and `# end of mark`, as far to the right as the marks."""
    found = re.search(rf"^( *)# {mark}\n(?s:.*?)^ *# end of {mark}\n", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{TARGET.name} has no # {mark} … # end of {mark}")
    indented = "".join(f"{found[1]}{line}\n" for line in lines.splitlines())
    block = f"{found[1]}# {mark}\n{indented}{found[1]}# end of {mark}\n"
    return text[: found.start()] + block + text[found.end() :]


def page() -> str:
    """Return the configuration as it should be now."""
    calls = offered()
    services = [service for service in BY_PORT if any(call.service == service.name for call in calls)]
    routes = "".join([ROUTE.format(path=call.path, name=call.service) for call in calls])
    return between(between(TARGET.read_text(), "calls", routes), "clusters", "".join(map(cluster, services)))


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, page))
