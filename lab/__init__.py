"""The cluster on one machine: broker, Connect workers, PostgreSQL, simulated members and faults.

Used by the demo, the integration tests and the benchmarks; never imported by the product.
"""
