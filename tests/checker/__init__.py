"""Proves that two clusters hold the same records.

Both are read with a stock consumer and compared record by record; every difference is named.

report = compare(source.bootstrap_servers, target.bootstrap_servers, {source_partition: target_partition})
assert report.is_equal, report
"""

from tests.checker.comparison import SameClusterError, compare, compare_compacted, compare_when_level
from tests.checker.finding import Finding, Kind
from tests.checker.report import Report

__all__ = ["Finding", "Kind", "Report", "SameClusterError", "compare", "compare_compacted", "compare_when_level"]
