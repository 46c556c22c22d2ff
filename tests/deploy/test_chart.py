"""What Helm makes of the chart."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from heliograph.config.mirror_config import load
from tests.deploy import image
from tests.deploy.expressions import rules
from tests.embedded.certificates import Authority

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "heliograph"
ALL = [
    "--set", "rest.tls.secretName=mirror-tls", "--set", "serviceMonitor.enabled=true",
    "--set", "serviceMonitor.tokenSecret.name=viewer", "--set", "prometheusRule.enabled=true",
    "--set", "grafanaDashboard.enabled=true", "--set", "networkPolicy.enabled=true",
    "--set", "networkPolicy.from[0].podSelector.matchLabels.app=prometheus",
    "--set", "podDisruptionBudget.enabled=true", "--set", "sparkOnKubernetes.rbac=true",
    "--set", "secretEnvironment={logins}", "--set", "secretFiles={stores}",
]  # fmt: skip

pytestmark = pytest.mark.skipif(shutil.which("helm") is None, reason="needs the program helm")


def helm(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of Helm's, for a Kubernetes that we name: Helm's own idea of one depends on how it was built."""
    return subprocess.run(
        ["helm", command, "--kube-version", "1.30.0", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def rendered(*arguments: str) -> dict[str, dict[str, Any]]:
    """Everything that would be installed, by kind and name."""
    done = helm("template", "mirror", str(CHART), *arguments)
    assert done.returncode == 0, done.stderr
    found = [item for item in yaml.safe_load_all(done.stdout) if item]
    return {f"{item['kind']} {item['metadata']['name']}": item for item in found}


@pytest.mark.parametrize("arguments", [[], ALL, ["--set", "existingSecret=own"]], ids=["default", "all", "own"])
def test_helm_finds_no_fault(arguments: list[str]) -> None:
    done = helm("lint", "--strict", str(CHART), *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def test_by_default_there_is_one_mirror_that_nobody_else_reaches() -> None:
    found = rendered()
    assert found.keys() == {
        "ConfigMap mirror-heliograph", "Deployment mirror-heliograph", "ServiceAccount mirror-heliograph",
    }  # fmt: skip
    spec = found["Deployment mirror-heliograph"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    pod = spec["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert str(pod["securityContext"]["runAsUser"]) == image.rest_of("USER").split(":")[0]
    assert pod["automountServiceAccountToken"] is False
    [container] = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["livenessProbe"]["exec"]["command"] == [image.HEALTHCHECK.name]
    assert container["readinessProbe"]["exec"]["command"] == [image.HEALTHCHECK.name, "readyz"]


def test_with_everything_there_is_everything() -> None:
    found = rendered(*ALL)
    kinds = sorted(name.split()[0] for name in found)
    assert kinds == [
        "ConfigMap", "ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "PrometheusRule", "Role",
        "RoleBinding", "Service", "ServiceAccount", "ServiceMonitor",
    ]  # fmt: skip
    groups = found["PrometheusRule mirror-heliograph"]["spec"]["groups"]
    assert [rule for group in groups for rule in group["rules"]] == rules()
    pod = found["Deployment mirror-heliograph"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    [port] = found["Service mirror-heliograph"]["spec"]["ports"]
    assert port["targetPort"] in {item["name"] for item in container["ports"]}


@pytest.mark.parametrize("with_tls", [False, True], ids=["loopback", "tls"])
def test_the_mirrors_file_is_right(tmp_path: Path, with_tls: bool) -> None:
    issued = Authority(tmp_path, "root").issue("server", ["mirror"]).read_text()
    key, begin, certificate = issued.partition("-----BEGIN CERTIFICATE-----")
    (tmp_path / "tls.key").write_text(key)
    (tmp_path / "tls.crt").write_text(begin + certificate)
    arguments = ["--set", "rest.tls.secretName=mirror-tls"] if with_tls else []
    text = rendered(*arguments)["ConfigMap mirror-heliograph"]["data"]["mm2.properties"]
    file = tmp_path / "mm2.properties"
    caller = f"rest.token.ops = admin:sha256:{'0' * 64}\n" if with_tls else ""
    file.write_text(text.replace("/etc/heliograph/tls", str(tmp_path)) + "\n" + caller)
    config = load(file)
    assert len(config.get("listeners")) == (2 if with_tls else 1)  # type: ignore[arg-type]


def test_a_change_of_the_file_starts_the_mirror_anew() -> None:
    def checksum(*arguments: str) -> str:
        pod = rendered(*arguments)["Deployment mirror-heliograph"]["spec"]["template"]
        return str(pod["metadata"]["annotations"]["checksum/properties"])

    assert checksum() == checksum()
    assert checksum() != checksum("--set-string", "properties=clusters = x")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--set", "serviceMonitor.enabled=true"], "takes rest.tls.secretName"),
        (["--set", "serviceMonitor.enabled=true", "--set", "rest.tls.secretName=x"], "takes tokenSecret.name"),
        (["--set", "replicas=2"], "replicas"),
    ],
)
def test_what_cannot_work_is_refused(arguments: list[str], complaint: str) -> None:
    done = helm("template", "mirror", str(CHART), *arguments)
    assert done.returncode != 0
    assert complaint in done.stderr
