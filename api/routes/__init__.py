"""The routes: one file per endpoint family, each a few lines between HTTP and the rooms below."""

from __future__ import annotations

from api.openapi import Api
from api.routes import admin, chat, health, models, responses
from api.routes import model_events as feed


def register(api: Api) -> None:
    """Put all families into the app and its document."""
    for family in (responses, chat, models, health, admin, feed):
        api.register_blueprint(family.routes)
