"""The official client of an OpenAI-compatible endpoint, as every part that asks one opens it."""

import openai

_NO_KEY = "none"


def open_endpoint(url: str, api_key: str | None) -> openai.AsyncOpenAI:
    """Return a client of `url`, for one event loop.

    Neither a proxy of the environment nor a redirect takes a text anywhere else, nothing is asked twice, and whoever
    asks times the call.
    """
    return openai.AsyncOpenAI(
        base_url=url,
        api_key=api_key or _NO_KEY,
        organization="",
        project="",
        timeout=None,
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(trust_env=False, follow_redirects=False),
    )
