"""The compose file: everything that it names exists, nothing clashes, and what it configures is accepted."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from heliograph.cli.main import main
from heliograph.config.mirror_config import load
from tests.deploy.prometheus import RULES
from tests.programs import own_program, program

FOLDER = Path(__file__).parents[2] / "deploy" / "compose"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DATA = "/var/lib/heliograph"


def mounts() -> list[tuple[str, str, str]]:
    """Service, source and place of everything that is mounted."""
    found = ((name, mount.split(":")) for name, service in SERVICES.items() for mount in service.get("volumes", ()))
    return [(name, parts[0], parts[1]) for name, parts in found]


def place_of(service: str, source: Path) -> str:
    """Where a file of the clone is seen inside a service."""
    [place] = [place for name, mounted, place in mounts() if name == service and (FOLDER / mounted).resolve() == source]
    return place


def test_every_file_that_is_mounted_exists_and_every_volume_is_declared() -> None:
    for _, source, _ in mounts():
        if source.startswith("."):
            assert (FOLDER / source).is_file(), source
        else:
            assert source in COMPOSE["volumes"]
    assert {source for _, source, _ in mounts() if not source.startswith(".")} == COMPOSE["volumes"].keys()


def test_ports_do_not_clash_and_are_for_this_machine_only() -> None:
    ports = [port.rsplit(":", 2) for service in SERVICES.values() for port in service.get("ports", ())]
    assert {address for address, _, _ in ports} == {"127.0.0.1"}
    outside = [port for _, port, _ in ports]
    assert len(outside) == len(set(outside))


def test_services_wait_for_services_that_can_be_waited_for() -> None:
    for service in SERVICES.values():
        for name, wish in service.get("depends_on", {}).items():
            if wish["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[name] or SERVICES[name]["image"] == "heliograph"
            else:
                assert wish["condition"] == "service_completed_successfully"
                assert "restart" not in SERVICES[name]


def test_every_host_that_is_named_is_a_service() -> None:
    text = "\n".join(
        (FOLDER / name).read_text() for name in ("mm2.properties", "prometheus.yml", "grafana/datasource.yaml")
    )
    text += "\n".join(SERVICES[name]["environment"]["KAFKA_ADVERTISED_LISTENERS"] for name in ("primary", "backup"))
    hosts = set(re.findall(r"(?:= |//|\[\")([a-z]+):\d+", text))
    assert hosts == {"primary", "backup", "heliograph", "prometheus", "localhost"}
    assert hosts - {"localhost"} <= SERVICES.keys()


@pytest.mark.parametrize("name", ["primary", "backup"])
def test_a_cluster_advertises_the_port_that_is_published(name: str) -> None:
    environment, [published] = SERVICES[name]["environment"], SERVICES[name]["ports"]
    _, outside, inside = published.rsplit(":", 2)
    assert f"OUTSIDE://localhost:{outside}" in environment["KAFKA_ADVERTISED_LISTENERS"]
    assert f"OUTSIDE://:{inside}" in environment["KAFKA_LISTENERS"]


def test_the_clusters_are_two_and_of_the_release_that_tests_run_on() -> None:
    ids = [SERVICES[name]["environment"]["CLUSTER_ID"] for name in ("primary", "backup")]
    assert len(set(ids)) == 2
    assert all(len(cluster_id) == 22 for cluster_id in ids)
    lock = FOLDER.parents[1] / "src" / "heliograph" / "embedded" / "jars.lock"
    release = re.search(r"^org\.apache\.kafka:kafka_2\.13:(\S+)", lock.read_text(), re.MULTILINE)
    assert release is not None
    assert SERVICES["primary"]["image"] == SERVICES["backup"]["image"] == f"apache/kafka:{release[1]}"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder as `setup` leaves it."""
    folder = tmp_path_factory.mktemp("setup")
    programs = own_program(tmp_path_factory.mktemp("programs") / "bin").parent
    program("openssl", "openssl")
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    for _ in range(2):  # the second time must change nothing
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        subprocess.run([FOLDER / "setup", folder], env=environment, check=True, timeout=60)
        after = {file.name: file.read_bytes() for file in folder.iterdir()}
        assert before in ({}, after)
    return folder


def test_setup_leaves_what_others_need_and_hides_what_they_need_not(data: Path) -> None:
    modes = {file.name: file.stat().st_mode & 0o777 for file in data.iterdir()}
    assert modes == {
        "server.pem": 0o600, "server.crt": 0o644, "callers.properties": 0o600,
        "prometheus.token": 0o644, "ops.token": 0o600,
    }  # fmt: skip
    assert b"PRIVATE KEY" not in (data / "server.crt").read_bytes()


def test_the_mirrors_file_is_right(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text((FOLDER / "mm2.properties").read_text().replace(DATA, str(data)))
    with pytest.raises(SystemExit) as ended:
        main(["config", "check", str(file)])
    assert not ended.value.code, capsys.readouterr()
    told = capsys.readouterr().out
    assert "flow primary->backup" in told
    assert "0 warnings" in told
    assert [flow.name for flow in load(file).flows if flow.enabled] == ["primary->backup"]


def test_prometheus_is_let_in_as_a_viewer_and_only_it_knows_its_token(data: Path, tmp_path: Path) -> None:
    from heliograph.config.rest_check import rest_access

    file = tmp_path / "mm2.properties"
    file.write_text((FOLDER / "mm2.properties").read_text().replace(DATA, str(data)))
    lines = dict(line.split("=", 1) for line in (data / "callers.properties").read_text().splitlines())
    token = (data / "prometheus.token").read_text()
    assert lines["prometheus"].startswith("viewer:sha256:")
    assert lines["ops"].startswith("admin:sha256:")
    assert token not in (data / "callers.properties").read_text()
    assert rest_access(load(file)).knows_callers


def test_prometheus_takes_its_configuration(data: Path, tmp_path: Path) -> None:
    text = (FOLDER / "prometheus.yml").read_text()
    rules = place_of("prometheus", RULES)
    assert rules in yaml.safe_load(text)["rule_files"]
    file = tmp_path / "prometheus.yml"
    file.write_text(text.replace(rules, str(RULES)).replace(DATA, str(data)))
    command = [program("promtool", "prometheus"), "check", "config", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_grafana_finds_its_dashboard_and_its_data() -> None:
    dashboard = FOLDER.parent / "grafana" / "heliograph-dashboard.json"
    place = place_of("grafana", dashboard.resolve())
    assert SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] == place
    [provider] = yaml.safe_load((FOLDER / "grafana" / "dashboards.yaml").read_text())["providers"]
    assert provider["options"]["path"] == str(Path(place).parent)
    [source] = yaml.safe_load((FOLDER / "grafana" / "datasource.yaml").read_text())["datasources"]
    assert source["type"] == "prometheus"
