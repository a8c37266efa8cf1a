"""A model behind an OpenAI-compatible endpoint, asked through the official client with structured output."""

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import openai
from pydantic import BaseModel

_NO_KEY = "none"

Shape = TypeVar("Shape", bound=BaseModel)


class EndpointFailed(Exception):
    """An endpoint gave no answer in the shape that was asked for; the text names the kind of failure."""


class ModelEndpoint:
    """Asks `model` at `url`. Use it in an `async with` block of one event loop.

    Neither a proxy of the environment nor a redirect takes a text anywhere else, nothing is asked twice, and whoever
    asks times the call.
    """

    def __init__(self, url: str, model: str, *, api_key: str | None, seed: int) -> None:
        self._client = openai.AsyncOpenAI(
            base_url=url,
            api_key=api_key or _NO_KEY,
            organization="",
            project="",
            timeout=None,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(trust_env=False, follow_redirects=False),
        )
        self._model = model
        self._seed = seed

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def parsed(self, instruction: str, material: Mapping[str, Any], shape: type[Shape]) -> Shape:
        """Return the model's answer in `shape`; raise EndpointFailed for an error, and for any other answer."""
        try:
            completion = await self._client.chat.completions.parse(
                model=self._model,
                messages=[
                    {"role": "system", "content": instruction},
                    {"role": "user", "content": json.dumps(material, ensure_ascii=False)},
                ],
                response_format=shape,
                temperature=0,
                seed=self._seed,
            )
            answer = completion.choices[0].message.parsed
        except Exception as error:  # whatever a model answers costs one value, never the run
            raise EndpointFailed(type(error).__name__) from error
        if answer is None:
            raise EndpointFailed("the model refused")
        return answer
