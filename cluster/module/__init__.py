"""The consensus module: sessions, the log, timers, snapshots and elections of a cluster's node."""

from aerolog.cluster.module.clustered_driver import ClusteredMediaDriver
from aerolog.cluster.module.consensus_module import ConsensusModule
from aerolog.cluster.module.extension import (
    ConsensusModuleExtension,
    ControlState,
    ExtensionMessage,
    ModuleControl,
    ModuleSession,
)
from aerolog.cluster.module.main import main_clustered_driver, main_consensus_module

__all__ = [
    "ClusteredMediaDriver",
    "ConsensusModule",
    "ConsensusModuleExtension",
    "ControlState",
    "ExtensionMessage",
    "ModuleControl",
    "ModuleSession",
    "main_clustered_driver",
    "main_consensus_module",
]
