"""POST /v1/images/generations and /v1/images/edits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask import Response

from api.files.form import FormRules
from api.files.job_folders import UPLOAD
from api.files.upload_sink import read_form
from api.http.error_codes import IMAGES
from api.http.errors import InvalidRequest
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.http.stoker_flask import current_request
from api.inference.generation_headers import GENERATION_HEADERS
from api.inference.images.dialect import EDITS, GENERATIONS
from api.inference.images.schema import MAX_IMAGES, ImageEditForm, ImageEvent, ImageRequest, ImagesObject
from api.inference.images.upload_size import HEAD_BYTES, PixelBudget
from api.inference.media.folder_answer import answer_form, answer_with_folder
from api.inference.media.form_body import form_body
from api.services import current_services
from config.settings import FileSettings, Settings

routes = RouteGroup("images", __name__)


def edit_rules(settings: FileSettings) -> FormRules:
    """The rules of a form with images."""
    most = {"image": MAX_IMAGES, "image[]": MAX_IMAGES, "mask": 1}
    return FormRules(most, settings.max_media_bytes, "files.max_media_bytes", hashed=True)


UPLOADS: Mapping[bytes, Callable[[FileSettings], FormRules]] = {b"/v1/images/edits": edit_rules}
"""The route whose forms go to the disk while they arrive."""


@routes.endpoint(
    "/v1/images/generations",
    "POST",
    access=Access.INFERENCE,
    body=ImageRequest,
    examples={"A small image": {"model": "painter", "prompt": "a red fox in the snow", "size": "256x256"}},
    responses={200: ImagesObject},
    streams=True,
    events=ImageEvent,
    headers=GENERATION_HEADERS,
    errors=IMAGES,
)
def create_image(body: dict[str, Any]) -> Response:
    """Make images from a text

    The request waits in the model's queue. For the limits of the tenant 100,000 computed pixels (width x
    height x steps) count as a token.
    """
    body = {**body, "base": current_request().host_url}
    return answer_with_folder(GENERATIONS, {}, body, GENERATIONS.whole_answer, GENERATIONS.make_reader)


@routes.endpoint(
    "/v1/images/edits",
    "POST",
    access=Access.INFERENCE,
    form=ImageEditForm,
    examples={"A change": {"model": "painter", "prompt": "the same fox at night"}},
    responses={200: ImagesObject},
    streams=True,
    events=ImageEvent,
    headers=GENERATION_HEADERS,
    errors=(*IMAGES, "unsupported_media_type", "too_many_uploads"),
)
def edit_image() -> Response:
    """Change images by a text

    A form with up to 16 images, and a mask if only a part is to change.
    """
    services = current_services()
    with read_form(services, edit_rules(services[Settings].files)) as form:
        body = form_body(form, ImageRequest)
        names = [(file.param, f"{UPLOAD}{index}") for index, file in enumerate(form.files)]
        body["images"] = [name for param, name in names if param != "mask"]
        body["mask"] = next((name for param, name in names if param == "mask"), None)
        if len(body["images"]) > MAX_IMAGES:
            raise InvalidRequest(f"image may have at most {MAX_IMAGES} files", param="image")
        if not body["images"]:
            raise InvalidRequest("send the image to change in the field `image`", param="image")
        pixels = PixelBudget()
        for file in form.files:
            with file.content.path.open("rb") as content:
                pixels.take(content.read(HEAD_BYTES), file.param)
        body["base"] = current_request().host_url
        return answer_form(EDITS, form, body, EDITS.whole_answer, EDITS.make_reader)
