"""Lists that come in pages: asks for one after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

Request = TypeVar("Request", bound=Any)
Answer = TypeVar("Answer", bound=Any)


async def pages(method: Callable[[Request], Awaitable[Answer]], request: Request) -> AsyncIterator[Answer]:
    """Yields the answers of ListTables, ListHands, ListTransfers or GetTrialBalance until there are no more; the
    request stays as it is.

        async for page in pages(client.tables.ListTables, tables.ListTablesRequest(currency="EUR")):
            for line in page.tables:
                ...
    """
    next_one = type(request)()
    next_one.CopyFrom(request)
    while True:
        answer = await method(next_one)
        yield answer
        if not answer.next_page_token:
            return
        next_one.page_token = answer.next_page_token
