"""What a process tells Prometheus, read as Prometheus reads it; and whatever in it nobody may ever read there."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterable

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from stud_core.cards import RANKS, SUITS
from stud_service.metrics import METRICS, OTHER
from stud_topology.services import NAMES

SERIES_AT_MOST = 400
"""Of one process: what the table of metrics allows, whatever happens."""

CARD = re.compile(f"[{RANKS}][{SUITS}]")
TOKEN = re.compile(r"eyJ[\w-]+\.|Bearer")
METRIC = {metric.name: metric for metric in METRICS}


def scrape(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def samples(text: str) -> list[Sample]:
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def value_of(text: str, name: str, word: str = "", default: float | None = None) -> float:
    """A sample by the value of its label; the default where it is not told, or LookupError."""
    for sample in samples(text):
        if sample.name == name and ",".join(sample.labels.values()) == word:
            return sample.value
    if default is None:
        raise LookupError(name, word)
    return default


def told(service: str) -> set[str]:
    """Names of the metrics that a service has to tell."""
    return {metric.name for metric in METRICS if service in metric.of}


def leaks(text: str, secrets: Iterable[str]) -> list[str]:
    """What is in an exposition and must not be: a secret, a card or a token in a label, a label that no metric has or a
    value that it may not have, more series than there can be.
    """
    found = [f"{secret} is in it" for secret in secrets if secret in text]
    everything = samples(text)
    if len(everything) > SERIES_AT_MOST:
        found.append(f"{len(everything)} series")
    for sample in everything:
        metric = METRIC.get(re.sub("_(bucket|count|sum)$", "", sample.name)) or METRIC.get(sample.name)
        for name, word in sample.labels.items():
            if CARD.fullmatch(word) or TOKEN.search(word):
                found.append(f"{sample.name} says {word}")
            if name == "le" and metric is not None and metric.kind == "histogram":
                float(word)
            elif metric is None or metric.label is None or name != metric.label.name:
                found.append(f"{sample.name} has a label {name}")
            elif word != OTHER and not metric.label.values.fullmatch(word):
                found.append(f"{sample.name} says {word}")
    return found


def of_services(addresses: dict[str, str]) -> dict[str, str]:
    """What each of them tells, by its name."""
    return {name: scrape(addresses[name]) for name in NAMES}
