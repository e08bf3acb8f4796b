"""What goes wrong in a sign-in by the provider."""

from __future__ import annotations

from api.http.errors import ApiError


class ProviderUnavailable(ApiError):
    """Raised when the provider does not answer, or not as OpenID Connect demands."""

    default_code = "provider_unavailable"


class SignInRefused(ApiError):
    """Raised when the provider's answer or its token is not valid, or the person may not sign in."""

    default_code = "sign_in_refused"
