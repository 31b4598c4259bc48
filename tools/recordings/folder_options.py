"""Options of commands that change the folder of an archive that has stopped."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.tools.command_line.options import DryRunOption, JsonOption, YesOption
from aerolog.tools.retention.options import DEFAULT_FOLDER, FolderOption
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from aerolog.tools.terminal.command_terminal import ChangeTerminal


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class FolderChangeOptions:
    """Which folder a command changes, and how it goes about it."""

    archive_dir: FolderOption = DEFAULT_FOLDER
    yes: YesOption = False
    dry_run: DryRunOption = False
    as_json: JsonOption = False

    def folder(self) -> str:
        """Give the archive's folder.

        Raises:
            AerologError: there is none.
        """
        from aerolog.tools.connection.archive_folder import check_folder

        check_folder(self.archive_dir)
        return self.archive_dir

    def terminal(self) -> "ChangeTerminal":
        """Give the terminal of the run."""
        from aerolog.tools.terminal.command_terminal import ChangeTerminal

        return ChangeTerminal(as_json=self.as_json, dry_run=self.dry_run, yes=self.yes)
