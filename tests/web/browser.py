"""A real browser, and a watch over what must never happen in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Route, sync_playwright

from tests.programs import program

OUTPUT = Path(__file__).parent.parent / "output" / "web"
PATIENCE_MS = 20_000
_WIDE, _HIGH = 1280, 900


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    path = program("chromium-headless-shell", "chromium-headless-shell")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watch:
    """What a page complained of, and where it called."""

    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    excused: list[str] = field(default_factory=list)  # parts of complaints that a test brings about itself

    def excuse(self, *parts: str) -> None:
        """Complaints with these words are meant."""
        self.excused.extend(parts)

    def follow(self, page: Page) -> None:
        """Note what a page does from now on."""
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        page.on("request", self._called)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _called(self, request: Request) -> None:
        self.hosts.add(urlsplit(request.url).netloc)

    def expect_calm(self, host: str) -> None:
        """No errors, nothing that the content security policy had to stop, no call to any other host."""
        left = [text for text in self.complaints if not any(part in text for part in self.excused)]
        assert not left
        assert self.hosts <= {host}


@dataclass
class Visit:
    """One page of a browser on the server."""

    page: Page
    watch: Watch
    root: str

    def open(self, path: str = "#/") -> None:
        """Go to an address within the page, and wait until it shows something."""
        self.page.goto(f"{self.root}/ui/{path}")
        self.page.locator("main h1").first.wait_for(timeout=PATIENCE_MS)

    def busy_ms(self, *scripts: str) -> list[float]:
        """How long the page's own thread works on each script, in milliseconds: other load does not count."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def used() -> float:
            metrics = session.send("Performance.getMetrics")["metrics"]
            return 1000 * next(float(metric["value"]) for metric in metrics if metric["name"] == "ThreadTime")

        found = []
        for script in scripts:
            before = used()
            self.page.evaluate(script)
            found.append(used() - before)
        session.detach()
        return found

    def shoot(self, name: str) -> None:
        """Keep a picture of the whole page, for people to look at."""
        OUTPUT.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(OUTPUT / f"{name}.png"), full_page=True)


@contextmanager
def visiting(
    browser: Browser, root: str, token: str = "", scheme: str = "light", width: int = _WIDE
) -> Iterator[Visit]:
    """A fresh page, signed in if there is a token; at the end nothing may have gone wrong in it."""
    context = browser.new_context(viewport={"width": width, "height": _HIGH}, color_scheme=scheme)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    if token:
        context.add_init_script(f"sessionStorage.setItem('heliograph.authorization', 'Bearer {token}')")
    watch = Watch()
    page = context.new_page()
    watch.follow(page)
    try:
        yield Visit(page, watch, root)
        watch.expect_calm(urlsplit(root).netloc)
    finally:
        context.close()


def answer_with(page: Page, pattern: str, body: str, status: int = 200) -> None:
    """Let the page see an answer that a server with other data would give."""

    def fulfil(route: Route) -> None:
        route.fulfill(status=status, content_type="application/json", body=body)

    page.route(pattern, fulfil)
