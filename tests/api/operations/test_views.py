"""The views and hooks of the whole app."""

from __future__ import annotations

from inspect import iscoroutinefunction, unwrap

from flask import Flask


def test_no_view_or_hook_is_a_coroutine_function_when_nothing_would_await_it(app: Flask) -> None:
    hooks = (app.before_request_funcs, app.after_request_funcs, app.teardown_request_funcs)
    functions = list(app.view_functions.values())
    functions += [function for found in hooks for several in found.values() for function in several]
    assert len(functions) > 50
    assert not [function for function in functions if iscoroutinefunction(unwrap(function))]
