"""The bodies and objects of /v1/governance/proposals."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import described
from api.http.strict_fields import EnumField, ObjectField, StringField
from api.http.strict_schema import StrictSchema
from config.governance_schema import KEY_ID, SIGNER_NAME
from governance.proposals.proposal import OPERATIONS, ProposalStatus
from governance.proposals.signatures import MAX_SIGNATURE_CHARS

STATUSES = [str(status) for status in ProposalStatus]


class ProposalBody(StrictSchema):
    """A new proposal."""

    closed = True

    operation = EnumField("What is to be done.", OPERATIONS, required=True)
    body = ObjectField(
        "Its parameters: the body that the operation's own route takes, without `verifiedOpToken`; those of"
        " `access-change` are in the documentation.",
        required=True,
    )


class SignatureBody(StrictSchema):
    """A signature of a proposal."""

    closed = True

    signer = StringField(
        "The signer's name in the configuration.", required=True, max_length=64, pattern=SIGNER_NAME
    )
    kid = StringField("The id of the signer's key; any of them unless set.", max_length=64, pattern=KEY_ID)
    signature = StringField(
        "Ed25519 over the bytes of the proposal's `payload`, in base64.",
        required=True,
        min_length=1,
        max_length=MAX_SIGNATURE_CHARS,
    )


class ProposerPerson(marshmallow.Schema):
    """A person that made a proposal, as at that time."""

    issuer = fields.String(required=True)
    subject = fields.String(required=True, metadata=described("The person's id at the provider (`sub`)."))
    name = fields.String(required=True)
    roles = fields.List(fields.String(), required=True)
    tenant = fields.String(required=True)


class ProposerObject(marshmallow.Schema):
    """The caller that made a proposal."""

    actor = fields.String(
        required=True, metadata=described("As the audit names it: a person's address, or the tenant.")
    )
    person = fields.Nested(
        ProposerPerson,
        required=True,
        allow_none=True,
        metadata=described("Who has signed in by the provider; null for a key."),
    )
    tenant = fields.String(required=True)
    key = fields.String(
        required=True, allow_none=True, metadata=described("The id of its API key; null without a key.")
    )


class SignatureObject(marshmallow.Schema):
    """A verified signature."""

    signer = fields.String(required=True)
    kid = fields.String(required=True)
    signature = fields.String(required=True, metadata=described("Base64."))
    at = fields.Float(required=True, metadata=described("Unix time in seconds."))


class ProposalObject(marshmallow.Schema):
    """A proposal. Times are Unix seconds."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["proposal"]})
    status = fields.String(required=True, metadata={"enum": STATUSES})
    operation = fields.String(required=True, metadata={"enum": list(OPERATIONS)})
    body = fields.Dict(required=True, metadata=described("What will be done, in its canonical form."))
    plan = fields.Dict(
        required=True,
        metadata=described(
            "What it would have done when it was proposed; `covers` must still hold at the start."
        ),
    )
    body_digest = fields.String(
        required=True, metadata=described("SHA-256 of the canonical body (RFC 8785), in hex.")
    )
    plan_digest = fields.String(required=True, metadata=described("SHA-256 of what the plan covers, in hex."))
    runner_id = fields.String(required=True, metadata=described("The platform that it is for."))
    proposer = fields.Nested(ProposerObject, required=True)
    threshold = fields.Integer(required=True, metadata=described("How many signatures it needs."))
    signers = fields.List(fields.String(), required=True, metadata=described("Those who may sign it."))
    signatures = fields.List(fields.Nested(SignatureObject), required=True)
    missing = fields.Integer(required=True, metadata=described("How many signatures are missing."))
    created_at = fields.Float(required=True)
    expires_at = fields.Integer(
        required=True, metadata=described("From then on it cannot be signed or started.")
    )
    approved_at = fields.Float(required=True, allow_none=True)
    ended_at = fields.Float(required=True, allow_none=True)
    operation_id = fields.String(
        required=True,
        allow_none=True,
        metadata=described("The operation that it started; null when there was nothing to begin."),
    )
    reason = fields.String(
        required=True, allow_none=True, metadata=described("Why it is withdrawn, expired or outdated.")
    )
    payload = fields.String(required=True, metadata=described("The text whose UTF-8 bytes a signer signs."))


class ComparisonProblem(marshmallow.Schema):
    """Why no plan can be made now."""

    code = fields.String(required=True)
    message = fields.String(required=True)


class ModelNow(marshmallow.Schema):
    """A model as it runs now, in the form of a plan."""

    modelId = fields.String(required=True)  # noqa: N815 - the plan's key
    state = fields.String(required=True)
    replicas = fields.Integer(required=True, metadata=described("Replicas that hold memory."))
    runningRequests = fields.Integer(required=True)  # noqa: N815
    waitingRequests = fields.Integer(required=True)  # noqa: N815
    definition = fields.Dict(
        required=True, metadata=described("The definition in force, with its options; secrets are left out.")
    )
    override = fields.Dict(required=True, metadata=described("The options that its load has set."))
    definitionDigest = fields.String(required=True)  # noqa: N815


class ProposalComparison(marshmallow.Schema):
    """A proposal that waits, beside what runs now."""

    object = fields.String(required=True, metadata={"enum": ["proposal_comparison"]})
    id = fields.String(required=True)
    holds = fields.Boolean(required=True, metadata=described("Whether what its signatures cover holds now."))
    changes = fields.List(
        fields.String(), required=True, metadata=described("What does not hold any more, one phrase each.")
    )
    problem = fields.Nested(
        ComparisonProblem,
        required=True,
        allow_none=True,
        metadata=described("Why no plan can be made now; null if one can."),
    )
    plan = fields.Dict(
        required=True, allow_none=True, metadata=described("The plan as it would be made now.")
    )
    models = fields.List(
        fields.Nested(ModelNow),
        required=True,
        metadata=described("The model of the plan and the one that it evicts, as they run now."),
    )


class ProposalList(marshmallow.Schema):
    """A page of proposals, the latest first."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(ProposalObject), required=True)
    next_cursor = fields.String(
        required=True,
        allow_none=True,
        metadata=described(
            "The next page's `cursor`. Null: there is none. A page may be empty and not the last."
        ),
    )
    waiting = fields.Integer(
        required=True,
        metadata=described("How many proposals wait for signatures or their start, whatever the page has."),
    )
