"""MirrorMaker 2's integration tests, line by line, against the real command and real brokers.

Each test has the name of the one that it stands for. Where MirrorMaker 2 may be off by some records, these tests
allow none: offsets are translated exactly.

From MirrorConnectorsIntegrationBaseTest: in `test_variants` what runs for each variant (at least once, exactly once,
transactional producers, TLS, identity policy), in `test_options` and `test_dedicated` what has settings of its own or
needs a restart. From DedicatedMirrorIntegrationTest: `test_dedicated`.

Not here:

- testConnectorMetrics{New,Legacy,Default,NewAndLegacy}: metrics are not those of Connect's JMX.
- Stop, PATCH and DELETE offsets of the exactly-once variant: belongs to Connect's REST interface.
- MirrorConnectorsWithCustomForwardingAdminIntegrationTest: `forwarding.admin.class` names a Java class, which is not
  offered; rights on topics are tested in tests/sync/test_acls.py.
"""
