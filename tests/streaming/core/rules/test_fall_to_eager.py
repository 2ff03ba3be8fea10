"""A group falls to the eager protocol: what workers run on is not missed when it is given back to them."""

from tests.streaming.core.rules.builders import Story, incidents

CODE = "CONNECT-K4"


def tell(story: Story, state: str, jobs: dict[str, set[str]]) -> None:
    for worker, own in sorted(jobs.items()):
        for name in sorted(own):
            story.wait(10)
            story.status(name, state, worker)


def fallen(*, stops: bool) -> tuple[Story, set[str]]:
    """w2 brings the group down to the eager protocol and leaves again: the story, and the jobs that were taken from a
    worker by the fall and given back to it. With `stops` the workers stop these, too, before they are given back."""
    story = Story(max_delay_ms=0)
    story.configure("c1", 6)
    story.join("w1")
    for _ in range(3):
        story.rebalance()
    first = {name: worker.holds() for name, worker in story.workers.items()}
    tell(story, "RUNNING", first)
    story.wait(5_000)
    story.protocol = "default"
    story.join("w2")
    story.rebalance()
    second = {name: worker.holds() for name, worker in story.workers.items()}
    tell(story, "RUNNING", {name: own - first.get(name, set()) for name, own in second.items()})
    story.wait(120_000)
    tell(story, "UNASSIGNED", second)
    if stops:
        tell(story, "UNASSIGNED", {name: own - second[name] for name, own in first.items()})
    story.leave("w2")
    story.rebalance(after_ms=100)
    third = {name: worker.holds() for name, worker in story.workers.items()}
    back = {name: (own & first[name]) - second[name] for name, own in third.items()}
    tell(story, "RUNNING", {name: own - back[name] for name, own in third.items()})
    return story.until(100_000), set().union(*back.values())


def missed(story: Story) -> set[str]:
    return {subject.id for one in incidents(story.fold(), CODE) for subject in one.subjects if subject.type != "worker"}


def test_who_is_given_back_what_the_fall_left_running_starts_nothing() -> None:
    story, back = fallen(stops=False)
    assert back
    assert missed(story) == set()


def test_who_stopped_it_has_to_start_it_again() -> None:
    story, back = fallen(stops=True)
    assert missed(story) == back
