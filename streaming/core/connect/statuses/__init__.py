"""What follows a generation: who really runs what, in one order whatever the order of arrival.

Group records and statuses lie in partitions of their own. Here they are told in one sequence: by the time they carry,
never before an earlier record of the same partition or job, and only up to a watermark that the cluster's clock sets
a little behind itself (`ClusterSettings.status_lag_ms`). Time only orders the telling: what is concluded from two
partitions rests on worker and generation, and on timers.
"""
