"""Whatever happens to network and archives: a copy that says that it is complete is complete."""

import pytest

LOSSES = (0.0, 0.02, 0.1)


def test_a_copy_in_a_quiet_world(make_world):
    world = make_world(1, loss=0.0, live=False, count=500)
    world.copy(live=False)
    assert world.outcomes == ["REPLICATE EXTEND SYNC REPLICATE_END STOP"]
    assert not world.is_recording()
    world.check_copy()


def test_a_live_join_in_a_quiet_world(make_world):
    world = make_world(2, loss=0.0, live=True, count=60)
    world.copy(live=True)
    assert world.outcomes == ["REPLICATE EXTEND MERGE REPLICATE_END"]
    end_of_live(world)
    world.check_copy()


def play(world, harms):
    """Harm while copies are made, one after another, then peace: the last one must be complete."""
    world.harm(harms)
    while world.is_harmed:
        world.copy_id = world.copy_id if world.live else -1
        world.copy(live=world.live)
        # A live copy goes on for as long as it can.
        world.run(lambda: not world.is_harmed or not world.is_recording())
    if world.live:
        end_of_live(world)
    world.copy(live=False)
    world.run(lambda: not world.is_recording())
    world.check_copy()


def end_of_live(world):
    """The stream ends, and with it what was recorded of it live."""
    world.finish_source()
    world.run(lambda: not world.is_recording())


@pytest.mark.parametrize("live", [False, True], ids=["stopped", "live"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.timeout(300)
def test_copies_in_a_world_of_harm(make_world, seed, live):
    count = 300 if live else 600
    world = make_world(seed, loss=LOSSES[seed % len(LOSSES)], live=live, count=count)
    play(world, 4)
    assert world.copy_id >= 0


@pytest.mark.slow
@pytest.mark.parametrize("live", [False, True], ids=["stopped", "live"])
@pytest.mark.parametrize("seed", range(100, 200))
@pytest.mark.timeout(300)
def test_many_copies_in_a_world_of_harm(make_world, seed, live):
    count = 300 if live else 600
    world = make_world(seed, loss=LOSSES[seed % len(LOSSES)], live=live, count=count)
    play(world, 6)
    assert world.copy_id >= 0
