"""At most one process holds a Lease, whatever the network, clocks and processes do."""

import asyncio
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from support.lease_candidates import Candidate, Records, Wire
from support.virtual_time import run_virtual

FAULTS = ["cut", "mend", "kill", "stop", "nothing", "nothing", "nothing"]


class World:
    """Some processes, their connections, and every moment at which two of them held the lease."""

    def __init__(self, rng, count):
        self.rng = rng
        self.records = Records()
        self.doubles = []
        self.living = []
        self.living += [self.start(number) for number in range(count)]

    def start(self, number):
        candidate = Candidate(
            self.records,
            f"{number}-{self.rng.random()}",
            wire=Wire(self.records, there=self.delay, back=self.delay),
            offset=self.rng.uniform(-9999, 9999),
            random=self.rng.random,
        )
        candidate.elector.subscribe(lambda *_: self.look())
        return candidate

    def delay(self):
        return self.rng.random() * self.rng.choice([0.01, 0.01, 0.01, 3, 8, 40])

    def look(self):
        holding = [item.elector.identity for item in self.living if item.elector.holds()]
        if len(holding) > 1:
            self.doubles.append((asyncio.get_running_loop().time(), holding))
        return holding

    async def suffer(self, fault, number):
        candidate = self.living[number]
        match fault:
            case "cut":
                candidate.wire.is_cut = True
            case "mend":
                candidate.wire.is_cut = False
            case "kill":
                candidate.wire.is_cut = True
                self.living[number] = self.start(number)
                await candidate.stop()
            case "stop":
                await candidate.stop()
                self.living[number] = self.start(number)

    def idle(self):
        for item in self.living:
            item.wire.is_cut = False
            item.wire.there = item.wire.back = lambda: 0.01

    async def end(self):
        for item in self.living:
            await item.stop()
            assert item.task.cancelled()


@settings(deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(2, 3))
def test_a_lease_never_has_two_holders(seed, count):
    """With delays up to 40 s each way, disconnects, kills, restarts and wrong wall clocks there is at most one
    holder; without faults there is one.
    """

    async def main():
        rng = Random(seed)  # noqa: S311 - a replayable history, not a secret
        world = World(rng, count)
        for _ in range(60):
            await asyncio.sleep(rng.random() * 10)
            world.look()
            await world.suffer(rng.choice(FAULTS), rng.randrange(count))
        world.idle()
        await asyncio.sleep(120)
        assert len(world.look()) == 1
        await world.end()
        assert world.doubles == []

    run_virtual(main())
