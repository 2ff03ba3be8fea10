"""Task assignors of the user's own (KIP-924), each run in processes of its own.

    core: PlugIns.assign(plug_in, state)         host.py       all plug-ins of this process
      │                                          twins.py      two processes that differ in Python's hash seed; pauses
      │                                          channel.py    requests out, replies back, a deadline, the end
      ├──▶ keeper: counts what descends, ends it keeper.py     with the job, too
      ▼                                          descent.py    all descendants, whatever session they are in
    process: load, assign, computed              child.py      the loop, limits, standard output put aside
      │                                          starting.py   how many processes one call starts
      │                                          watching.py   what of the state the plug-in looks at
      ▼
    reply: JSON, read strictly                   wire.py       a reply is never unpickled

A process has no environment, no descriptor and no memory of this one. It is ended, with everything that descends from
it, when a call takes longer than its budget, exceeds another limit, or when this process ends. That keeps mistakes of a
plug-in away from the job; it does not keep a hostile plug-in from anything that the user of the job may do.
"""
