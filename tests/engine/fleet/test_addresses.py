"""Without TLS only loopback, or what the user allows, is spoken to; with it certificates are needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.engine.fleet.addresses import Access
from pyopbench.model.errors import BadInput

FILES = {"ca_file": Path("ca.pem"), "certificate": Path("cert.pem")}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ca.pem", "cert.pem", "key.pem"):
        Path(name).touch()


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://localhost:8786", "tcp://[::1]:8786", "tcp://127.3.2.1:1/"]
)
def test_this_machine_is_spoken_to_without_tls(address: str) -> None:
    Access(address).check()
    assert Access(address).security() is None


@pytest.mark.parametrize(
    "address",
    [
        "tcp://10.0.0.1:8786",
        "tcp://example.org:8786",
        "tcp://localhost.example.org:8786",
        "tcp://0.0.0.0:8786",
        "tcp://127.0.0.1.example.org:8786",
        "tcp://[::ffff:10.0.0.1]:8786",
        "tcp://2130706433:8786",
    ],
)
def test_others_are_refused_without_tls_and_may_be_allowed_by_name(address: str) -> None:
    with pytest.raises(BadInput) as raised:
        Access(address).check()
    assert raised.value.received == address
    host = address.removeprefix("tcp://").rpartition(":")[0].strip("[]")
    Access(address, (host,)).check()
    with pytest.raises(BadInput):
        Access(address, ("other",)).check()


def test_an_allowed_scheduler_does_not_allow_its_hosts() -> None:
    access = Access("tcp://10.0.0.1:8786", ("10.0.0.1",))
    access.check_open("tcp://10.0.0.1:9000")
    with pytest.raises(BadInput):
        access.check_open("tcp://10.0.0.2:9000")


@pytest.mark.parametrize(
    "address", ["ucx://10.0.0.1:1", "ws://127.0.0.1:1", "127.0.0.1:8786", "tcp://", "tcp://a:1/x", "inproc://1/2/3", ""]
)
def test_other_protocols_and_what_is_no_address_are_refused(address: str) -> None:
    with pytest.raises(BadInput):
        Access(address, **FILES).check()


def test_tls_needs_certificates_and_certificates_need_tls() -> None:
    with pytest.raises(BadInput):
        Access("tls://10.0.0.1:8786").check()
    with pytest.raises(BadInput):
        Access("tls://10.0.0.1:8786", ca_file=Path("ca.pem")).check()
    with pytest.raises(BadInput):
        Access("tcp://127.0.0.1:8786", **FILES).check()
    Access("tls://10.0.0.1:8786", **FILES).check()


@pytest.mark.parametrize("missing", ["ca.pem", "cert.pem", "key.pem"])
def test_certificates_that_cannot_be_read_are_named_before_anything_is_connected_to(missing: str) -> None:
    access = Access("tls://10.0.0.1:8786", key=Path("key.pem"), **FILES)
    access.check()
    Path(missing).unlink()
    with pytest.raises(BadInput) as raised:
        access.check()
    assert missing in str(raised.value.received)


def test_certificates_are_passed_to_dask() -> None:
    pytest.importorskip("distributed", reason="Dask.distributed is not installed")
    security = Access("tls://10.0.0.1:8786", **FILES).security()
    assert security.require_encryption
    told = (security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
    assert told == ("ca.pem", "cert.pem", "cert.pem")
    security = Access("tls://10.0.0.1:8786", key=Path("key.pem"), **FILES).security()
    assert security.tls_client_key == "key.pem"
