"""A load of generations as they really are: true answers of the assignors over fed-back ownership, a few of them wrong.

In most generations nothing changes. In some a member comes or goes, and what members were given they report the next
time. One in a hundred answers is wrong on purpose, and it is known which rule it breaks.

    connect     workers with their config and status topics        lab.bench.assigning.rounds
    range, roundrobin, cooperative-sticky, sticky                   streaming.calculator.consumer
    uniform     a KIP-848 group, record by record                   assignors.broker.uniform
    streams     an application of the classic protocol              lab.streams.life

    python -m lab.bench.generations FOLDER --generations 2000 --groups 20     writes a capture for `replay`
"""
