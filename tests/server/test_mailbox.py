from __future__ import annotations

import asyncio

import pytest

from codeserve.protocol import Delta, Done, Error, Finish, ServerMessage, Status, Timings, Tokens
from codeserve.server.mailbox import Mailbox


def done(id: str) -> Done:
    return Done(id, "", Finish.STOP, Timings(0, None, 0), Tokens())


async def taken(mailbox: Mailbox) -> list[ServerMessage]:
    mailbox.close()
    messages = []
    while (message := await mailbox.next()) is not None:
        messages.append(message)
    return messages


async def test_merge() -> None:
    """Deltas of one request that were not sent yet become one, and its done follows them."""
    mailbox = Mailbox()
    mailbox.delta("a", "1", "x")
    mailbox.delta("b", "2", "p")
    mailbox.delta("a", "1", "y")
    mailbox.end("a", done("1"))
    assert len(mailbox) == 2
    assert await taken(mailbox) == [Delta("1", "xy"), done("1"), Delta("2", "p")]


async def test_reused_id() -> None:
    """Two requests that had the same wire id one after the other do not mix."""
    mailbox = Mailbox()
    mailbox.delta("a", "1", "x")
    mailbox.end("a", done("1"))
    mailbox.delta("b", "1", "y")
    assert await taken(mailbox) == [Delta("1", "x"), done("1"), Delta("1", "y")]


async def test_newest_status() -> None:
    """Of several statuses only the newest is sent; errors are all sent."""
    mailbox = Mailbox()
    mailbox.put(Status("starting"))
    mailbox.put(Error("a", ""))
    mailbox.put(Error("b", ""))
    mailbox.put(Status("ready"))
    assert await taken(mailbox) == [Status("ready"), Error("a", ""), Error("b", "")]


async def test_room() -> None:
    """At the limit a reader waits until a message has been taken."""
    mailbox = Mailbox(limit=2)
    mailbox.put(Error("a", ""))
    await asyncio.wait_for(mailbox.room(), 1)
    mailbox.put(Error("b", ""))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(mailbox.room(), 0.01)
    waiting = asyncio.create_task(mailbox.room())
    await mailbox.next()
    await asyncio.wait_for(waiting, 1)


async def test_wakes() -> None:
    """A writer that waits gets the next message, and None when the mailbox is closed."""
    mailbox = Mailbox()
    waiting = asyncio.create_task(mailbox.next())
    await asyncio.sleep(0)
    mailbox.put(Error("a", ""))
    assert await waiting == Error("a", "")
    waiting = asyncio.create_task(mailbox.next())
    await asyncio.sleep(0)
    mailbox.close()
    assert await waiting is None


async def test_closed() -> None:
    """What is put into a closed mailbox is dropped, and readers do not wait."""
    mailbox = Mailbox(limit=1)
    mailbox.put(Error("a", ""))
    mailbox.close()
    mailbox.put(Error("b", ""))
    await asyncio.wait_for(mailbox.room(), 1)
    assert await taken(mailbox) == [Error("a", "")]
