"""The lag monitor: looks at the two clusters of a flow from outside, whoever mirrors, and tells others what it sees."""
