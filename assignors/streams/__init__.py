"""Kafka Streams' client-side task assignors: what the leader of a Streams group computes, bit-exactly.

`application` holds what an assignor reads, `high_availability`, `legacy_sticky` and `threads` what Kafka's built-in
classes make of it, release by release. Like the rest of `assignors` the package needs the standard library only.
"""
