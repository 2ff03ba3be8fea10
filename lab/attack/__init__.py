"""The monitor under attack: many lives of Connect clusters, told with wrong clocks, with holes, or from the middle.

Theory of operation. A life is a list of records in the order of true time, with the name of the clock that stamped
each: a simulated cluster (`lab.simulated`), or a capture of a real one. A cell is one way to tell a life: which clock
is how far off, which records are missing, where the monitor starts. The monitor judges the told life in virtual time,
as `replay` does or live (`monitor`); what it finds is compared with what it finds where nothing was done, and with
what really happened.

    clocks          each clock off by 50 ms to an hour    false incidents above info; duplicates that are still found
    holes           one to three records left out         false unexplained; what is louder than the full record
    first-contact   the monitor starts at each record     verdicts that are unexplained though the leader is right
    mutants         one thing in one answer changed       how many are noticed

`consumer-mutants` does the last to answers of consumers' leaders, in captures of real groups, by assignor;
`streams-mutants` to those of Streams leaders, by kind.

Results are kept in a file, one line per finished piece, so that a run that was broken off goes on where it was.

    make attack                                  all cells, at most an hour
    python -m lab.attack clocks --seeds 3        some
    python -m lab.attack --help
"""
