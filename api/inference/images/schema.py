"""The bodies of POST /v1/images/generations and /v1/images/edits, and their answers.

Source: OpenAI API reference, "Images".
"""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import BooleanField, EnumField, FileField, IntegerField, StringField
from api.http.strict_schema import StrictSchema

MAX_PROMPT_CHARS = 32_000
MAX_COUNT = 10
MAX_PREVIEWS = 3
MAX_IMAGES = 16
FORMATS = ("png", "jpeg", "webp")
SIZE = r"auto|[1-9][0-9]{1,4}x[1-9][0-9]{1,4}"


class ImageRequest(StrictSchema):
    """An image that is asked for. Fields that are not listed are ignored."""

    model = StringField("Name of the model.", required=True, min_length=1, max_length=256, example="painter")
    prompt = StringField(
        "What the image shows.",
        required=True,
        min_length=1,
        max_length=MAX_PROMPT_CHARS,
        example="a red fox at night",
    )
    negative_prompt = StringField("What it does not show.", max_length=MAX_PROMPT_CHARS)
    n = IntegerField("How many images; 1 unless set.", minimum=1, maximum=MAX_COUNT)
    size = StringField(
        "Width and height in pixels, such as 1024x1024, of the sizes that the model has; its first one unless"
        " set, or with `auto`.",
        pattern=SIZE,
    )
    quality = StringField(
        "The name of a number of steps that the model has; its own number unless set, or with `auto`.",
        max_length=64,
    )
    response_format = EnumField(
        "Whether the answer has the image, or a URL of it; `b64_json` unless set.", ("b64_json", "url")
    )
    output_format = EnumField("The format of the image; `png` unless set.", FORMATS)
    output_compression = IntegerField(
        "The quality of `jpeg` and `webp` in percent; 90 unless set.", minimum=0, maximum=100
    )
    background = EnumField("Only `opaque`, or `auto`, which is the same.", ("opaque", "auto"))
    stream = BooleanField("Whether unfinished images come as events before the finished one.")
    partial_images = IntegerField(
        "How many unfinished images come, with `stream`; none unless set.", minimum=0, maximum=MAX_PREVIEWS
    )
    seed = IntegerField(
        "The same seed makes the same image; a random one unless set.", minimum=0, maximum=2**53 - 1
    )
    steps = IntegerField("How many steps the model makes, in place of `quality`.", minimum=1, maximum=1000)


class ImageEditForm(ImageRequest):
    """The form of a change of images."""

    image = FileField(f"An image to change; up to {MAX_IMAGES} as `image[]`.", required=True)
    mask = FileField("A PNG whose transparent places are to change.")


class ImageObject(marshmallow.Schema):
    """An image: its bytes as base64, or its URL."""

    b64_json = fields.String()
    url = fields.String()


class ImagesObject(marshmallow.Schema):
    """The images of a request."""

    created = fields.Integer(required=True)
    data = fields.List(fields.Nested(ImageObject), required=True)
    background = fields.String()
    output_format = fields.String(metadata={"enum": list(FORMATS)})
    quality = fields.String()
    size = fields.String()
    usage = fields.Dict(metadata={"description": "Zero tokens: the usage of a tenant has pixels."})


class ImageEvent(marshmallow.Schema):
    """An event of the stream: an unfinished image, or the finished one."""

    type = fields.String(
        required=True,
        metadata={
            "enum": [
                f"{kind}.{event}"
                for kind in ("image_generation", "image_edit")
                for event in ("partial_image", "completed")
            ]
        },
    )
    b64_json = fields.String(required=True)
    partial_image_index = fields.Integer()
