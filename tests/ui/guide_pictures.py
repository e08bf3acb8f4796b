"""The pictures of the guides of docs/guides: one screen for each step that has something to see."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from governance.op_tokens.signer_keys import create_signer_key, read_signer_key
from tests.support.platform import Platform, running_platform
from tests.support.signers import KeyHolder
from tests.support.waiting import scaled

Take = Callable[[Any, str], None]
"""Writes a picture of a page, by its name."""

SIGNERS = ("alice", "bob", "carol")
TWO = {"mode": "signed", "threshold": 2}


def show(page: Any, address: str, expected: str) -> None:
    page.goto(address)
    page.locator(expected).first.wait_for()


def operators(page: Any, url: str, take: Take) -> None:
    """The pages of an operator's day, on a platform at work."""
    show(page, f"{url}/ui/admin/workers", "tbody[data-row=cpu0]")
    take(page, "guide-workers")
    show(page, f"{url}/ui/admin/alerts", "tbody")
    take(page, "guide-alerts")
    show(page, f"{url}/ui/admin/requests?status=completed", "tbody th button")
    page.locator("tbody th button").first.click()
    page.get_by_role("dialog").locator("[data-phase=answer]").wait_for()
    take(page, "guide-requests")
    page.keyboard.press("Escape")
    show(page, f"{url}/ui/admin/model?name=translator", "#log")
    page.get_by_role("link", name="What the engine printed").click()
    page.locator("#log").scroll_into_view_if_needed()
    take(page, "guide-log")


def administrators(page: Any, url: str, take: Take) -> None:
    """Tenants, a new one, and their usage."""
    show(page, f"{url}/ui/admin/tenants", "tbody[data-row=research]")
    take(page, "guide-tenants")
    page.get_by_role("button", name="Add a tenant").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("translations")
    dialog.get_by_label("Limit of requests").fill("60req/min")
    take(page, "guide-new-tenant")
    page.keyboard.press("Escape")
    page.get_by_role("img", name="Output tokens by day").first.scroll_into_view_if_needed()
    take(page, "guide-usage")


def tenants(page: Any, url: str, take: Take) -> None:
    """A tenant's own account, and the API page, of a session of the tenant's key."""
    show(page, f"{url}/ui/account", "[role=img]")
    take(page, "guide-account")
    show(page, f"{url}/docs", "#caller:has-text('Signed in')")
    page.locator(".opblock-tag").first.wait_for(timeout=scaled(60_000))  # all operations have been read
    page.fill("#search", "/v1/responses")
    page.locator(".opblock:visible").first.wait_for(timeout=scaled(60_000))
    take(page, "guide-api")


@contextmanager
def governed_platform() -> Iterator[Platform]:
    """A platform whose loads need two of three signatures; one proposal waits with the first of them."""
    with tempfile.TemporaryDirectory(prefix="stoker-governed-") as folder:
        holders = []
        for name in SIGNERS:
            file = Path(folder) / f"{name}.pem"
            create_signer_key(file)
            holders.append(KeyHolder(name, "k1", read_signer_key(file)))
        signers = {
            holder.name: {"public_keys": [{"id": "k1", "key": holder.configured().public_keys[0].key}]}
            for holder in holders
        }
        operations = ("model-load", "model-unload", "cache-flush", "access-change")
        governance = {"admin": "governed", **dict.fromkeys(operations, TWO), "signers": signers}
        models = {
            "stoker-demo": {"enabled": False},
            "assistant": {"backend": "stub", "enabled": True},
            "coder": {"backend": "stub"},
        }
        with running_platform(
            Path(folder) / "platform",
            {"models": models, "governance": governance},
            *("--port", "0", "--no-flower"),
            environment={"CUDA_VISIBLE_DEVICES": ""},
        ) as platform:
            platform.wait_state("assistant", "loaded")
            body = {"modelId": "coder", "evictModel": "assistant"}
            proposal = platform.admin(
                "POST", "/v1/governance/proposals", {"operation": "model-load", "body": body}
            )[1]
            signatures = f"/v1/governance/proposals/{proposal['id']}/signatures"
            assert platform.admin("POST", signatures, holders[0].body(proposal))[0] == 200
            yield platform


def approvers(page: Any, url: str, take: Take) -> None:
    """A proposal with what it does, and the chain of what was done."""
    show(page, f"{url}/ui/admin/approvals", "a:has-text('Review')")
    page.get_by_role("link", name="Review").first.click()
    page.get_by_role("heading", name="Parameters").evaluate("heading => heading.scrollIntoView()")
    take(page, "guide-approval")
    show(page, f"{url}/ui/admin/audit", "tbody tr")
    page.get_by_role("button", name="Verify", exact=True).click()
    page.locator("section div[role=status]").first.wait_for()
    take(page, "guide-audit")
