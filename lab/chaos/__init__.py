"""Whether anything is lost, doubled or judged in another way when parts of a running system are killed.

load        generations at the pace of the clock, written by a producer that outlasts an outage of the broker
world       broker, PostgreSQL, a program that is notified, and two jobs that are started again whenever they end
faults      what is done to them
checks      what is stored and was notified, against an independent reader of the topics
"""
