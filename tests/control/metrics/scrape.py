"""A page of metrics as a table: what tests ask of it."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True)
class Scrape:
    """All samples of a page."""

    types: dict[str, str]
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]

    @classmethod
    def of(cls, text: str) -> Scrape:
        """Read by Prometheus' own library; a series that stands there twice is an error."""
        types: dict[str, str] = {}
        samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        for family in text_string_to_metric_families(text):
            types[family.name] = family.type
            is_odd = f"# TYPE {family.name} counter\n" in text  # the library adds `_total` where a counter lacks it
            for sample in family.samples:
                key = family.name if is_odd else sample.name, frozenset(sample.labels.items())
                assert key not in samples, key
                samples[key] = sample.value
        return cls(types, samples)

    def all(self, name: str, **labels: str) -> dict[frozenset[tuple[str, str]], float]:
        """The series of a name that have these labels among theirs."""
        wanted = labels.items()
        return {found: value for (it, found), value in self.samples.items() if it == name and wanted <= found}

    def get(self, name: str, **labels: str) -> float | None:
        """The only such series; None if there is none."""
        found = list(self.all(name, **labels).values())
        assert len(found) <= 1, f"{name} {labels}: {found}"
        return found[0] if found else None

    def value(self, name: str, **labels: str) -> float:
        """The only such series, which must be there."""
        found = self.get(name, **labels)
        assert found is not None, f"{name} {labels}"
        return found

    def total(self, name: str, **labels: str) -> float:
        """The sum of all such series."""
        return sum(self.all(name, **labels).values())

    @property
    def names(self) -> set[str]:
        """The names of all samples."""
        return {name for name, _ in self.samples}
