"""Whether anything is lost, doubled or judged in another way when parts of a running system are killed.

load            generations at the pace of the clock, written by a producer that outlasts an outage of the broker
copied_group    two real Connect workers, whose generations are copied to where those of the load are
receiver        a program that is notified
world           all of these, broker, PostgreSQL, and two jobs that are started again whenever they end
faults          what is done to them
checks          what is stored and was notified, against an independent reader of the topics
"""
