"""A Connect cluster in virtual time: seeded, without a broker and without sleep, some hundred generations a second.

Theory of operation. One queue of events (`queue`) is the only clock that moves: true time, in ms. Everything that takes
time is an event: a request on its way, a heartbeat, a task that stops. The parts follow what Kafka's own classes do,
not what the monitor expects of them:

    coordinator   the classic group coordinator: join phase, sessions, generations, choice of the leader, fail-over
    worker        one worker process: group client, herder, heartbeat thread; kills, freezes, stops
    leader        the assignor of one era, with the memory of its process (connect.md parts 3 to 5)
    jobs          connectors and tasks of one process: start, stop, status
    config        the config topic, and what one worker has read of it
    status        the status topic with the rule that drops a late UNASSIGNED
    log           the records, in offset order, each with the name of the clock that stamps it
    truth         who ran what from when to when, why each generation came about, what happened to each worker
    cluster       one cluster of these, and what can be done to it
    scenario      a random life of a cluster, made from a seed

A record keeps its true time and the name of its clock (`worker:10.0.0.1`, `broker:1`). The offset of a clock is applied
when records are read out (`log.Log.stamped`): nobody in a Connect cluster compares the clocks of two processes, so one
simulated life serves every combination of wrong clocks.

    cluster = scenario.live(seed=7)
    records = cluster.log.stamped({"worker:10.0.0.1": -500})     # a capture; this worker's clock is 500 ms behind
    cluster.truth.duplicates()                                   # jobs that really ran twice, and when
"""
