"""The bodies of POST /v1/rerank (Jina AI, "Reranker API"; Cohere API reference, "Rerank")."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import BooleanField, IntegerField, ListField, NestedField, StringField, UnionField
from api.http.strict_schema import StrictSchema
from api.inference.dialects.request_fields import ALLOW_REMOTE
from api.inference.llama_server.model_name import model_field

MAX_DOCUMENTS = 2048


class RerankDocument(StrictSchema):
    """A document."""

    text = StringField("Its text.", required=True, min_length=1)


class RerankRequest(StrictSchema):
    """Documents to score. Fields that are not listed are accepted and ignored."""

    model = model_field()
    query = StringField("What the documents are compared with.", required=True, min_length=1)
    documents = ListField(
        f"Up to {MAX_DOCUMENTS} documents.",
        UnionField(
            "A document.",
            StringField("Its text.", min_length=1),
            NestedField("A document as an object.", RerankDocument),
            required=True,
        ),
        required=True,
        min_items=1,
        max_items=MAX_DOCUMENTS,
    )
    top_n = IntegerField(
        "How many results the answer has, the best ones; all unless set.",
        minimum=1,
        maximum=2**31 - 1,
    )
    return_documents = BooleanField("Whether each result has the text of its document.")
    allow_remote = BooleanField(ALLOW_REMOTE)


class RerankObject(marshmallow.Schema):
    """The scores, the highest first."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["list"]})
    model = fields.String(required=True)
    results = fields.List(
        fields.Dict(),
        required=True,
        metadata={"description": "Of a document each: `index`, `relevance_score`, and `document` if asked."},
    )
    usage = fields.Dict(required=True, metadata={"description": "`prompt_tokens` and `total_tokens`."})
