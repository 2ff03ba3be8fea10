"""Task assignors of the user's own (KIP-924), each run in processes of its own.

    core: PlugIns.assign(plug_in, state)         host.py       two processes that differ in Python's hash seed
      │                                          channel.py    requests out, replies back, a deadline, the end
      ▼
    process: load, assign, computed              child.py      the loop, limits, standard output put aside
      │                                          watching.py   what of the state the plug-in looks at
      ▼
    reply: JSON, read strictly                   wire.py       a reply is never unpickled

A process has no environment, no descriptor and no memory of this one. It is killed when a call takes longer than its
budget, and ends by itself when this process ends. That keeps mistakes of a plug-in away from the job; it does not keep
a hostile plug-in from anything that the user of the job may do.
"""
