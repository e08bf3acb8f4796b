"""The body of POST /v1/comfyui/prompts, and its answer.

Source: the graphs are those of `POST /prompt` of ComfyUI ("Export (API)" of its pages).
"""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import BooleanField, IntegerField, ObjectField, StringField
from api.http.strict_schema import StrictSchema

MAX_PREVIEWS = 3
MAX_INPUTS = 16
STATUSES = ("queued", "in_progress", "completed", "failed", "cancelled")


class WorkflowRequest(StrictSchema):
    """A workflow that is to run. Fields that are not listed are ignored."""

    model = StringField("Name of the model.", required=True, min_length=1, max_length=256)
    prompt = ObjectField("The nodes by their ids, in ComfyUI's API format.", required=True)
    inputs = ObjectField(
        f"The images that nodes load, up to {MAX_INPUTS}: by the name in the graph the id of a file of"
        " /v1/files, or a data URL."
    )
    partial_images = IntegerField(
        "How many unfinished images come; none unless set.", minimum=0, maximum=MAX_PREVIEWS
    )
    stream = BooleanField("Whether progress and images come as events.")
    background = BooleanField("Whether the answer comes at once, to fetch the images later.")


class WorkflowImage(marshmallow.Schema):
    """An image that a workflow has made. `url` is valid as long as the answer is kept."""

    index = fields.Integer(required=True)
    url = fields.String(required=True, allow_none=True)
    content_type = fields.String(required=True)
    bytes = fields.Integer(required=True)
    width = fields.Integer(required=True)
    height = fields.Integer(required=True)
    cached = fields.Boolean(
        required=True, metadata={"description": "Whether ComfyUI had it from an equal workflow just before."}
    )


class WorkflowProgress(marshmallow.Schema):
    """Steps of the samplers."""

    done = fields.Integer(required=True)
    total = fields.Integer(required=True)


class WorkflowUsage(marshmallow.Schema):
    """What was made and computed (pixels x steps)."""

    images = fields.Integer(required=True)
    pixel_steps = fields.Integer(required=True)


class WorkflowObject(marshmallow.Schema):
    """A workflow as a job, with its images."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["comfyui.prompt"]})
    created_at = fields.Integer(required=True, metadata={"description": "Unix seconds."})
    model = fields.String(required=True)
    status = fields.String(required=True, metadata={"enum": list(STATUSES)})
    progress = fields.Nested(WorkflowProgress, required=True, allow_none=True)
    images = fields.List(fields.Nested(WorkflowImage), required=True)
    usage = fields.Nested(WorkflowUsage, required=True, allow_none=True)
    error = fields.Dict(
        required=True,
        allow_none=True,
        metadata={"description": "Of a failed one: `code` and `message`."},
    )


class WorkflowEvent(marshmallow.Schema):
    """An event of the stream: progress, an image (unfinished or finished), or the end with the whole."""

    type = fields.String(
        required=True,
        metadata={
            "enum": [
                f"comfyui.prompt.{name}"
                for name in ("created", "progress", "partial_image", "image", *STATUSES[2:])
            ]
        },
    )
    prompt = fields.Nested(WorkflowObject)
    progress = fields.Nested(WorkflowProgress)
    image = fields.Nested(WorkflowImage)


class DeletedWorkflow(marshmallow.Schema):
    """A workflow's job that is deleted with its images."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["comfyui.prompt"]})
    deleted = fields.Boolean(required=True)
