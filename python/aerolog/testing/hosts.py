"""Hosts of a simulation: what runs on them, and how it is stopped, killed and started again."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.client import AeronArchive
from aerolog.archive.service import Archive
from aerolog.testing.filesystem import FakeFileSystem
from aerolog.testing.mounts import MountedFileSystem
from aerolog.testing.single_agent import SingleAgent
from aerolog.transport.client import Aeron
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver import MediaDriver
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from aerolog.testing.network import FakeHost
    from aerolog.testing.simulation import Party, Simulation
    from aerolog.transport.concurrent.agent_runner import AgentInvoker

#: Small buffers and short timeouts: what a driver does in minutes happens in seconds.
DRIVER_OPTIONS: Final[dict[str, Any]] = {
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
    "counters_buffer_length": "1m",
    "driver_timeout": 2.0,
    "timer_interval": 0.1,
    "client_liveness_timeout": 2.0,
    "image_liveness_timeout": 2.0,
    "publication_linger_timeout": 0.5,
    "publication_connection_timeout": 1.0,
    "publication_unblock_timeout": 3.0,
    "flow_control_receiver_timeout": 2.0,
    "counters_free_to_reuse_timeout": 0.1,
    "driver_async_executor_enabled": False,
}
ARCHIVE_OPTIONS: Final[dict[str, Any]] = {
    "segment_file_length": "64k",
    "file_io_max_length": "64k",
    "catalog_capacity": "64k",
    "low_storage_space_threshold": 0,
    "aeron_driver_timeout": 2.0,
    "connect_timeout": 2.0,
    "session_liveness_check_interval": 0.2,
    "replay_linger_timeout": 0.5,
}
CLIENT_OPTIONS: Final[dict[str, Any]] = {"driver_timeout": 2.0, "keepalive_interval": 0.1}


class SimulatedHost:
    """One machine: its disks, an address, and the processes on it.

    Attributes:
        name: what the trace calls the host.
        memory: the memory disk that holds the driver's directory.
        disk: the disk that holds the archive's folder.
        files: both of them.
        network: opens its ports; ``network.ipv4`` is its address.
        driver: the running driver, None without one.
        archive: the running archive, None without one.
        clients: connected clients.
    """

    def __init__(
        self, simulation: Simulation, name: str, disk: FakeFileSystem | None = None
    ) -> None:
        self.simulation = simulation
        self.name = name
        self.memory = FakeFileSystem()
        self.disk = disk or FakeFileSystem()
        self.network: FakeHost = simulation.network.host()
        simulation.network.names[name] = self.network.ipv4
        self.aeron_dir = f"/{name}/aeron"
        self.archive_dir = f"/{name}/archive"
        self.files = MountedFileSystem({"/": self.memory, self.archive_dir: self.disk})
        self.driver: MediaDriver | None = None
        self.archive: Archive | None = None
        self.clients: list[Aeron] = []
        self._driver_parties: list[Party] = []
        self._archive_parties: list[Party] = []
        self._client_parties: dict[int, Party] = {}

    # -- driver ----------------------------------------------------------------------------------

    def start_driver(self, **options: Any) -> MediaDriver:
        """Start a driver; its agents get their turns one by one.

        Args:
            options: those of ``MediaDriver``; they win over ``DRIVER_OPTIONS``.
        """
        simulation = self.simulation
        self.driver = driver = MediaDriver(
            self.aeron_dir,
            threading_mode="INVOKER",
            clock=simulation.clock,
            file_system=self.files,
            properties=Properties(),
            random_source=self._random(),
            network=self.network,
            **{**DRIVER_OPTIONS, **options},
        )
        (runner,) = driver.runners
        self._driver_parties = self._add_agents("driver", runner)
        simulation.note(f"{self.name} has a driver")
        return driver

    def stop_driver(self) -> None:
        """Close the driver in good order; nothing happens without one."""
        driver = self._forget_driver()
        if driver is not None:
            driver.close()

    def kill_driver(self) -> None:
        """End the driver without letting it do anything more."""
        self._forget_driver()
        self.network.close_ports()
        self.simulation.note(f"{self.name}'s driver is killed")

    def _forget_driver(self) -> MediaDriver | None:
        driver, self.driver = self.driver, None
        self._remove(self._driver_parties)
        return driver

    # -- clients ---------------------------------------------------------------------------------

    def connect(self, **options: Any) -> Aeron:
        """Connect a client to the host's driver; it is a party of its own.

        Its blocking calls turn everybody else while they wait.

        Args:
            options: those of ``Aeron``; they win over ``CLIENT_OPTIONS``.
        """
        client = Aeron(
            self.aeron_dir,
            invoker=True,
            driver_invoker=self.simulation.step,
            clock=self.simulation.clock,
            file_system=self.files,
            properties=Properties(),
            **{**CLIENT_OPTIONS, **options},
        )
        name = f"{self.name} client {client.client_id}"
        self.clients.append(client)
        self._client_parties[id(client)] = self.simulation.add_party(name, client.do_work)
        return client

    def disconnect(self, client: Aeron) -> None:
        """Close a client in good order."""
        self._forget_client(client)
        client.close()

    def kill_client(self, client: Aeron) -> None:
        """End a client without telling anybody."""
        self._forget_client(client)
        client.conductor.abandon()
        self.simulation.note(f"{self.name} client {client.client_id} is killed")

    def pause_client(self, client: Aeron, duration_s: float) -> None:
        """Leave a client without turns for a while, as a stopped process is."""
        self.simulation.stall(self._client_parties[id(client)], int(duration_s * NS_PER_S))

    def _forget_client(self, client: Aeron) -> None:
        if client in self.clients:
            self.clients.remove(client)
            self._remove([self._client_parties.pop(id(client))])

    # -- archive ---------------------------------------------------------------------------------

    def start_archive(self, **options: Any) -> Archive:
        """Start an archive on the host's driver; its agents get their turns one by one.

        Args:
            options: those of ``Archive``; they win over ``ARCHIVE_OPTIONS``.
        """
        simulation = self.simulation
        self.archive = archive = Archive(
            self.archive_dir,
            self.aeron_dir,
            threading_mode="INVOKER",
            driver_invoker=simulation.step,
            clock=simulation.clock,
            file_system=self.files,
            properties=Properties(),
            random_source=self._random(),
            **{**ARCHIVE_OPTIONS, **options},
        )
        (runner,) = archive.runners
        self._archive_parties = self._add_agents("archive", runner)
        simulation.note(f"{self.name} has an archive")
        return archive

    def connect_archive(self, client: Aeron | None = None, **options: Any) -> AeronArchive:
        """A session with an archive; its calls turn everybody else while they wait.

        Args:
            client: the transport client to use; a new one of this host when None.
            options: those of ``AeronArchive``.
        """
        return AeronArchive(
            client or self.connect(),
            idle=lambda _work_count: self.simulation.step(),
            clock=self.simulation.clock,
            **options,
        )

    def stop_archive(self) -> None:
        """Close the archive in good order; nothing happens without one."""
        archive = self._forget_archive()
        if archive is not None:
            archive.close()

    def kill_archive(self) -> None:
        """End the archive without letting it do anything more."""
        archive = self._forget_archive()
        if archive is not None:
            archive.abandon()
            self.simulation.note(f"{self.name}'s archive is killed")

    def pause_archive(self, duration_s: float) -> None:
        """Leave the archive's agents without turns for a while, as a stopped process is."""
        for party in self._archive_parties:
            self.simulation.stall(party, int(duration_s * NS_PER_S))

    def _forget_archive(self) -> Archive | None:
        archive, self.archive = self.archive, None
        self._remove(self._archive_parties)
        return archive

    # -- all of it -------------------------------------------------------------------------------

    def kill(self) -> None:
        """End everything on the host at once, as when its plug is pulled."""
        self.kill_archive()
        for client in list(self.clients):
            self.kill_client(client)
        self.kill_driver()

    def close(self) -> None:
        """Close everything on the host in good order."""
        self.stop_archive()
        for client in list(self.clients):
            self.disconnect(client)
        self.stop_driver()

    def _add_agents(self, kind: str, runner: AgentInvoker) -> list[Party]:
        parties = []
        for index, agent in enumerate(runner.agents):
            turned = SingleAgent(runner, index)
            name = f"{self.name} {kind} {agent.role_name}"
            parties.append(self.simulation.add_party(name, turned.invoke))
        return parties

    def _remove(self, parties: list[Party]) -> None:
        for party in parties:
            self.simulation.remove_party(party)
        parties.clear()

    def _random(self) -> random.Random:
        return random.Random(self.simulation.random.getrandbits(64))  # noqa: S311 -- repeatable

    def __repr__(self) -> str:
        return f"<SimulatedHost {self.name}>"
