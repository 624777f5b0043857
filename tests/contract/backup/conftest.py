"""What the tests of backups may ask for."""

from tests.contract.backup.backup_ground import open_installation, place

__all__ = ["open_installation", "place"]
