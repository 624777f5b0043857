"""Limits the browser's view of the file system with bubblewrap: programs, libraries, fonts, its own folder.

It sees no home, no settings, no data, no other process, and no address of a name server.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

# Paths that a browser reads; missing ones are left out.
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
    """The command inside bubblewrap. It dies with its parent, and everything inside dies with it."""
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
        "/tmp",  # noqa: S108  (inside the sandbox)
        *_binds([*map(Path, _READ), *_font_settings(), _folder_of(binary)]),
        *_links(),
        "--bind",
        str(profile),
        str(profile),
        "--chdir",
        str(profile),
        "--",
        *command,
    ]


def _font_settings() -> list[Path]:
    """The paths of fontconfig's settings in our environment, which the browser's environment has too."""
    named = (os.environ.get(name, "") for name in ("FONTCONFIG_FILE", "FONTCONFIG_PATH"))
    return [Path(path) for path in named if path.startswith("/")]


def _folder_of(binary: Path) -> Path:
    """The folder with its libraries and data; /usr for a program in a shared folder."""
    folder = binary.resolve().parent
    return folder if folder not in (Path("/"), Path("/bin"), Path("/usr/bin")) else Path("/usr")


def _binds(paths: Sequence[Path]) -> list[str]:
    return [part for path in dict.fromkeys(paths) for part in ("--ro-bind-try", str(path), str(path))]


def _links() -> list[str]:
    arguments: list[str] = []
    for link in map(Path, _LINKS):
        if link.is_symlink():
            arguments += ("--symlink", str(link.readlink()), str(link))
        elif link.is_dir():
            arguments += ("--ro-bind", str(link), str(link))
    return arguments
