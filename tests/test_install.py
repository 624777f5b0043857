"""scripts/install: what the system lacks is installed, tried again at the next start, and not in silence."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("sh", "cat", "cksum", "dirname", "grep", "sleep", "uname", "touch", "chmod")
# An apt-get that brings programs by the names of packages; while `locked` is there, it says so and fails.
APT = """#!/bin/sh
echo "$*" >>"$BOX/asked"
for package; do :; done
[ "$package" != update ] || exit 0
if [ -e "$BOX/locked" ]; then
    echo "Reading package lists..."
    echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt)" >&2
    exit 100
fi
touch "$BOX/has-$package"
case $package in bubblewrap) package=bwrap ;; esac
touch "$BOX/bin/$package" && chmod +x "$BOX/bin/$package"
"""
WANTED = [
    "chromium-headless-shell",
    "bubblewrap",
    "fonts-noto-core",
    "fonts-noto-cjk",
    "fonts-noto-color-emoji",
]


class Box:
    """A tree whose Python packages are installed, on a system that has nothing but a few tools."""

    def __init__(self, folder: Path, user: int) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or pytest.fail(tool))
        self.program("id", f"#!/bin/sh\necho {user}\n")
        self.program("apt-get", APT)
        self.program("dpkg", '#!/bin/sh\n[ -e "$BOX/has-$2" ]\n')
        for name in ("pyproject.toml", "scripts/install"):
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        shutil.copytree(ROOT / "requirements", folder / "requirements")
        self.program(".venv/bin/python", "#!/bin/sh\n", at=folder)
        parts = (
            f"{{ printf '%s\\n' {folder}; cat pyproject.toml requirements/*.txt scripts/install; }} | cksum"
        )
        stamp = subprocess.run(["sh", "-c", parts], cwd=folder, capture_output=True, text=True, check=True)
        (folder / ".venv" / "installed").write_text(f"run {stamp.stdout.strip()}")

    def program(self, name: str, text: str, at: Path | None = None) -> None:
        path = (at or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def start(self) -> str:
        """What it says."""
        done = subprocess.run(
            [str(self.folder / "scripts" / "install"), "run"],
            env={"PATH": str(self.bin), "BOX": str(self.folder)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert done.stdout == ""
        return done.stderr

    def asked(self) -> list[str]:
        """Of apt since this was last called."""
        record = self.folder / "asked"
        lines = record.read_text().splitlines() if record.exists() else []
        record.unlink(missing_ok=True)
        return lines


def installs(lines: list[str]) -> list[str]:
    return [line.rpartition(" ")[2] for line in lines if " install " in line]


def test_what_is_missing_is_tried_again_at_the_next_start_with_apts_own_reason(tmp_path: Path) -> None:
    box = Box(tmp_path, user=0)
    (tmp_path / "locked").touch()
    said = box.start()
    assert "chromium-headless-shell could not be installed; apt says: E: Could not get lock" in said
    assert "bubblewrap could not be installed" in said
    assert "Reading package lists" not in said
    asked = box.asked()
    assert all("-o DPkg::Lock::Timeout=300 " in line for line in asked)
    assert len([line for line in asked if line.endswith(" update")]) == 1

    (tmp_path / "locked").unlink()
    said = box.start()
    assert installs(box.asked()) == WANTED
    assert "could not" not in said
    assert (box.start(), box.asked()) == ("", [])  # at once, and in silence


def test_where_nothing_can_be_installed_starts_are_quick_and_silent(tmp_path: Path) -> None:
    box = Box(tmp_path, user=1000)
    assert (box.start(), box.asked()) == ("", [])


def test_what_is_there_is_not_asked_for(tmp_path: Path) -> None:
    box = Box(tmp_path, user=0)
    box.program("bwrap", "#!/bin/sh\n")
    box.program("chromium", "#!/bin/sh\n")
    box.program("fc-list", "#!/bin/sh\ncase $1 in *65e5) ;; *) echo /a/font.ttf ;; esac\n")
    box.program("apt-get", APT + 'printf "#!/bin/sh\\necho /a/font.ttf\\n" >"$BOX/bin/fc-list"\n')
    box.start()
    assert installs(box.asked()) == ["fonts-noto-cjk"]
