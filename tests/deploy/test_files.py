"""The files of `deploy/`: each is valid, and they agree with each other and with the settings."""

import importlib.util
import json
import re
import shutil
import subprocess
import tomllib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose

from gossamer.observe.metrics import Metrics
from gossamer.settings.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted(path.name for path in (DEPLOY / "systemd").iterdir() if path.suffix != ".sysusers")
KUBERNETES = "1.34"
OTHERS = ("keda.sh/", "kustomize.config.k8s.io/")  # not Kubernetes' own


def manifests() -> list[dict[str, Any]]:
    files = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    return [one for file in files for one in yaml.safe_load_all(file.read_text())]


def pods() -> list[dict[str, Any]]:
    return [one["spec"]["template"]["spec"] for one in manifests() if one["kind"] in ("Deployment", "Job")]


def variables(file: Path) -> dict[str, str]:
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


# Kubernetes.


@pytest.mark.parametrize(
    "manifest", manifests(), ids=lambda one: f"{one['kind']}-{one.get('metadata', one)}"[:40]
)
def test_manifests_are_valid(manifest: dict[str, Any]) -> None:
    if not manifest["apiVersion"].startswith(OTHERS):
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def test_kustomization_names_every_manifest() -> None:
    (listed,) = [one for one in manifests() if one["kind"] == "Kustomization"]
    files = {file.name for file in (DEPLOY / "kubernetes").glob("*.yaml")} - {"kustomization.yaml"}
    assert set(listed["resources"]) == files


def test_every_pod_is_without_rights_and_cannot_write_to_its_image() -> None:
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"]["type"] in ("Localhost", "RuntimeDefault")
        assert not pod["automountServiceAccountToken"]
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"]
            assert not context["allowPrivilegeEscalation"]
            assert context["capabilities"] == {"drop": ["ALL"]}


def test_a_pod_has_time_to_drain() -> None:
    given = variables(DEPLOY / "kubernetes" / "settings.env")
    settings = Settings.load({**given, **variables(DEPLOY / "kubernetes" / "secrets.env")})
    seconds = settings.lame_duck_seconds + settings.drain_seconds
    graces = [pod.get("terminationGracePeriodSeconds") for pod in pods()]
    assert [grace for grace in graces if grace is not None and grace < seconds + 5] == []


def test_workers_are_scaled_by_a_metric_that_exists() -> None:
    (scaled,) = [one for one in manifests() if one["kind"] == "ScaledObject"]
    metrics = Metrics("test")
    metrics.queue([("render", "queued", 1, 0.0)])
    shown = metrics.exposition.text()[0].decode()
    query = scaled["spec"]["triggers"][0]["metadata"]["query"]
    (name, label, value) = re.search(r'(gossamer_\w+)\{(\w+)="(\w+)"\}', query).groups()  # type: ignore[union-attr]
    assert re.search(rf'(?m)^{name}\{{[^}}]*{label}="{value}"', shown)


# Compose.


def test_compose_is_valid_and_its_settings_are_known() -> None:
    whole = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())  # resolves what it shares
    PyCompose.from_json(json.dumps(whole)).validate()
    shared = variables(DEPLOY / "compose" / "gossamer.env.example")
    for name in ("api", "worker", "migrate"):
        Settings.load({**shared, **whole["services"][name]["environment"]})
    assert whole["services"]["api"]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"


def test_secrets_are_only_in_the_file_that_is_not_committed() -> None:
    text = (DEPLOY / "compose" / "compose.yaml").read_text()
    assert "gossamer.env" in text
    assert "PASSWORD:" not in text
    assert not (DEPLOY / "compose" / "gossamer.env").exists()


# The container.


def test_the_container_runs_as_nobody_in_particular_and_has_what_browsers_need() -> None:
    text = (DEPLOY / "container" / "Containerfile").read_text()
    assert re.search(r"(?m)^USER \d+:\d+$", text)
    for part in ("bubblewrap", "chromium-headless-shell", "HEALTHCHECK", "VOLUME /data", "tini"):
        assert part in text
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert oldest == ">=3.11"  # Debian's own, from 12 on


def test_the_profile_allows_what_fences_browsers_in_and_nothing_that_nobody_needs() -> None:
    profile = json.loads((DEPLOY / "container" / "seccomp.json").read_text())
    (allowed,) = [set(rule["names"]) for rule in profile["syscalls"]]
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    fence = {
        "clone",
        "clone3",
        "unshare",
        "mount",
        "umount2",
        "pivot_root",
        "chroot",
        "sethostname",
        "seccomp",
    }
    assert allowed >= fence
    never = {"bpf", "init_module", "kexec_load", "keyctl", "add_key", "reboot", "swapon", "io_uring_setup"}
    assert not allowed & never


def test_the_profile_and_the_units_allow_the_same_calls() -> None:
    path = str(DEPLOY / "container" / "make-seccomp")
    loader = SourceFileLoader("make_seccomp", path)
    spec = importlib.util.spec_from_loader("make_seccomp", loader)
    assert spec is not None
    made = importlib.util.module_from_spec(spec)
    loader.exec_module(made)
    for name in ("gossamer.service", "gossamer-worker@.service", "gossamer-backup.service"):
        text = (DEPLOY / "systemd" / name).read_text()
        assert f"SystemCallFilter={' '.join((made.SERVICE, *made.BROWSER))}\n" in text
        assert f"SystemCallFilter=~{' '.join(made.NEVER)}\n" in text


# systemd.


def test_units_are_valid(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    assert program, "systemd-analyze is needed: scripts/install installs it on Debian and Ubuntu"
    for name in UNITS:
        text = (DEPLOY / "systemd" / name).read_text()
        (tmp_path / name).write_text(text.replace("/opt/gossamer/bin/gossamer", "/bin/true"))
    command = [program, "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.parametrize("name", [name for name in UNITS if name.endswith(".service")])
def test_units_give_up_every_right_that_browsers_can_do_without(name: str) -> None:
    text = (DEPLOY / "systemd" / name).read_text()
    for line in (
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "CapabilityBoundingSet=\n",
    ):
        assert line in text
    # With these, a browser's namespaces cannot be made.
    for setting in (
        "ProtectKernelLogs",
        "ProtectKernelTunables",
        "ProtectProc",
        "ProtectHostname",
        "PrivateUsers",
    ):
        assert f"\n{setting}=" not in text
