"""Real Apache Kafka and MirrorMaker 2 as child processes, for the demo, the tests and the benchmarks."""
