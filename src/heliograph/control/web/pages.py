"""The routes of the web page: it is public, what it shows it asks the API for."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from heliograph.control.rest.errors import RestError
from heliograph.control.rest.roles import Role, needs
from heliograph.control.web.assets import Asset, assets

_CACHING = "no-cache"  # kept by the browser, but never used without asking whether it is still right

router = APIRouter(prefix="/ui", include_in_schema=False, dependencies=[needs(Role.PUBLIC)])


@router.get("")
async def without_slash() -> RedirectResponse:
    """To the page, whose own addresses are relative; relative itself, so that it holds behind a proxy's prefix too."""
    return RedirectResponse("ui/")


@router.get("/")
async def page(request: Request) -> Response:
    """The page itself."""
    return _answer(request, assets()["index.html"])


@router.get("/static/{path:path}")
async def static_file(request: Request, path: str) -> Response:
    """A script, a style sheet or a picture of the page."""
    asset = assets().get(path)
    if asset is None:
        raise RestError(404, f"the page has no file {path}")
    return _answer(request, asset)


def _answer(request: Request, asset: Asset) -> Response:
    headers = {"ETag": asset.etag, "Cache-Control": _CACHING}
    if _is_known(request.headers.get("if-none-match", ""), asset.etag):
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)


def _is_known(tags: str, etag: str) -> bool:
    """Whether the browser has this very content; a proxy that compresses may have made the tag a weak one."""
    return any(tag.strip().removeprefix("W/") in (etag, "*") for tag in tags.split(","))
