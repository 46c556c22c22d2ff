"""What threads are doing can be asked, and tells no values."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.control.rest.serving import serving


def test_a_waiting_thread_is_shown_where_it_waits(tmp_path: Path) -> None:
    going_on = threading.Event()

    def wait_for_the_test(secret: str) -> None:
        assert going_on.wait(30), secret

    thread = threading.Thread(target=wait_for_the_test, args=("canary-33ab",), name="waiter", daemon=True)
    thread.start()
    try:
        with serving(tmp_path) as served:
            answer = served.request("GET", "/api/v1/threads")
    finally:
        going_on.set()
        thread.join()
    [waiter] = [item for item in answer.json() if item["name"] == "waiter"]
    assert any(call.endswith(" wait_for_the_test") for call in waiter["calls"])
    assert "threading" in waiter["calls"][0]
    assert waiter["is_daemon"] is True
    assert "canary-33ab" not in answer.text
