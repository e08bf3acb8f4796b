"""The response bodies of /v1/admin/hub."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import described
from fleet.adding.fit import VERDICTS


class HubModel(marshmallow.Schema):
    """A repository of a hub, as its search finds it. Null: the hub does not say it."""

    repository = fields.String(required=True, metadata=described("`owner/name`."))
    downloads = fields.Integer(required=True, allow_none=True)
    likes = fields.Integer(required=True, allow_none=True)
    updated_at = fields.Float(
        required=True, allow_none=True, metadata=described("Its last change, Unix seconds.")
    )
    gated = fields.Boolean(
        required=True, metadata=described("True if its files need a token that was given access.")
    )
    library = fields.String(
        required=True, allow_none=True, metadata=described("The library that it was made for.")
    )


class HubModelList(marshmallow.Schema):
    """Repositories, those with the most downloads first."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(HubModel), required=True)


class ModelFit(marshmallow.Schema):
    """Whether one replica of a model fits into the memory of a worker at this moment."""

    verdict = fields.String(required=True, metadata={"enum": list(VERDICTS)})
    need_mib = fields.Integer(required=True, allow_none=True)
    free_mib = fields.Integer(
        required=True, allow_none=True, metadata=described("What the best worker has free.")
    )
    total_mib = fields.Integer(required=True, allow_none=True)
    evicts = fields.List(
        fields.String(),
        required=True,
        metadata=described("The models that would be unloaded for it: those that requests load."),
    )
    reason = fields.String(required=True, metadata=described("One sentence with the numbers."))


class ModelFile(marshmallow.Schema):
    """A file of a model."""

    name = fields.String(required=True)
    bytes = fields.Integer(required=True)


class HubChoiceObject(marshmallow.Schema):
    """A model among the files of a repository."""

    label = fields.String(required=True, metadata=described("Its quantization, or the name of its file."))
    source = fields.String(required=True, metadata=described("What adds this model, at this commit."))
    files = fields.List(
        fields.Nested(ModelFile),
        required=True,
        metadata=described("All parts, and the projector or draft that is used with it."),
    )
    bytes = fields.Integer(required=True)
    fit = fields.Nested(ModelFit, required=True)


class HubFiles(marshmallow.Schema):
    """The models of a repository at one commit, the smallest first."""

    repository = fields.String(required=True)
    revision = fields.String(required=True, metadata=described("The commit."))
    choices = fields.List(fields.Nested(HubChoiceObject), required=True)
