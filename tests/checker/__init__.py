"""Proves that two clusters hold the same records: read with a stock consumer, compared one by one, every difference named.

    report = compare(source.bootstrap_servers, target.bootstrap_servers, {source_partition: target_partition})
    assert report.is_equal, report
"""

from tests.checker.comparison import SameCluster, compare, compare_compacted
from tests.checker.finding import Finding, Kind
from tests.checker.report import Report

__all__ = ["Finding", "Kind", "Report", "SameCluster", "compare", "compare_compacted"]
