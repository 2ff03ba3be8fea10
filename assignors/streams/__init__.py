"""Kafka Streams' client-side task assignors: what the leader of a Streams group computes, bit-exactly.

* `application` holds what an assignor reads; `built_in` runs Kafka's own (`high_availability`, `legacy_sticky`),
  release by release (`eras`), down to the threads (`threads`).
* `task_assignor` is the plug-in point of KIP-924, with `application_state`, `assignment` and the helpers
  `task_assignment_utils` and `rack_optimization`; `public_sticky` is Kafka's own plug-in.
* `leader` runs a whole generation, from the members' subscriptions to their assignments; `topology_text` reads what
  Kafka prints for a topology.

Like the rest of `assignors` the package needs the standard library only.
"""
