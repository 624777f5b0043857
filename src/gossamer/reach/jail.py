"""What the browser sees of the file system, by bubblewrap: programs, libraries, fonts, and its own folder.

No home, no settings, no data, no other process, and no name server's address.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

# What a browser reads of a system; what is not there is left out.
_READ: Final = (
    "/usr",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/pki",
    "/etc/ssl",
    "/var/cache/fontconfig",
)
_LINKS: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # into /usr, on today's systems


def find() -> Path | None:
    found = shutil.which("bwrap")
    return Path(found) if found else None


def around(command: Sequence[str], bubblewrap: Path, binary: Path, profile: Path) -> list[str]:
    """The command, jailed. It dies with whoever started it, and takes everything inside along."""
    return [
        str(bubblewrap),
        "--die-with-parent",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--hostname",
        "browser",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",  # noqa: S108  (inside, and its own)
        *_binds([*map(Path, _READ), _folder_of(binary)]),
        *_linked(),
        "--bind",
        str(profile),
        str(profile),
        "--chdir",
        str(profile),
        "--",
        *command,
    ]


def _folder_of(binary: Path) -> Path:
    """Where its libraries and data lie; nothing, where everybody's programs do."""
    folder = binary.resolve().parent
    return folder if folder not in (Path("/"), Path("/bin"), Path("/usr/bin")) else Path("/usr")


def _binds(paths: Sequence[Path]) -> list[str]:
    return [part for path in dict.fromkeys(paths) for part in ("--ro-bind-try", str(path), str(path))]


def _linked() -> list[str]:
    arguments: list[str] = []
    for link in map(Path, _LINKS):
        if link.is_symlink():
            arguments += ("--symlink", str(link.readlink()), str(link))
        elif link.is_dir():
            arguments += ("--ro-bind", str(link), str(link))
    return arguments
